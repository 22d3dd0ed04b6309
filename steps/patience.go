package steps

import (
	"context"
	"regexp"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/target"
	"parley/verdict"
)

// No document says how soon a message has to come, so the limits are long; and what is missing will mostly never come,
// so each of many misses would cost a whole limit. A wait gets less only by these rules, in this order:
//
//  1. A scenario whose clauses have all failed before in this run gets a fifth of each limit: whatever it misses, no clause
//     comes to anything else.
//  2. What the target has left out three times, each time within the whole limit, and has never sent but at once (within a twentieth of
//     the limit), gets a fifth of the limit. Once is enough where the target has sent nothing whatever, and where no clause can fail for
//     it (Wait.Proof); of what has never come a twentieth is left then, once it was missed three times, however long they were.
//     A miss counts as one all the same: the target has missed the same kind within the whole limit. The first time that it comes later
//     than at once, its waits are whole again for the rest of the run. This goes for waits that have begun, too.
//  3. A wait that has a fence (Wait.Fence) ends once the fence was answered, if the target has missed the same kind once within the
//     whole limit although a fence was answered, and nothing that was awaited has ever come behind the answer of a fence. A
//     server that handles messages side by side does that, and there fences end no wait.
//  4. Once an answer has been seen to come to a client of another scenario, a scenario that runs beside others gets a fifth of each
//     limit, and so do its waits that have begun: what it misses may have gone elsewhere, and fails no clause but the one that this
//     breaks. Nothing is learnt from it any more.
//
// A kind is what is awaited: Wait.Kind, or the step that waits. What is missed of one kind shortens no wait of another.
// No wait gets less than four times as long as the target has taken for anything. Limits that a profile sets are never
// shortened. That something did not come within a shortened limit never proves absence: that takes a fence.
const (
	misses   = 3
	hurry    = 5               // what part of a limit is left
	slower   = 4               // how many times as long as what the target has taken longest for
	shortest = 2 * time.Second // a shorter wait is for what should not come, and says nothing about the target

	grace  = 500 * time.Millisecond // how long a wait goes on at least before its fence is sent
	margin = time.Second            // and how long it lasts at least
)

// patience knows what a target was waited for in vain, and in the end with success. It is safe for concurrent use.
type patience struct {
	mu        sync.Mutex
	kinds     map[string]*awaited
	came      bool          // anything
	longest   time.Duration // that anything took
	alone     time.Duration // the same, before scenarios ran side by side
	crowd     int           // how many have run since
	overtaken bool          // something came behind the answer of a fence that was sent after it was due
	failed    map[string]bool
}

// awaited is what is known of one kind.
type awaited struct {
	missed int // within the whole limit
	short  int // within less
	fenced int // of these, with a fence answered
	came   bool
	slow   bool // it came, and not at once
}

func (p *patience) kind(name string) *awaited {
	if p.kinds == nil {
		p.kinds = map[string]*awaited{}
	}
	k := p.kinds[name]
	if k == nil {
		k = &awaited{}
		p.kinds[name] = k
	}
	return k
}

// of is how long a kind is waited for, of a limit. proof: no clause can fail for it.
func (p *patience) of(kind string, limit time.Duration, proof bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kind(kind)
	once := !p.came || proof
	if k.slow || k.missed == 0 || k.missed < misses && !once {
		return limit
	}
	if proof && !k.came && k.missed+k.short >= misses {
		return min(limit, max(limit/(hurry*slower), slower*p.longest))
	}
	return p.part(limit)
}

// part is what is left of a limit. p is locked.
func (p *patience) part(limit time.Duration) time.Duration {
	return min(limit, max(limit/hurry, slower*p.longest))
}

// fences is how long a wait goes on before its fence is sent: what is merely slow is not disturbed.
func (p *patience) fences() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(grace, (slower-1)*p.longest), shortest)
}

// Undisturbed is a quiet window, made longer for a slow target: three times what it has taken for anything, and two
// seconds at most.
func (e *Env) Undisturbed(quiet time.Duration) time.Duration {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	return max(quiet, min((slower-1)*e.patience.longest, shortest))
}

// closes reports whether the answer of a fence ends a wait of a kind, and how long that lasts at least.
func (p *patience) closes(kind string) (least time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(margin, slower*p.longest), p.kind(kind).fenced > 0 && !p.overtaken
}

// A waited is a wait that is over.
type waited struct {
	kind        string
	took, limit time.Duration
	whole       bool // the limit was not shortened, and the wait not ended by a fence
	came        bool
	fenced      bool // the answer of its fence had come before
}

