package mutants

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// mentionFaults miss a mention, or do only part of what it requires (4B).
var mentionFaults = map[string]fault{
	"mention-subtype-unseen":  unmentioning(func(msg message) bool { _, payload := mentionsBy(msg); return !payload }),
	"mention-type-in-payload": unmentioning(notTyped),
	"mention-half-read":       ruling(rules{Target: halfRead}),
	"mention-in-words":        ruling(rules{Mention: inWords}),
	"mention-up-to-dot":       ruling(rules{Mention: upTo(regexp.MustCompile(`^[^.]*`))}),
	"mention-of-50-bytes":     ruling(rules{Mention: upTo(regexp.MustCompile(`^.{1,50}`))}),
	"mention-payload-unseen":  unmentioning(func(msg message) bool { subtype, _ := mentionsBy(msg); return !subtype }),
	"mention-choice-unseen": unmentioning(func(msg message) bool {
		return payloadOf(msg)["type"] == "agent_selection"
	}),
	"mention-of-text-only":    unmentioning(func(msg message) bool { return payloadOf(msg) != nil }),
	"mention-does-not-switch": ruling(rules{Input: programme(orchestrator.Route, orchestrator.Accept)}),
	"mention-switch-not-told": ruling(rules{Input: programme(orchestrator.Activate, orchestrator.Route,
		orchestrator.Accept)}),
	"mention-switch-only-told": ruling(rules{Input: programme(orchestrator.TellSwitch, orchestrator.Route,
		orchestrator.Accept)}),
	"mention-switches-behind": ruling(rules{Input: programme(orchestrator.Route, orchestrator.Accept,
		orchestrator.Activate, orchestrator.TellSwitch)}),
	"mention-switch-told-twice": ruling(rules{Input: programme(orchestrator.Activate, orchestrator.TellSwitch,
		orchestrator.TellSwitch, orchestrator.Route, orchestrator.Accept)}),
	"mention-for-one-turn":      deciding(forOneTurn),
	"mention-for-one-turn-told": deciding(forOneTurnTold),
	"mention-second-not-kept":   deciding(secondNotKept),
	"mention-input-to-old":      deciding(inputToOld),
	"mention-input-to-both":     deciding(inputToBoth),
	"mention-input-not-routed": ruling(rules{Input: programme(orchestrator.Activate, orchestrator.TellSwitch,
		orchestrator.Accept)}),
	"mention-in-words-fatal": receiving(fatalWords),
	"mention-choice-reduced": rewriting(proto.UserInput, reduced),
}

// mentionsBy reports in which of the two forms a mention comes.
func mentionsBy(msg message) (subtype, payload bool) {
	_, payload = payloadOf(msg)["mentioned_agent_id"]
	return msg.Subtype == proto.Mention || msg.Metadata["subtype"] == proto.Mention, payload
}

// notTyped matches an input whose payload does not mention an agent.
func notTyped(msg message) bool {
	return payloadOf(msg)["subtype"] != proto.Mention && payloadOf(msg)["mentioned_agent_id"] == nil
}

// halfRead switches by metadata.subtype but routes by the message's own subtype, which is empty.
func halfRead(v view, msg message, mentioned string) string {
	if _, payload := mentionsBy(msg); mentioned == "" || payload || !v.Has(mentioned) {
		return correct.Target(v, msg, mentioned)
	}
	active := cmp.Or(v.Active(), v.Default())
	if active != mentioned {
		v.Send(switchOf(v, active, mentioned))
	}
	return active
}

// fatalWords looks up the metadata of a text with "@", fails, and handles nothing after that.
func fatalWords() inbound {
	dead := false
	return func(_ view, msg message) []message {
		subtype, payload := mentionsBy(msg)
		said, _ := msg.Payload.(string)
		dead = dead || kindOf(msg) == proto.UserInput && !subtype && !payload && strings.Contains(said, "@")
		if dead {
			return nil
		}
		return []message{msg}
	}
}

var word = regexp.MustCompile(`@(\w+)`)

// inWords reads the agent's name from the text, up to one word.
func inWords(v view, msg message) (string, bool) {
	said, isText := msg.Payload.(string)
	if name := word.FindStringSubmatch(said); isText && name != nil {
		return name[1], true
	}
	return correct.Mention(v, msg)
}

// upTo reads only the beginning of an agent's id, and finds the first agent whose id begins alike.
func upTo(part *regexp.Regexp) func(v view, msg message) (string, bool) {
	return func(v view, msg message) (string, bool) {
		agent, is := correct.Mention(v, msg)
		for _, id := range v.Agents() {
			if is && part.FindString(id) == part.FindString(agent) {
				return id, true
			}
		}
		return agent, is
	}
}

// programme is the program of a mention; plain inputs keep theirs.
func programme(steps ...step) func(v view, t turn, mention bool) []step {
	return func(v view, t turn, mention bool) []step {
		if mention {
			return steps
		}
		return correct.Input(v, t, mention)
	}
}

// forOneTurn sends plain input to the agent from before the mention.
func forOneTurn() rules {
	own := ""
	return rules{
		Input: func(v view, t turn, mention bool) []step {
			if was := v.Active(); mention && was != t.Agent && own == "" {
				own = was
			}
			return correct.Input(v, t, mention)
		},
		Target: plainTo(func(view) string { return own }),
	}
}

// secondNotKept keeps the agent of the first mention.
func secondNotKept() rules {
	mentions, own := 0, ""
	return rules{
		Input: func(v view, t turn, mention bool) []step {
			if was := v.Active(); mention {
				if mentions++; mentions > 1 && was != t.Agent {
					own = cmp.Or(own, was)
				}
			}
			return correct.Input(v, t, mention)
		},
		Target: plainTo(func(view) string { return own }),
	}
}

