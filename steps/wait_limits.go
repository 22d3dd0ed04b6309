package steps

import (
	"context"
	"regexp"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/target"
)

// No document says how soon a message must come, so the limits are long. A missing message will mostly never come, so
// each of many misses would cost a whole limit. A wait is shortened only by these rules, in this order:
//
//  1. A scenario whose clauses have all failed before in this run gets a fifth of each limit: whatever it misses, its
//     clauses stay failed.
//  2. A kind that the target has missed three times, each within the whole limit, gets a fifth of the limit, unless it
//     has ever come later than at once (within a twentieth of the limit). One miss is enough if the target has sent
//     nothing at all, or if no clause can fail for the kind (Wait.Proof). A kind that has never come gets a twentieth
//     after three more misses; if no clause can fail for it, after three within limits of any length. The first time
//     that a kind comes later than at once, its waits are whole again for the rest of the run. All this also applies to
//     waits in progress.
//  3. A wait with a fence (Wait.Fence) ends at the fence's answer, if the target has missed the same kind once within
//     the whole limit although a fence was answered, and no awaited record has ever come after a fence's answer. A
//     server that handles messages in parallel may send them in that order; with such a server, fences end no wait. For
//     a kind that has never come and was missed three times, the fence is sent five times sooner. Two kinds that were
//     missed so count for all of their Wait.Family, if none of it has ever come.
//  4. Once an answer has come, a better one is awaited for a fifth of the limit (Wait.Better).
//  5. Once an answer has been seen to reach a client of another scenario, a scenario that runs beside others gets a
//     fifth of each limit, also for waits in progress: what it misses may have gone elsewhere, and fails only the
//     clause about such stray answers. Nothing is learnt from its waits any more.
//
// A kind is what is awaited: Wait.Kind, or the step that waits. Misses of one kind do not shorten waits of another. No
// wait gets less than four times the longest of the target's last answers, 64 of them or more: what a busy machine has
// delayed once does not make every later wait long. Limits set by a profile are never shortened. That something did not
// come within a shortened limit never proves absence: that takes a fence.
const (
	misses   = 3
	hurry    = 5               // fraction of a limit that is left: 1/hurry
	slower   = 4               // minimum of a wait, as a multiple of the longest answer
	recent   = 64              // the longest is that of so many answers at least, and of twice as many at most
	shortest = 2 * time.Second // shorter waits are for messages that should not come, and say nothing about the target

	grace  = 500 * time.Millisecond // minimum wait before a fence is sent
	margin = time.Second            // minimum length of a wait that a fence ends
)

// waitHistory records which waits for a target timed out and which succeeded. It is safe for concurrent use.
type waitHistory struct {
	mu        sync.Mutex
	kinds     map[string]*kindHistory
	families  map[string]*familyHistory
	came      bool          // anything has come
	longest   time.Duration // longest of the last waits that succeeded
	newer     time.Duration // longest of those that counted since the last change of half of them
	counted   int           // those
	alone     time.Duration // longest before scenarios ran in parallel
	crowd     int           // scenarios in parallel since then
	kept      int           // answers since then at the pace without load, less what was lent for them
	overtaken bool          // something came after the answer to a fence sent later than its cause
	failed    map[string]bool
}

// kindHistory records the waits of one kind.
type kindHistory struct {
	missed int // waits that timed out within the whole limit
	short  int // waits that timed out within a shortened limit
	fenced int // those of missed with an answered fence
	came   bool
	slow   bool // it came, but not at once
	seen   bool // it came in a wait of any length
}

// familyHistory is what is known of the kinds of a Wait.Family.
type familyHistory struct {
	fenced map[string]bool // kinds that were missed within the whole limit although a fence was answered
	came   bool
}

// inFamily returns what is known of a family, and of none under the name "".
func (p *waitHistory) inFamily(name string) *familyHistory {
	f := p.families[name]
	if f != nil {
		return f
	}
	f = &familyHistory{fenced: map[string]bool{}}
	if p.families == nil {
		p.families = map[string]*familyHistory{}
	}
	if name != "" {
		p.families[name] = f
	}
	return f
}

func (p *waitHistory) awaitedKind(name string) *kindHistory {
	if p.kinds == nil {
		p.kinds = map[string]*kindHistory{}
	}
	k := p.kinds[name]
	if k == nil {
		k = &kindHistory{}
		p.kinds[name] = k
	}
	return k
}

