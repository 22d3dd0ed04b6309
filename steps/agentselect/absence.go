package agentselect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

func (r registry) absence() {
	r.step(`^client (\w+) receives no "agent_list"$`, r.receivesNoList)
	r.step(`^client (\w+) receives no "agent_switched"$`, r.receivesNone)
	r.step(`^client (\w+) receives no answer to the message of client (\w+)$`, r.receivesNoAnswerTo)
	r.step(`^client (\w+) sends a message of type "(\w+)"$`, r.sendsType)
	r.step(`^client (\w+) sends the body ?(.*)$`, r.sendsBody)
}

// foreignError matches an error that answers a switch but not a fence of this client.
func (s *suite) foreignError(c *client) match {
	return func(r *transcript.Record) bool {
		return s.isNew(vocab.ErrorEvent)(r) && hasCode(r) && !c.isFence(r)
	}
}

// fence proves that everything the target sent to a client before has arrived: it switches to an agent that cannot
// exist, and waits for the error.
func (s *suite) fence(ctx context.Context, c *client) error {
	if c.conn == nil {
		return steps.NotTestedf("fence: client %s has no connection", c.name)
	}
	if at := s.endedAt(c); at > s.mark {
		return nil // the target has closed the connection since: nothing more can come on it
	} else if at > 0 {
		return steps.NotTestedf("fence: the target had closed the connection of client %s before the act, "+
			"so its silence proves nothing", c.name)
	}
	if s.actor != nil && s.actor.act.mark == s.mark { // of any other act the answer has been awaited
		s.settleHTTP(ctx, s.actor, s.mark)
	}
	if binding.Of(s.Env.Profile).Correlation.Single && c.session == "" {
		// This client's messages cannot be told from others': a quiet window has to do.
		s.Note("no fence for client %s (correlation: single, no session): a quiet window of %v stands in", c.name,
			s.Env.Profile.Limits.Quiet)
		s.pace(ctx, c, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
		return nil
	}
	mark, nonce, err := s.sendFence(ctx, c)
	if err != nil {
		return err
	}
	second, sent := "", time.Time{}
	answered := time.Time{} // when the answered one of the two was sent
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Kind: "the answer of a fence", Proof: true,
		Hopeless: s.refusedOverHTTP(ctx, c, mark),
		Match: func(r *transcript.Record) bool {
			if isError(r) && second != "" && names(r, second) {
				answered = sent
				return true
			}
			return s.isNew(vocab.ErrorEvent)(r) && !c.isFence(r)
		},
		Sent: func() time.Time { return answered },
		Fence: func(ctx context.Context) match { // an answer may be lost; the answer to a second fence proves the same
			if _, again, err := s.sendFence(ctx, c); err == nil {
				second, sent, c.probes = again, time.Now(), append(c.probes, again)
			}
			return nil
		}})
	if miss != nil {
		return steps.NotTestedf("fence: client %s got no error for %s, so absence cannot be proved: %s", c.name, nonce,
			miss.Reason)
	}
	s.settleHTTP(ctx, c, mark) // the error may be that of another message
	c.fences[rec.N] = true
	if names(&rec, nonce) {
		s.Env.Learnt.Store(namesUnknown{}, true)
		c.probes = append(c.probes, nonce) // any other event that names it answers the fence too, such as a repeat
	} else {
		s.secondError(ctx, c, rec, nonce)
	}
	s.letRepeat(ctx, c, rec)
	return nil
}

// secondError checks whether the error that ended a fence belonged to something else: then the fence's own error,
// which names its nonce, follows at once. The target chooses the text of errors, so if no error names
// the nonce, nothing is concluded.
func (s *suite) secondError(ctx context.Context, c *client, first transcript.Record, nonce string) {
	if c.session == "" || codeOf(first) == vocab.AgentBusy {
		return // such an error has no reason to name the id
	}
	ctx, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
	defer cancel()
	rec, err := s.T.Await(ctx, first.N, func(r *transcript.Record) bool {
		return r.Conn == c.name && isError(r) && names(r, nonce)
	})
	if err == nil {
		delete(c.fences, first.N)
		c.fences[rec.N] = true
	}
}

// settleHTTP waits for the HTTP answer to a client's message, but no longer than the event limit: each request has a
// connection of its own, so that a later one may overtake it until then. That to a chat may come when the turn ends.
func (s *suite) settleHTTP(ctx context.Context, c *client, mark int) {
	if s.bind.ws || c.act.mark == mark && c.act.kind == vocab.ChatType {
		return
	}
	_, _ = s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Kind: "the HTTP answer to a message", Proof: true,
		Match:    func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == mark },
		Hopeless: func(r *transcript.Record) string { return failed(r, mark) }})
}

// settleNamed waits until a switch by which another client has named a client's session is answered to either of them.
func (s *suite) settleNamed(ctx context.Context, c *client) {
	if asker := s.actor; asker != nil && asker.act.of == c && asker.act.mark == s.mark {
		_, _ = s.answeredToEither(ctx, c, asker)
	}
}

