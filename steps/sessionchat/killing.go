package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

func (s *suite) registerKilling(sc *godog.ScenarioContext) {
	steps.Step(sc, `^every ended turn survives when the target is killed while turns of client (\w+) end$`,
		s.endedTurnsSurvive)
}

// A target that tells the end of a turn before it has stored it loses the turn only if it is killed in between, which
// may be less than a millisecond. Many turns that end one behind another make that likely, and several kills make it
// nearly certain.
const (
	kills      = 3               // as long as a restart is cheap
	cheap      = 2 * time.Second // what a restart may take for another one to follow
	endingOnce = 8               // turns that are asked for together before each kill
)

// endedTurnsSurvive kills the target several times as soon as half of several turns have ended, each time with fresh
// sessions, and judges that those continue which have got a result.
func (s *suite) endedTurnsSurvive(ctx context.Context, client string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	for n := range kills {
		began := time.Now()
		if err := s.killWhileTurnsEnd(ctx, client); err != nil {
			return err
		}
		took := time.Since(began)
		if err := s.everySessionGoesOn(ctx); err != nil {
			return err
		}
		if s.Broken() {
			return nil
		}
		if took > cheap && n+1 < kills {
			s.Note("killed %d times only, because a restart takes long", n+1)
			return nil
		}
	}
	return nil
}

// killWhileTurnsEnd leaves the sessions whose turn had ended when the target was killed.
func (s *suite) killWhileTurnsEnd(ctx context.Context, client string) error {
	clear(s.sessions)
	var asked []*turn
	for range endingOnce {
		name := fmt.Sprintf("ending%d", s.Serial())
		if err := s.chat(ctx, client, name, &turn{}, hello); err != nil {
			return err
		}
		asked = append(asked, s.session(name).turn())
	}
	ended := 0
	_, miss := s.Await(ctx, steps.Wait{Conn: client, After: asked[0].mark, Within: s.Env.Turn(), Proof: true,
		Match: func(r *transcript.Record) bool {
			if slices.ContainsFunc(asked, func(t *turn) bool { return ofSession(t.of, vocab.ResultMessage)(r) }) {
				ended++
			}
			return ended >= endingOnce/2
		}})
	if miss != nil {
		return steps.NotTestedf("of %d turns of client %s that were asked for together, fewer than half ended: %s",
			endingOnce, client, miss.Reason)
	}
	if err := s.restart(ctx, true); err != nil {
		return err
	}
	for _, t := range asked {
		if c := s.became(t); !c.Whole() || c.Failed() {
			delete(s.sessions, t.of.name)
		}
	}
	if len(s.sessions) == 0 {
		return steps.NotTestedf("no turn since record %d ended without a failure", asked[0].mark-1)
	}
	return nil
}