// limitFor returns how long to wait for a kind, given its limit. proof: no clause can fail for it.
func (p *waitHistory) limitFor(kind string, limit time.Duration, proof bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.awaitedKind(kind)
	once := !p.came || proof
	never := !k.seen && (proof && k.missed+k.short >= misses || k.missed >= misses && k.missed+k.short >= 2*misses)
	switch {
	case never:
		return min(limit, max(limit/(hurry*slower), slower*p.longest))
	case k.slow, k.missed == 0, k.missed < misses && !once:
		return limit
	}
	return p.shortenLimit(limit)
}

// shortenLimit shortens a limit. The caller holds p.mu.
func (p *waitHistory) shortenLimit(limit time.Duration) time.Duration {
	return min(limit, max(limit/hurry, slower*p.longest))
}

// fenceDelay returns how long to wait for a kind before sending a fence, so that a merely slow target is not disturbed.
func (p *waitHistory) fenceDelay(kind string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(grace/p.awaitedKind(kind).remainingFraction(), (slower-1)*p.longest), shortest)
}

// remainingFraction returns the fraction of a fenced wait that is left.
func (k *kindHistory) remainingFraction() time.Duration {
	if !k.came && k.fenced > 0 && k.missed+k.short >= misses {
		return hurry
	}
	return 1
}

// Undisturbed extends a quiet window for a slow target, to three times its longest answer, but at most two seconds.
func (e *Env) Undisturbed(quiet time.Duration) time.Duration {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	return max(quiet, min((slower-1)*e.patience.longest, shortest))
}

// fenceEndsWait reports whether the answer to a fence ends a wait of a kind, and the minimum length of that wait.
func (p *waitHistory) fenceEndsWait(kind, family string) (least time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, f := p.awaitedKind(kind), p.inFamily(family)
	return max(margin/k.remainingFraction(), slower*p.longest), (k.fenced > 0 || !f.came && len(f.fenced) > 1) &&
		!p.overtaken
}

// A waited is a finished wait.
type finishedWait struct {
	kind        string
	family      string
	took, limit time.Duration
	whole       bool // neither shortened nor ended by a fence
	came        bool
	fenced      bool // its fence had been answered before
}

// recordWait records a finished wait.
func (p *waitHistory) recordWait(w finishedWait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.awaitedKind(w.kind)
	k.seen = k.seen || w.came
	if w.limit < shortest {
		return
	}
	switch {
	case w.came:
		p.inFamily(w.family).came = true
		k.slow, k.came, p.came = k.slow || w.took > w.limit/(hurry*slower), true, true
		p.recordAnswer(w.took)
		if w.took >= p.alone/slack { // else it had come before the wait began
			p.kept++
		}
		p.overtaken = p.overtaken || w.fenced
	case w.whole:
		k.missed++
		if w.fenced {
			p.inFamily(w.family).fenced[w.kind] = true
			k.fenced++
		}
	default:
		k.short++
	}
}

// recordAnswer records how long an answer took. The caller holds p.mu.
func (p *waitHistory) recordAnswer(took time.Duration) {
	p.longest, p.newer = max(p.longest, took), max(p.newer, took)
	if p.counted++; p.counted == recent {
		p.longest, p.newer, p.counted = p.newer, 0, 0
	}
}

// HasCome reports whether what a kind of wait is for has come in this run.
func (e *Env) HasCome(kind string) bool {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	return e.patience.awaitedKind(kind).seen
}

// Judged records the clauses that a scenario failed, once its result counts. Results that a rerun will replace do
// not.
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

// Unjudge withdraws failures of clauses: they count no longer.
func (e *Env) Unjudge(clauses []string) {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	for _, id := range clauses {
		delete(e.patience.failed, id)
	}
}