// forOneTurnTold makes the previous agent active again when the turn ends, and publishes that.
func forOneTurnTold() rules {
	own, before := "", map[string]string{}
	return rules{
		Input: func(v view, t turn, mention bool) []step {
			if was := v.Active(); mention && was != "" && was != t.Agent {
				before[t.ID] = was
			}
			return correct.Input(v, t, mention)
		},
		Output: func(v view, t turn, msg message) []step {
			program := correct.Output(v, t, msg)
			if was := before[t.ID]; was != "" && slices.Contains(program, orchestrator.Complete) {
				delete(before, t.ID)
				own = was
				v.Send(switchOf(v, t.Agent, was))
			}
			return program
		},
		Target: func(v view, msg message, mentioned string) string {
			if mentioned != "" {
				own = ""
			}
			return cmp.Or(mentioned, own, correct.Target(v, msg, ""))
		},
	}
}

// switchOf returns a SWITCH_AGENT.
func switchOf(v view, from, to string) message {
	return v.New(proto.Control, proto.SwitchAgent, proto.ToSystem, "",
		object{"from": from, "to": to, "reason": "done", "trigger": "TURN"}, ids{})
}

// inputToOld switches but routes to the agent that was active when the input arrived.
func inputToOld() rules {
	return rules{Target: func(v view, _ message, mentioned string) string {
		active := cmp.Or(v.Active(), v.Default())
		if mentioned != "" && mentioned != active && v.Has(mentioned) {
			v.Send(switchOf(v, active, mentioned))
		}
		return active
	}}
}

func inputToBoth() rules {
	return rules{Input: func(v view, t turn, mention bool) []step {
		if was := v.Active(); mention && was != "" && was != t.Agent {
			v.Send(v.New(proto.UserInput, "", proto.ToAgent, was, object{"text": "for " + t.Agent}, idsOf(t)))
		}
		return correct.Input(v, t, mention)
	}}
}

func reduced(_ view, msg message) message {
	if payload := maps.Clone(payloadOf(msg)); payload["type"] == "agent_selection" {
		delete(payload, "type")
		msg.Payload = payload
	}
	return msg
}

// absentFaults handle agents that are not in the session incorrectly (RT-086, RT-087).
var absentFaults = map[string]fault{
	"absent-not-checked":     ruling(rules{Member: func(view, string) *refusal { return nil }}),
	"absent-gets-default":    ruling(rules{Target: absentToActive}),
	"absent-dropped":         deaf(mentionsAbsent),
	"absent-told-and-routed": ruling(rules{Target: absentToldAndRouted}),
	"absent-asked-and-routed": ruling(rules{Target: absentAskedAndRouted, Member: func(view, string) *refusal {
		return nil
	}}),
	"absent-told-to-agent":  rewriting(proto.AgentNotFound, toActiveAgent),
	"absent-becomes-active": deciding(absentBecomesActive),
	"members-of-set-up":     runtime(membersOfSetUp),
	"members-by-prefix":     ruling(rules{Member: byPrefix}),
}

func mentionsAbsent(v view, msg message) bool {
	agent, mention := correct.Mention(v, msg)
	return msg.Event == proto.UserInput && mention && !v.Has(agent)
}

func absentToActive(v view, msg message, mentioned string) string {
	if mentioned != "" && !v.Has(mentioned) {
		return v.Active()
	}
	return correct.Target(v, msg, mentioned)
}

func absentToldAndRouted(v view, msg message, mentioned string) string {
	if mentioned != "" && !v.Has(mentioned) {
		v.Send(v.New(proto.Error, proto.AgentNotFound, proto.ToFrontend, "",
			object{"code": proto.AgentNotFound, "message": "not here"}, ids{}))
	}
	return absentToActive(v, msg, mentioned)
}

func absentAskedAndRouted(v view, msg message, mentioned string) string {
	if mentioned != "" && !v.Has(mentioned) {
		v.Send(v.New(proto.Control, proto.RequestAddAgent, proto.ToSystem, "",
			object{"session_id": v.SessionID(), "agent_id": mentioned}, ids{}))
	}
	return correct.Target(v, msg, mentioned)
}

func toActiveAgent(v view, msg message) message {
	msg.Target, msg.TargetID = proto.ToAgent, v.Active()
	return msg
}

// absentBecomesActive sets the active agent before it checks membership.
func absentBecomesActive() rules {
	active := ""
	return rules{Target: func(v view, msg message, mentioned string) string {
		if mentioned != "" {
			active = ""
			if !v.Has(mentioned) {
				active = mentioned
			}
		}
		return cmp.Or(mentioned, active, correct.Target(v, msg, ""))
	}}
}

// membersOfSetUp uses the list of agents from the set-up.
func membersOfSetUp(o *options) {
	all := slices.Clone(o.Agents)
	o.Policy = rules{Member: func(v view, agent string) *refusal {
		if slices.Contains(all, agent) {
			return nil
		}
		if r := correct.Member(v, agent); r != nil {
			return r
		}
		return &refusal{Subtype: proto.AgentNotFound, Text: "not on the list"}
	}}
}

// byPrefix finds an agent by a prefix of its name.
func byPrefix(v view, agent string) *refusal {
	for _, id := range v.Agents() {
		if len(id) >= 6 && len(agent) >= 6 && id[:6] == agent[:6] {
			return nil
		}
	}
	return correct.Member(v, agent)
}
