package externalagent

import (
	"context"

	"parley/steps"
	"parley/steps/externalagent/toolschema"
	wjson "parley/transport/wire/json"
)

// otherwise is a tool of a stage with params other than those of the booking.
type otherwise struct {
	done   int // number of booking calls that lead to the stage
	tool   string
	usual  object // params with the booking's values
	params object
}

// manyOthers limits the calls with other values.
const manyOthers = 40

// callsOtherwise calls the tools of every stage with other legal values than those of the booking, each after a call
// with these, and judges the state after each: an update may be forgotten in one branch of a tool. The target may
// refuse such a call, since a schema need not say everything; nothing is judged then.
func (s *suite) callsOtherwise(ctx context.Context, p *party) error {
	list, err := s.otherCalls(ctx, p)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return steps.NotTestedf("no tool of the booking is announced with another value that its schema allows")
	}
	went := 0
	for i, one := range list {
		if i == 0 || list[i-1].done != one.done {
			if _, err := s.goTo(ctx, p, one.done); err != nil {
				return err
			}
		}
		if _, err := s.callsWith(ctx, p, one.tool, one.usual); err != nil {
			return err
		}
		ok, err := s.callsWith(ctx, p, one.tool, one.params)
		if err != nil {
			return err
		}
		if ok {
			went++
		}
	}
	if went == 0 {
		return steps.NotTestedf("all %d calls with other values were refused", len(list))
	}
	return nil
}

// otherCalls goes through the booking and returns the calls to make where, each once.
func (s *suite) otherCalls(ctx context.Context, p *party) (out []otherwise, err error) {
	seen := map[string]bool{}
	err = s.eachStage(ctx, p, func(done int, now state, announced toolschema.Tools) (bool, error) {
		for i := range announced {
			t := &announced[i]
			known := s.known(t.Name, now.ui)
			usual, _ := t.Example(known)
			for _, params := range t.Others(known) {
				key := wjson.Compact([]any{t.Name, params})
				if !seen[key] && len(seen) < manyOthers {
					seen[key] = true
					out = append(out, otherwise{done, t.Name, usual, params})
				}
			}
		}
		return false, nil
	})
	return out, err
}

// callsWith makes a call if the tool is still announced so, and judges the state after it. ok reports whether it
// succeeded.
func (s *suite) callsWith(ctx context.Context, p *party, tool string, params object) (ok bool, err error) {
	_, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return false, err
	}
	if t := announced.Find(tool); t == nil || t.Accepts(params) != nil {
		return false, nil // a call before it has led elsewhere
	}
	q, err := s.call(ctx, p, tool, params)
	if err != nil {
		return false, err
	}
	rec, miss := s.answer(ctx, q)
	if miss != nil {
		return false, s.Need(q.unanswered(miss, "an answer to "+tool+", an announced tool", "EA-007", "EA-046", "EA-047"))
	}
	if refused(&rec) || payload(&rec)["ok"] != true {
		return false, nil
	}
	s.notesQuick(&rec, tool)
	after, err := s.stepped(ctx, p)
	if err != nil {
		return false, err
	}
	return true, s.agrees(&rec, after)
}
