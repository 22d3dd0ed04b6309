package agentselect

import (
	"context"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

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
		c.conn, c.session, c.agent, c.loaded, c.chosen = nil, "", "", false, false
		c.switches, c.refusals, c.unjudged, c.wasBusy, c.aborted = 0, 0, 0, false, false
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