// receivesNone proves that all has come that a client was sent because of the latest act of any client, and reports
// what the model finds that it should not have received.
func (s *suite) receivesNone(ctx context.Context, c *client) error {
	if s.actor == nil && !s.configured {
		return steps.NotTestedf("no client has sent anything that could have caused it")
	}
	s.settleNamed(ctx, c)
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	s.T.Remark(c.name, model.Fenced)
	return s.report(s.T.Len(), nil)
}

// receivesNoAnswerTo proves that another client's message that named no session was not attributed to this client:
// neither a switch nor a refusal reaches it (AS-095). If one does although that client has a session and nothing else
// uses the target, concurrent scenarios disturb each other.
func (s *suite) receivesNoAnswerTo(ctx context.Context, c, other *client) error {
	if other.act.mark == 0 {
		return steps.NotTestedf("client %s has sent no message", other.name)
	}
	s.settle(ctx, other)
	err := s.receivesNone(ctx, c)
	for _, r := range s.Between(c.name, other.act.mark, 0) {
		if s.foreignAnswer(c)(&r) && other.session != "" && !s.Beside() {
			s.strayed("what client "+other.name+" had asked", &r)
		}
	}
	return err
}

// settle waits until the target has dealt with a client's last message: by an HTTP answer, an error or a switch on
// its connection, or the connection's end.
func (s *suite) settle(ctx context.Context, c *client) {
	mark := c.act.mark
	within := s.Env.Event()
	if s.bind.ws {
		within = s.Env.Profile.Limits.Quiet.Duration
	}
	_, _ = s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Within: within, Match: func(r *transcript.Record) bool {
		return isEvent(vocab.AgentSwitchedEvent, vocab.ErrorEvent)(r) || r.Kind == transcript.Response && r.Reply == mark
	}})
	s.settleHTTP(ctx, c, mark)
}

// sendsType sends a message of an undocumented type, with any fields that a server might look for.
func (s *suite) sendsType(ctx context.Context, c *client, kind string) error {
	mark, err := s.send(ctx, c, kind, fields{vocab.SessionID: c.session, vocab.RequestID: "query-" + s.Nonce})
	if err != nil {
		return err
	}
	s.acted(c, act{mark: mark, kind: kind, named: true})
	return nil
}

// sendsBody sends bytes unchanged, and waits until the target has dealt with them or has closed the connection.
func (s *suite) sendsBody(ctx context.Context, c *client, body string) error {
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", c.name)
	}
	mark, err := c.conn.Send(ctx, s.bind.verbatim(body, c.id))
	if err != nil {
		return fmt.Errorf("client %s: send: %w", c.name, err)
	}
	s.acted(c, act{mark: mark, kind: "verbatim"})
	s.settle(ctx, c)
	return nil
}

// Courses implements steps.Severer. A client that reconnects has a new connection: it gets its own connected and
// agent_list (AS-030, AS-033, AS-105), is bound to no session (AS-097, AS-104), and loads the session that the client
// had (AS-099, AS-101). A task that was running when the connection was cut is ended by abort (AS-068). The sessions of
// other clients are unaffected (AS-007, AS-093). Which agent the loaded session has (AS-G07), and whether sessions
// outlive the process, is left open.
func (Protocol) Courses(string) []steps.Course {
	return []steps.Course{switching(), chatting(), bystanding()}
}

// back returns the steps of a client that was cut off, up to two switches in its earlier session.
func back(more ...string) []string {
	return append([]string{
		steps.ComesBack, `When client A reconnects`,
		`Then the first event of client A is "connected"`, `And the next event of client A is "agent_list"`,
		`And client A is offered the built-in agents`, `And client A is bound to no session`,
		`And client A gets back its session, or a new one`,
		`When client A, once idle, switches to "general"`, `Then client A is switched to "general"`,
		`When client A, once idle, switches to "debugger"`, `Then client A is switched from "general" to "debugger"`,
	}, more...)
}

// arriving are the steps by which client A connects and creates a session.
func arriving(then ...string) []string {
	return append([]string{
		`When client A connects`,
		`Then the first event of client A is "connected"`, `And the next event of client A is "agent_list"`,
		`When client A creates a session`, `Then client A has its session`,
		`When client A switches to "debugger"`, `Then client A is switched from the default agent to "debugger"`,
	}, then...)
}

const comeback = "@AS-008 @AS-009 @AS-030 @AS-033 @AS-043 @AS-044 @AS-097 @AS-098 @AS-099 @AS-100 @AS-101 @AS-103 " +
	"@AS-104 @AS-105 "

func switching() steps.Course {
	return steps.Course{
		ID: "switches", Name: "a session with switches and a refused one", Party: "A", Tags: strings.Fields(comeback),
		Lines: arriving(
			`When client A switches to "hacker"`, `Then client A is refused with "agent_not_found"`,
			`When client A switches to "requirement_analyzer"`,
			`Then client A is switched from "debugger" to "requirement_analyzer"`,
			`When client A switches its session to "debugger"`,
			`Then client A is switched from "requirement_analyzer" to "debugger"`),
		Back: back(),
	}
}

