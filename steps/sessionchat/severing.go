package sessionchat

import (
	"context"
	"strings"

	"github.com/cucumber/godog"

	"parley/steps"
	"parley/transport/driver"
)

// Courses implements steps.Severer. The source promises that a session outlives its connection and the process (SC-059,
// SC-023, SC-016), and that a turn of one session does not affect the others; it does not say what happens to the
// running turn (SC-G06), so that is not judged.
func (Protocol) Courses(string) []steps.Course {
	return []steps.Course{{
		ID: "chat", Name: "two sessions with whole, streamed and interrupted turns", Party: "A",
		Tags: strings.Fields(`@SC-008 @SC-013 @SC-016 @SC-016a @SC-021 @SC-023 @SC-027 @SC-028 @SC-041 @SC-050 @SC-059
			@model`),
		Lines: []string{
			`When client A chats with "red"`, `Then client A is answered by "red"`,
			`When client A pings`, `Then client A gets a pong`,
			`When client A chats with "red" in a turn of 5 pieces`, `Then client A is answered by "red"`,
			`When client A starts a turn of "blue" that is held`,
			`Then client A receives a message of the turn of "blue" while it runs`,
			`When client A interrupts "blue"`, `Then the turn of "blue" is interrupted`,
			`When client A chats with "blue"`, `Then client A is answered by "blue"`,
		},
		Back: []string{
			steps.ComesBack, `Then every session that was known continues`,
			`When client A chats with "green"`, `Then client A is answered by "green"`,
			`And the model was sent no turn of another session for "green"`,
		},
	}}
}

func (s *suite) registerSevering(sc *godog.ScenarioContext) {
	steps.Step(sc, `^every session that was known continues$`, s.everyKnownSessionGoesOn)
}

// severed marks a connection that was cut on purpose as lost.
func (s *suite) severed(party string, by steps.Way) error {
	s.disconnectAll()
	if c := s.client(party); c.conn != nil {
		_ = s.disconnect(party, driver.Reset)
	}
	for _, ss := range s.sessions {
		for _, t := range ss.turns {
			if t.held && s.Env.Brain != nil {
				s.Env.Brain.Release(t.nonce)
			}
		}
	}
	if by == steps.ByKill {
		s.resumes("the target was killed and started again")
	}
	s.mark = s.T.Len()
	return nil
}

// everyKnownSessionGoesOn judges that each session continues in which a turn had ended before the cut. Other messages
// from before the process was killed may not have been stored.
func (s *suite) everyKnownSessionGoesOn(ctx context.Context) error {
	for name, ss := range s.sessions {
		if len(ss.turns) == 0 || !ss.turns[0].over {
			delete(s.sessions, name)
		}
	}
	return s.everySessionGoesOn(ctx)
}
