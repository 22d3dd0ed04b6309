package externalagent

import (
	"context"
	"slices"

	"github.com/cucumber/godog"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
)

// step is one step of the vocabulary: an expression and its implementation.
type step struct {
	expr string
	do   any
}

// by makes a step of one agent, whose name is the first argument of the expression.
func (s *suite) by(do func(context.Context, *party) error) steps.Adapted {
	return steps.Adapted{Do: func(ctx context.Context, name string) error { return do(ctx, s.party(name)) }, Of: do}
}

// byWith makes a step of one agent that also takes a text.
func (s *suite) byWith(do func(context.Context, *party, string) error) any {
	adapted := func(ctx context.Context, name, text string) error { return do(ctx, s.party(name), text) }
	return steps.Adapted{Do: adapted, Of: do}
}

// inTurn lets a party do several things, up to the first that fails.
func inTurn(ctx context.Context, p *party, all ...func(context.Context, *party) error) error {
	for _, do := range all {
		if err := do(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// here makes a step of the host in agent A's relay session.
func (s *suite) here(do func(context.Context, *party) error) any {
	return steps.Adapted{Do: func(ctx context.Context) error { return do(ctx, s.party("A")) }, Of: do}
}

// register registers the whole vocabulary.
func (s *suite) register(sc *godog.ScenarioContext) {
	all := func(lists ...[]step) {
		for _, one := range slices.Concat(lists...) {
			steps.Step(sc, one.expr, one.do)
		}
	}
	all(s.joiningSteps(), s.sessionSteps(), s.callSteps(), s.refusalSteps(), s.speakingSteps(), s.logSteps(),
		s.relaySteps(), s.startingSteps())
	steps.StepsAfter(sc, s.noHost, func() { all(s.agentSteps(), s.departureSteps()) })
}

// noHost returns why a step about a target that is an agent cannot be carried out; nil if it can.
func (s *suite) noHost() error {
	if s.agent == nil {
		return steps.NotTestedf("no host awaits the agent")
	}
	return nil
}

func (s *suite) joiningSteps() []step {
	return []step{
		{`^agent (\w+) connects$`, s.by(s.connect)},
		{`^agent (\w+) is connected$`, s.by(s.isConnected)},
		{`^agent (\w+) joins$`, s.by(s.joins)},
		{`^agent (\w+) joins the relay session "([\w-]+)"$`, s.byWith(func(ctx context.Context, p *party, name string) error {
			p.session = s.relaySession(name)
			return s.joins(ctx, p)
		})},
		{`^agent (\w+) is told that it has joined$`, s.by(s.isJoined)},
		{`^agent (\w+) has joined$`, s.by(s.hasJoined)},
		{`^agent (\w+) (disconnects|loses its connection)$`, func(name, how string) error {
			return s.disconnect(s.party(name), modeOf(how))
		}},
		{`^the target is (restarted|killed and started again)$`, s.restart},
		{`^agent (\w+) (counts|numbers) its requests from 1$`, func(name, how string) {
			s.party(name).counting, s.party(name).numbers = 1, how == "numbers"
		}},
	}
}

func (s *suite) sessionSteps() []step {
	return []step{
		{`^agent (\w+) has a session$`, s.by(s.hasSession)},
		{`^agent (\w+) starts a session$`, s.by(s.starts)},
		{`^agent (\w+) is told that the session has started$`, s.by(s.isStarted)},
		{`^agent (\w+) asks for a snapshot$`, s.by(s.asksForSnapshot)},
		{`^agent (\w+) gets a snapshot$`, s.by(func(ctx context.Context, p *party) error {
			_, err := s.getsSnapshot(ctx, p)
			return err
		})},
		{`^agent (\w+) ends the session$`, s.by(s.ends)},
		{`^agent (\w+) is told that the session has ended$`, s.by(s.isEnded)},
		{`^agent (\w+) has a new session that contains nothing of the old one$`, s.by(s.startsClean)},
		{`^agent (\w+) (makes a call(?: of "(\w+)")?, )?ends the session and starts another (?:without waiting|right after ` +
			`it)$`, s.endsAndStarts},
		{`^agent (\w+) resynchronises, or starts a session$`, s.by(s.resyncs)},
		{`^whether agent (\w+)'s session has survived is recorded$`, s.by(s.survivalNoted)},
		{`^agent (\w+) finds its session as it left it, if the session has survived$`, s.by(s.findsAsLeft)},
		{`^the states of a session are known$`, s.firstStateKnown},
		{`^agent (\w+) fills its session with messages and tool calls$`, s.by(s.leavesTraces)},
		{`^agent (\w+) is in sync$`, s.by(s.inStep)},
		{`^agent (\w+) receives a new state$`, s.by(s.hearsOfState)},
		{`^agent (\w+) knows what the host changes on its own$`, s.by(s.learnRestless)},
	}
}

func (s *suite) callSteps() []step {
	return []step{
		{`^agent (\w+) (?:makes the first call of the booking|books up to the first call of "(\w+)")$`, s.byWith(s.upTo)},
		{`^agent (\w+) is told that the call succeeded$`, s.by(s.lastWentWell)},
		{`^agent (\w+) calls "(\w+)"$`, s.byWith(s.callsAnnounced)},
		{`^agent (\w+) calls "(\w+)", choosing again if the host has forgotten the choices$`,
			s.byWith(s.callsOrChooses)},
		{`^agent (\w+) (books a ticket) from the first movie to the confirmation$`, s.goesThrough},
		{`^agent (\w+) calls (every announced tool|the announced tools with other values) at every stage of the booking$`,
			s.goesThrough},
		{`^agent (\w+) sees the effect of the call in a later state$`, s.by(s.seesEffect)},
		{`^agent (\w+)(?: and agent (\w+) each)? (?:sends|makes|ask for) (\d+) (` + differentKinds + `|` +
			announcedCalls + `|snapshots) (?:without waiting|at once), and each (?:is answered|gets its own)` +
			`(?: under its own id)?$`, s.pipelines},
		{`^the announced tools change during the booking$`, s.toolsChanged},
		{`^agent (\w+) makes two calls without waiting, and both have their effect$`, s.by(s.callsTogether)},
	}
}

func (s *suite) refusalSteps() []step {
	refused := func(ctx context.Context, p *party, codes string) error { return s.isRefused(ctx, p, quoted(codes)...) }
	return []step{
		{`^agent (\w+) sends a (relay\.join|snapshot\.get|tool\.call) with (.+)$`,
			func(ctx context.Context, name, kind, fault string) error {
				return s.sendsSpoilt(ctx, s.party(name), kind, fault)
			}},
		{`^agent (\w+) sends (malformed JSON|an empty text|a JSON (?:array|string|number|null)|two JSON values|` +
			`half an envelope)$`,
			s.byWith(s.sendsJunk)},
		{`^agent (\w+)'s (?:message|call|request) is refused( as invalid)?(, or its connection is closed)?$`,
			s.isTurnedAway},
		{`^the answer to agent (\w+)'s message is recorded$`, s.by(s.answerNoted)},
		{`^agent (\w+) is still served$`, s.by(s.goesOn)},
		{`^agent (\w+) calls a tool that does not exist$`, s.by(s.callsUnknown)},
		{`^agent (\w+) calls a tool that is no longer announced$`, s.by(s.callsGone)},
		{`^agent (\w+) makes a call$`, s.by(s.callsAnyhow)},
		{`^agent (\w+) is refused with "(.+)"$`, s.byWith(refused)},
		{`^agent (\w+) makes every call of the booking, and each is refused with "(\w+)"$`, s.byWith(s.callsAllRefused)},
		{`^agent (\w+) calls (` + otherStages + `|` + shapeless + `|` + whileNull + `|` + withParam + `.+), and each call ` +
			`is refused$`, s.byWith(s.callsRefused)},
		{`^agent (\w+) makes the calls (that make a tool fail at run time|after which no uiSpec is active)$`,
			s.byWith(s.provokes)},
		{`^agent (\w+) makes (\d+) calls of the booking, and a call that fails at run time then is refused$`,
			func(ctx context.Context, name string, n int) error { return s.failsLater(ctx, s.party(name), n) }},
	}
}

func (s *suite) speakingSteps() []step {
	return []step{
		{`^agent (\w+) sends the participant a message(?: that looks like a call of "(\w+)")?$`, s.byWith(s.says)},
		{`^agent (\w+) sends the participant a message without an id$`, s.by(func(ctx context.Context, p *party) error {
			_, err := s.send(ctx, p, envelope(vocab.AgentMessage, "", "", object{"text": "without an id " + odd}))
			return err
		})},
		{`^agent (\w+) sends the participant (\d+) messages? of (\d+) KB, if the target accepts that size$`,
			func(ctx context.Context, name string, n, kilobytes int) error {
				return s.saysMuch(ctx, s.party(name), n, kilobytes)
			}},
		{`^agent (\w+)'s message is not refused$`, s.by(s.isNotRefused)},
		{`^the booking flow has not changed for agent (\w+)$`, s.by(s.flowUnchanged)},
		{`^the participant speaks to agent (\w+)(, if the target supports it)?$`, s.byWith(s.participantSpeaksIf)},
		{`^the participant says the same to agent (\w+) again$`, s.by(s.participantRepeats)},
		{`^agent (\w+) receives the participant's message$`, s.by(s.hearsParticipant)},
	}
}

func (s *suite) logSteps() []step {
	return []step{
		{`^the log of agent (\w+)'s session is complete and in order$`, s.by(s.logInOrder)},
		{`^agent (\w+) starts a session whose ids contain path traversal$`, s.by(func(ctx context.Context, p *party) error {
			_, err := s.ask(ctx, p, vocab.SessionStart, object{
				"studyId": "../../parley-" + s.Nonce, "participantId": "..\\..\\/etc/parley\x00" + s.Nonce,
			})
			return err
		})},
		{`^the logs read so far are unchanged$`, s.logsUnchanged},
		{`^agent (\w+) joins a relay session whose id contains path traversal, and works there$`, s.by(s.worksAstray)},
		{`^whether a file was written outside the log folder is recorded$`, s.folderNoted},
		{`^the log folder exists$`, s.folderThere},
		{`^the location of the log of agent (\w+)'s session is recorded$`, s.by(s.logNoted)},
	}
}

func (s *suite) relaySteps() []step {
	return []step{
		{`^no host is present$`, func() { s.hostless = true }},
		{`^the host connects and joins$`, s.here(s.hostJoins)},
		{`^the host is told that it has joined$`,
			s.here(func(ctx context.Context, a *party) error { return s.isJoined(ctx, s.host(a.session)) })},
		{`^a second host joins$`, s.here(s.secondHost)},
		{`^the host sends the relay (.+)$`, s.hostSendsJunk},
		{`^the host (leaves|loses its connection)$`, s.hostGoes},
		{`^another host joins$`, s.here(func(ctx context.Context, a *party) error {
			s.hostless = false
			return s.hostIsThere(ctx, a)
		})},
		{`^the relay has passed on every message of agent (\w+) and its host unchanged$`, s.by(s.passed)},
		{`^the host announces a (new|long) state$`, s.hostAnnounces},
		{`^the host sends JSON that decoding and encoding would change$`, s.here(s.hostSaysOddly)},
		{`^agent (\w+) receives nothing from agent (\w+)'s relay session$`, s.hearsNothingOf},
		{`^the target lets several agents join a relay session$`, func() error { return s.declared(binding.TwoAgents) }},
		{`^the target has a host in every relay session$`, s.hostEverywhere},
	}
}

func (s *suite) startingSteps() []step {
	return []step{
		{`^a host awaits the agent$`, s.awaitsAgent},
		{`^the agent is started$`, s.startsAgent},
	}
}

func (s *suite) agentSteps() []step {
	return []step{
		{`^the agent connects$`, s.agentConnects},
		{`^the agent joins$`, s.agentJoins},
		{`^the agent waits until it has joined$`, s.waitsToJoin},
		{`^the agent sends the host a message$`, s.agentTurnsToHost},
		{`^the agent makes (\d+) calls?$`, s.agentCalls},
		{`^the agent completes the booking$`, s.agentBooks},
		{`^the agent sends the participant a message$`, s.may(vocab.AgentMessage)},
		{`^the agent ends the session$`, s.may(vocab.SessionEnd)},
		{`^the agent continues$`, s.agentLivesOn},
		{`^the agent continues with the messages that follow$`, s.agentReadsOn},
		{`^the agent acts on the latest state$`, s.goesByState},
		{`^the agent waits for the state$`, s.waitsForState},
		{`^the agent asks for a snapshot before its next call$`, s.asksFirst},
		{`^the agent calls no tool meanwhile$`, s.callsNothing},
		{`^the agent uses only what is still shown$`, s.takesNothingOld},
		{`^the agent reconnects$`, s.comesBack},
		{`^the agent connects again and joins$`, s.connectsAgain},
		{`^the agent asks for a snapshot, or starts a session that it has not begun$`, s.resumes},
		{`^the agent makes a call that is announced$`, s.goesOnByState},
		{`^the agent acts on what it is told$`, s.actsByWhatItIsTold},
	}
}