func chatting() steps.Course {
	return steps.Course{
		ID: "turns", Name: "a session with a whole turn and an aborted one", Party: "A",
		Tags: strings.Fields(comeback + "@AS-019 @AS-068 @AS-111 @model"),
		Lines: arriving(
			`When client A chats`, `Then client A is answered and its turn ends`,
			`Given client A has a turn running`,
			`When client A switches to "requirement_analyzer"`, `Then client A is refused with "agent_busy"`,
			`When client A aborts`, `And client A, once idle, switches to "requirement_analyzer"`,
			`Then client A is switched from "debugger" to "requirement_analyzer"`),
		Back: back(`When client A chats`, `Then client A is answered and its turn ends`),
	}
}

// bystanding is a course with another client that has its own session. The target is not killed, since that would cut
// off the other client too.
func bystanding() steps.Course {
	return steps.Course{
		ID: "bystander", Name: "a session beside that of another client", Party: "A",
		Tags: strings.Fields(comeback + "@AS-007 @AS-015 @AS-068 @AS-093 @AS-095 @AS-096 @model @two-clients"),
		Only: []steps.Way{steps.ByReset, steps.ByClose, steps.ByFin},
		Lines: append([]string{`Given client B has switched to "requirement_analyzer"`}, arriving(
			`Given client A has a turn running`,
			`When client A aborts`, `And client A, once idle, switches to "general"`,
			`Then client A is switched from "debugger" to "general"`)...),
		Back: append([]string{
			steps.ComesBack, `Then client B receives no "agent_switched"`,
			`When client B switches to "general"`, `Then client B is switched from "requirement_analyzer" to "general"`,
		}, back(
			`And client B receives no "agent_switched"`,
			`When client B switches to "requirement_analyzer"`,
			`Then client B is switched from "general" to "requirement_analyzer"`)[1:]...),
	}
}

func (r registry) severing() {
	r.step(`^client (\w+) is bound to no session$`, r.isUnbound)
	r.step(`^client (\w+) gets back its session, or a new one$`, r.getsBack)
}

// loss is the state of a client when its connection was cut.
type loss struct {
	session string
	running bool // its turn had not ended
	kill    bool // the process that held the session was killed
}

// severed marks connections that were cut on purpose as lost: all of them if the target's process was killed.
func (s *suite) severed(party string, by steps.Way) error {
	for _, c := range s.clients {
		if c.name != party && by != steps.ByKill {
			continue
		}
		c.lost = loss{session: c.session, running: c.turn != nil && !c.turn.over, kill: by == steps.ByKill}
		if t := c.turn; t != nil && t.nonce != "" && s.Env.Brain != nil {
			s.Env.Brain.Release(t.nonce)
		}
		c.conn, c.session, c.agent, c.aborted = nil, "", "", false
		c.act, c.turn, c.turns, c.earlier, c.try = act{}, nil, nil, nil, nil
	}
	for _, r := range s.T.All() {
		if r.Kind == transcript.Remark && r.Conn == party && strings.HasPrefix(r.Label, steps.SeveredAt) {
			s.mark, s.actor = r.N, nil // effects of the cut itself count
		}
	}
	return nil
}

// isUnbound judges that the new connection has no session yet (AS-097, AS-104), provided that a legal switch was
// accepted before the cut.
func (s *suite) isUnbound(ctx context.Context, c *client) error {
	if s.accepted == 0 {
		return nil
	}
	if err := s.switches(ctx, c, agentID{s.swapped(vocab.Debugger)}); err != nil {
		return err
	}
	return s.isRefused(ctx, c, vocab.SessionNotFound)
}

// getsBack loads the session that a client had when it was cut off, and ends the task that was running there. A client
// that did not know its session creates one, and so does one whose session was lost with the killed process.
func (s *suite) getsBack(ctx context.Context, c *client) error {
	if was := c.lost; was.session != "" {
		if err := s.loadsLost(ctx, c); err != nil {
			return err
		}
		if c.try.refused == "" || !was.kill {
			if err := s.hasItsSession(c); err != nil || !was.running || was.kill {
				return err
			}
			return s.aborts(ctx, c)
		}
		s.Note("the session has not outlived the process: %s", c.try.refused)
	}
	if err := s.creates(ctx, c, nil); err != nil {
		return err
	}
	return s.hasItsSession(c)
}

// loadsLost requests the session that a client had. A target may first have to notice that the connection was cut; a
// new process has nothing to notice.
func (s *suite) loadsLost(ctx context.Context, c *client) error {
	from := &client{name: c.name, session: c.lost.session}
	if !c.lost.kill {
		return s.loads(ctx, c, from)
	}
	s.mark, s.actor = s.T.Len(), c
	err := s.loadsNamed(ctx, c, from.session)
	c.try.of = from
	return err
}