// allDecided reports whether all clauses that the scenario judges have already failed in this run.
func (w *World) allDecided() bool {
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

// Event returns Limits.Event. World.Await shortens it where that changes no verdict.
func (e *Env) Event() time.Duration { return e.Profile.Limits.Event.Duration }

// Turn returns Limits.Turn. World.Await shortens it where that changes no verdict.
func (e *Env) Turn() time.Duration { return e.Profile.Limits.Turn.Duration }

// Limit returns how long a step may keep trying if it does not wait in one piece: the limit, shortened by rule 1 or 5
// if either applies.
func (w *World) Limit(limit time.Duration) time.Duration {
	if !w.Env.isDefaultLimit(limit) || !w.isDisturbed() && !w.allDecided() {
		return limit
	}
	w.Env.patience.mu.Lock()
	defer w.Env.patience.mu.Unlock()
	return w.Env.patience.shortenLimit(limit)
}

// BetterWithin returns how long a better answer is awaited once one has come, given the limit of the whole wait.
func (w *World) BetterWithin(limit time.Duration) time.Duration {
	if !w.Env.isDefaultLimit(limit) {
		return limit
	}
	w.Env.patience.mu.Lock()
	defer w.Env.patience.mu.Unlock()
	return w.Env.patience.shortenLimit(limit)
}

// isDefaultLimit reports whether a limit is a default, not set by the profile.
func (e *Env) isDefaultLimit(limit time.Duration) bool {
	std, l := target.DefaultLimits(), e.Profile.Limits
	return limit == std.Event.Duration && l.Event == std.Event || limit == std.Turn.Duration && l.Turn == std.Turn
}

// waitLimit returns how long to wait for a kind, given its limit.
func (e *Env) waitLimit(kind string, limit time.Duration, proof bool) time.Duration {
	if !e.isDefaultLimit(limit) {
		return limit
	}
	return e.patience.limitFor(kind, limit, proof)
}

// AwaitModel waits up to a turn for the target to query its model. It returns how long the wait was allowed to take,
// and the error of asked on failure. asked is called several times, since other waits may meanwhile learn that a
// shorter limit will do.
func (w *World) AwaitModel(ctx context.Context, asked func(context.Context) error) (within time.Duration, err error) {
	return w.AwaitModelFor(ctx, w.Env.Turn(), asked)
}

// AwaitModelFor is AwaitModel with a limit other than a turn.
func (w *World) AwaitModelFor(ctx context.Context, limit time.Duration,
	asked func(context.Context) error) (within time.Duration, err error) {
	const kind = "a question to the model"
	e := w.Env
	within = e.waitLimit(kind, limit, false)
	if w.isDisturbed() {
		within = min(within, w.Limit(limit))
	}
	ctx, seen := w.untilSevered(ctx)
	defer seen()
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
		if part := min(w.Limit(limit), e.waitLimit(kind, limit, false)); part < limit && part <= gone {
			within = min(within, gone.Round(time.Millisecond))
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		w.late++
	}
	if (err == nil || ctx.Err() == nil) && !w.isDisturbed() {
		e.patience.recordWait(finishedWait{kind: kind, limit: limit, took: time.Since(began), whole: within == limit,
			came: err == nil})
	}
	return within, err
}

// A Try is a wait in several pieces with actions in between. It counts as one wait.
type Try struct {
	Within time.Duration // for all pieces; shortened like the limit of one wait

	env   *Env
	kind  string
	limit time.Duration
	whole bool
	clock deadline.Deadline
	off   func() bool
}

// Try begins a wait of at most within that stands for a wait of the longer limit. Its kind is that of the step.
func (w *World) Try(ctx context.Context, limit, within time.Duration) *Try {
	return w.TryFor(kindOf(ctx, Wait{}), limit, within)
}

// TryFor is Try with a kind, for a wait that several steps share.
func (w *World) TryFor(kind string, limit, within time.Duration) *Try {
	t := &Try{Within: within, env: w.Env, kind: kind, limit: limit, whole: true, clock: deadline.In(limit),
		off: w.isDisturbed}
	if !w.Env.isDefaultLimit(limit) {
		return t
	}
	if w.isDisturbed() || w.allDecided() || w.Env.waitLimit(t.kind, limit, false) < limit {
		p := &w.Env.patience
		p.mu.Lock()
		defer p.mu.Unlock()
		t.Within = p.shortenLimit(within)
	}
	t.whole = t.Within == within
	return t
}

// Over ends a Try whose time is up, or whose awaited record came.
func (t *Try) Over(came bool) {
	if !t.off() {
		t.env.patience.recordWait(finishedWait{kind: t.kind, limit: t.limit, took: max(t.limit-t.clock.Left(), 0),
			whole: t.whole,
			came:  came})
	}
}

type kindKey struct{}

// withKind sets the kind of a step's waits that set none themselves: the step's text, without the names in it.
func withKind(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, kindKey{}, named.ReplaceAllString(step, "…"))
}

// named matches what differs between two uses of a step: quoted text, and the names of parties.
var named = regexp.MustCompile(`"[^"]*"|\b[A-Z0-9]\b`)

func kindOf(ctx context.Context, e Wait) string {
	if e.Kind != "" {
		return e.Kind
	}
	return KindOf(ctx)
}

// KindOf returns the kind of a step's waits that set none themselves.
func KindOf(ctx context.Context) string {
	kind, _ := ctx.Value(kindKey{}).(string)
	return kind
}