// over takes note of a wait.
func (p *patience) over(w waited) {
	if w.limit < shortest {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kind(w.kind)
	switch {
	case w.came:
		k.slow, k.came, p.came = k.slow || w.took > w.limit/(hurry*slower), true, true
		p.longest = max(p.longest, w.took)
		p.overtaken = p.overtaken || w.fenced
	case w.whole:
		k.missed++
		if w.fenced {
			k.fenced++
		}
	default:
		k.short++
	}
}

// Judged takes note of the clauses that a scenario has failed, once its result counts: a scenario that is run again is
// none.
func (e *Env) Judged(res Result) {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	if e.patience.failed == nil {
		e.patience.failed = map[string]bool{}
	}
	for _, c := range res.Clauses {
		if c.Outcome == verdict.Failed || c.Outcome == verdict.Warned {
			e.patience.failed[c.Clause] = true
		}
	}
}

// decided reports whether all clauses that the scenario judges have failed before in this run.
func (w *World) decided() bool {
	p := &w.Env.patience
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range w.tags {
		if !p.failed[id] {
			return false
		}
	}
	return len(w.tags) > 0
}

// Event is Limits.Event. World.Await shortens it where that changes no verdict.
func (e *Env) Event() time.Duration { return e.Profile.Limits.Event.Duration }

// Turn is Limits.Turn. World.Await shortens it where that changes no verdict.
func (e *Env) Turn() time.Duration { return e.Profile.Limits.Turn.Duration }

// Limit is how long a step may go on trying for what it does not await in one piece: the limit, or a part of it where
// rule 1 or 4 shortens it.
func (w *World) Limit(limit time.Duration) time.Duration {
	if !w.Env.ours(limit) || !w.disturbed() && !w.decided() {
		return limit
	}
	w.Env.patience.mu.Lock()
	defer w.Env.patience.mu.Unlock()
	return w.Env.patience.part(limit)
}

// ours reports whether a limit is one that no profile has set.
func (e *Env) ours(limit time.Duration) bool {
	std, l := target.DefaultLimits(), e.Profile.Limits
	return limit == std.Event.Duration && l.Event == std.Event || limit == std.Turn.Duration && l.Turn == std.Turn
}

// within is how long a kind is waited for, of a limit.
func (e *Env) within(kind string, limit time.Duration, proof bool) time.Duration {
	if !e.ours(limit) {
		return limit
	}
	return e.patience.of(kind, limit, proof)
}

// AwaitModel waits for what the target has its model asked, which takes a turn at most. It returns how long that was,
// and the error of asked where it did not come. asked is called several times: others may learn meanwhile that less is
// enough.
func (w *World) AwaitModel(ctx context.Context, asked func(context.Context) error) (within time.Duration, err error) {
	return w.AwaitModelFor(ctx, w.Env.Turn(), asked)
}

// AwaitModelFor is AwaitModel with another limit than a turn.
func (w *World) AwaitModelFor(ctx context.Context, limit time.Duration,
	asked func(context.Context) error) (within time.Duration, err error) {
	const kind = "a question to the model"
	e := w.Env
	within = e.within(kind, limit, false)
	if w.disturbed() {
		within = min(within, w.Limit(limit))
	}
	limited, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	defer w.Idles()()
	began := time.Now()
	for {
		stage, over := deadline.WithLimit(limited, min(limit/hurry, within))
		err = asked(stage)
		staged := stage.Err() != nil
		over()
		if err == nil || !staged || limited.Err() != nil {
			break
		}
		gone := time.Since(began)
		if part := min(w.Limit(limit), e.within(kind, limit, false)); part < limit && part <= gone {
			within = min(within, gone.Round(time.Millisecond))
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		w.late++
	}
	if (err == nil || ctx.Err() == nil) && !w.disturbed() {
		e.patience.over(waited{kind: kind, limit: limit, took: time.Since(began), whole: within == limit, came: err == nil})
	}
	return within, err
}

// A Try is a wait in several pieces, between which something is done. It learns like one wait.
type Try struct {
	Within time.Duration // for all pieces; shortened like the limit of one wait

	env   *Env
	kind  string
	limit time.Duration
	whole bool
	clock deadline.Deadline
	off   func() bool
}

// Try begins a wait that takes a time at most, and stands for one of a limit, which is more. Its kind is that of the
// step.
func (w *World) Try(ctx context.Context, limit, within time.Duration) *Try {
	t := &Try{Within: within, env: w.Env, kind: kindOf(ctx, Wait{}), limit: limit, whole: true, clock: deadline.In(limit),
		off: w.disturbed}
	if !w.Env.ours(limit) {
		return t
	}
	if w.disturbed() || w.decided() || w.Env.within(t.kind, limit, false) < limit {
		p := &w.Env.patience
		p.mu.Lock()
		defer p.mu.Unlock()
		t.Within = p.part(within)
	}
	t.whole = t.Within == within
	return t
}

// Over ends a try whose pieces have taken all of their time, or until what was awaited came.
func (t *Try) Over(came bool) {
	if !t.off() {
		t.env.patience.over(waited{kind: t.kind, limit: t.limit, took: max(t.limit-t.clock.Left(), 0), whole: t.whole,
			came: came})
	}
}

type kindKey struct{}

// withKind tells the waits of a step what kind of thing they are for, if they do not say so themselves: the step,
// whoever and whatever it names.
func withKind(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, kindKey{}, named.ReplaceAllString(step, "…"))
}

// named is what differs between two uses of a step: quoted text, and the names of parties.
var named = regexp.MustCompile(`"[^"]*"|\b[A-Z0-9]\b`)

func kindOf(ctx context.Context, e Wait) string {
	if e.Kind != "" {
		return e.Kind
	}
	kind, _ := ctx.Value(kindKey{}).(string)
	return kind
}
