package agentclient

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/driver/browser/snapshot"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

// sight is how the page should look: why says what is wrong with a look, "" if nothing is.
type sight struct {
	expected string
	clauses  []string
	why      func(*snapshot.Page) string
}

// way is sees or keeps.
type way func(context.Context, sight) error

// way is keeps for a step that says "still", and sees for any other.
func (s *suite) way(still string) way {
	if still != "" {
		return s.keeps
	}
	return s.sees
}

// snapshotOf is the look that a record of the current page holds; nil if it holds none.
func (s *suite) snapshotOf(r *transcript.Record) *snapshot.Page {
	if r.Conn != s.now.name || r.Kind != transcript.Snapshot || r.Event == nil {
		return nil
	}
	l, _ := r.Event.Data.(*snapshot.Page)
	return l
}

// looking matches looks at the current page that are as they should be.
func (s *suite) looking(is func(*snapshot.Page) bool) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		l := s.snapshotOf(r)
		return l != nil && is(l)
	}
}

// latest is the latest look at the page, and the number of its record; nil if there is none yet.
func (s *suite) latest() (*snapshot.Page, int) { return s.before(s.T.Len()) }

// before is the latest look at the page up to a record.
func (s *suite) before(mark int) (*snapshot.Page, int) {
	all := s.T.All()
	for i := len(all) - 1; i >= 0; i-- {
		if l := s.snapshotOf(&all[i]); l != nil && all[i].N <= mark {
			return l, all[i].N
		}
	}
	return nil, 0
}

// remember keeps what is visible before something happens, to tell what is new afterwards.
func (s *suite) remember() {
	s.now.unfenced = nil
	if l, _ := s.latest(); l != nil {
		s.now.idle = l
	}
}

// sees waits until the page looks as it should. The latest look counts too.
func (s *suite) sees(ctx context.Context, want sight) error {
	_, err := s.saw(ctx, want, nil)
	return err
}

// instead names the clauses that are broken if something else is missing than what was looked for, and says what it
// is; without clauses there is nothing of the kind.
type instead func() (clauses []string, what string)

// saw is sees for what may be missing because of something else, and reports whether it was seen.
func (s *suite) saw(ctx context.Context, want sight, other instead) (bool, error) {
	mark := max(s.now.act, s.now.word)
	if l, _ := s.before(mark); l != nil && want.why(l) == "" { // whether it stays so shows once everything is handled
		if err := s.fence(ctx); err != nil {
			return false, err
		}
		if l, n := s.latest(); want.why(l) == "" {
			return true, s.Judge(steps.Check{Clauses: want.clauses, OK: true, Expected: want.expected, At: n})
		}
	}
	last, n := "nothing of the page was seen", 0
	if l, at := s.latest(); l != nil {
		last, n = want.why(l), at
	}
	_, miss := s.awaitSight(ctx, mark, func(r *transcript.Record) bool {
		l := s.snapshotOf(r)
		if l == nil {
			return false
		}
		last, n = want.why(l), r.N
		return last == ""
	})
	if miss != nil && miss.At > 0 {
		last, n = miss.Reason, miss.At
	}
	c := steps.Check{Clauses: want.clauses, OK: miss == nil, Expected: want.expected, Observed: last, At: n, Miss: miss}
	if miss == nil {
		return true, s.Judge(c)
	}
	if other != nil && miss.At == 0 {
		if others, what := other(); others != nil {
			c.Clauses, c.Observed = others, what+"; "+last
		}
	}
	return false, s.Need(c)
}

