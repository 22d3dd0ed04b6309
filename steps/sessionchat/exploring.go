package sessionchat

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/steps"
)

// registerExploring registers the steps that end a generated sequence of acts: they must hold whatever came before.
func (s *suite) registerExploring(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the target has handled every message of client (\w+)$`, func(ctx context.Context, name string) error {
		return s.fence(ctx, s.client(name))
	})
	steps.Step(sc, `^every turn ends$`, s.everyTurnEnds)
	steps.Step(sc, `^every session continues with its own id and history$`, s.everySessionGoesOn)
}

// everyTurnEnds releases every held turn and waits for the end of the turns whose clients are still connected. A lost
// connection may have ended its turns (SC-G06).
func (s *suite) everyTurnEnds(ctx context.Context) error {
	for _, ss := range s.inOrderOfNames() {
		for _, t := range ss.turns {
			if t.held && s.Env.Brain != nil {
				s.Env.Brain.Release(t.nonce)
			}
		}
	}
	for _, ss := range s.inOrderOfNames() {
		t := ss.turn()
		if t == nil || t.over || s.lost(t) {
			continue
		}
		if miss := s.awaitEnd(ctx, t); miss != nil {
			return s.lacking([]string{"SC-012", "SC-036"}, "the end of the turn of "+ss.agentID, s.instead(t, miss), miss)
		}
	}
	return nil
}

// lost reports whether the connection that asked for a turn has ended since.
func (s *suite) lost(t *turn) bool {
	c := s.client(t.client)
	return c.conn == nil || c.opened > t.mark
}

// everySessionGoesOn chats once more with every session, and judges that it answers with its own agent_id and
// session_id, and that the model sees its own earlier turns and no others.
func (s *suite) everySessionGoesOn(ctx context.Context) error {
	for _, ss := range s.inOrderOfNames() {
		if len(ss.turns) == 0 {
			continue
		}
		client := ss.asker // so that this comes after its earlier messages
		for _, judge := range []func() error{
			func() error { return s.canChatAgain(ctx, client, ss.name) }, // a turn of a lost connection may still be ending
			func() error { return s.isSameIfKnown(ctx, ss) },
			func() error {
				if s.Env.Brain == nil || len(ss.earlier()) == 0 {
					return nil
				}
				return s.earlierTurnsSent(ss.name)
			},
			func() error {
				if s.Env.Brain == nil {
					return nil
				}
				return s.noForeignTurns(ss.name)
			},
		} {
			if err := judge(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *suite) isSameIfKnown(ctx context.Context, ss *session) error {
	if len(ss.turns) < 2 || s.idIn(ss.turns[0]) == "" {
		return nil
	}
	return s.isSame(ctx, ss.name)
}

func (s *suite) inOrderOfNames() []*session {
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int { return strings.Compare(a.name, b.name) })
}