// keeps judges that the page stays as it should be until it has handled everything that it was sent: from before the
// latest act or event on, or if it was otherwise then, from when it first is so.
func (s *suite) keeps(ctx context.Context, want sight) error {
	after := max(s.now.word, s.now.act)
	if l, _ := s.before(after); l != nil && want.why(l) != "" { // what it is to keep may still be on its way to the page
		right := s.looking(func(l *snapshot.Page) bool { return want.why(l) == "" })
		if r, miss := s.awaitSight(ctx, after, right); miss == nil {
			after = r.N - 1
		}
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	c := steps.Check{Clauses: want.clauses, Expected: want.expected}
	for _, r := range s.T.After(after) {
		if l := s.snapshotOf(&r); l != nil {
			if c.Observed = want.why(l); c.Observed != "" {
				c.At = r.N
				return s.Need(c)
			}
		}
	}
	l, n := s.latest()
	if l == nil {
		return steps.NotTestedf("nothing of the page was seen")
	}
	c.Observed, c.At = want.why(l), n
	c.OK = c.Observed == ""
	return s.Need(c)
}

// shows is the key under which a run learns whether the target shows chat messages, which serve as fences: with a
// session, and without one.
type shows struct{ session bool }

// lateness is how long an idle page may take to show something: the limit of a wait without a fence, and half of that
// behind one.
const lateness = time.Second

// awaitSight waits for what a page should show. Once it shows a message that it was sent later, it has handled all that
// came before, and gets little more time: what it shows later does not depend on anything that it was sent. Without a
// fence the event limit holds.
func (s *suite) awaitSight(
	ctx context.Context, after int, match func(*transcript.Record) bool,
) (transcript.Record, *steps.Miss) {
	w := steps.Wait{Conn: s.now.name, After: after, Match: match}
	within := s.Env.Event()
	if within <= 3*lateness {
		return s.Await(ctx, w)
	}
	defer s.Idles()()
	try := s.Try(ctx, within, 3*lateness)
	w.Within = try.Within / 3
	if rec, miss := s.Await(ctx, w); miss == nil || miss.At > 0 {
		try.Over(miss == nil)
		return rec, miss
	}
	w.Within = within
	if s.now.server.stream() == nil {
		return s.Await(ctx, w)
	}
	s.now.unfenced, _ = s.latest()
	if err := s.fence(ctx); err != nil {
		w.Within = lateness
		return s.Await(ctx, w)
	}
	fenced, _ := s.learnt(shows{s.now.session != ""})
	if fenced {
		w.Within = try.Within - try.Within/3
	}
	rec, miss := s.Await(ctx, w)
	if fenced && (miss == nil || miss.At == 0) {
		try.Over(miss == nil)
	}
	if miss != nil { // it has got so far, and shows something else
		miss.Late = false
	}
	return rec, miss
}

// learnt is what this run has learnt about the target under a key, and whether it has learnt it.
func (s *suite) learnt(key any) (yes, learnt bool) {
	v, learnt := s.Env.Learnt.Load(key)
	yes, _ = v.(bool)
	return yes, learnt
}

// fence waits until the page has handled what the server has sent: a chat message sent now is visible by then. A page
// that shows none is given the quiet window.
func (s *suite) fence(ctx context.Context) error {
	p := s.now
	s.settle(ctx)
	st := p.server.stream()
	key := shows{p.session != ""}
	yes, learnt := s.learnt(key)
	if st == nil || learnt && !yes {
		return s.quiet(ctx)
	}
	text := fmt.Sprintf("fence-%d-%s", s.Serial(), s.Nonce)
	data := fields{"role": "assistant", "content": text}
	if p.session != "" {
		data["sessionId"] = p.session
	}
	n, err := st.Emit(ctx, vocab.MessageEvent, p.server.event(vocab.MessageEvent, data, stamp(time.Now())))
	if err != nil {
		return s.quiet(ctx)
	}
	within := s.Env.Event()
	if !learnt {
		within = min(within, max(4*s.Env.Profile.Limits.Quiet.Duration, within/2))
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: n, Within: within, Kind: "the message of a fence", Proof: true,
		Match: s.looking(func(l *snapshot.Page) bool { return strings.Contains(l.Text, text) })})
	if miss == nil {
		s.Env.Learnt.Store(key, true)
		s.settle(ctx)
		return nil
	}
	if yes, _ := s.learnt(key); yes {
		return steps.NotTestedf("fence: a message in the chat did not show, so absence cannot be proved: %s", miss.Reason)
	}
	s.Env.Learnt.Store(key, false)
	return nil
}

// quiet stands in for a fence.
func (s *suite) quiet(ctx context.Context) error {
	_, miss := s.Await(ctx, steps.Wait{Conn: s.now.name, After: s.T.Len(), Within: s.Env.Profile.Limits.Quiet.Duration,
		Match: func(*transcript.Record) bool { return false }})
	if miss != nil && miss.At > 0 {
		return steps.NotTestedf("the page has ended: %s", miss.Reason)
	}
	s.settle(ctx)
	return nil
}
