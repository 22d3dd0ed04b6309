// Package steps is the part of the suite that every protocol shares: the World of a scenario, expectations over its
// transcript, judging, and the godog suite. The steps of each protocol sit in a subpackage.
package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/driver"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/llm"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
	wjson "parley/wire/json"
)

// Env is what the scenarios of one run over one driver share. What it learns of the target while they run
// is safe for concurrent use, and the rest read-only.
type Env struct {
	Profile *target.Profile
	Role    string // the target's; see Roles
	Driver  driver.Driver
	Ledger  *verdict.Ledger
	Brain   *llm.Brain // nil: no model that we control stands behind the target
	Strict  bool
	Redact  *transcript.Redactor

	// RefusalIsAll is set once an HTTP refusal was followed by no event for the whole event limit: from then on a target
	// that has never sent one is given only the quiet window for it.
	RefusalIsAll atomic.Bool

	// Begun, if not nil, is given the transcript of each scenario that begins. It is set while none runs.
	Begun func(*transcript.Transcript)

	// Learnt is what the scenarios have found out about the target that the others go by too, under keys of the protocol's
	// own.
	Learnt sync.Map

	patience patience
	opened   opened
	strays   strays
	again    again

	load    sync.Mutex
	slowest time.Duration // see Sluggish
}

// World is one scenario's: its connections, its transcript, its judgements. Steps use it from one goroutine.
type World struct {
	Env    *Env
	Target target.Running
	T      *transcript.Transcript
	Nonce  string // unique in the run; every directive and fence of the scenario carries it
	Tags   []string

	// Watch, if not nil, is shown each record that waits have come by, of all parties, once.
	Watch   func(*transcript.Record)
	watched int // the last of them

	beside   bool            // other scenarios run at the same time
	lender   Lender          // of its slot; nil: it lends none
	turns    Lender          // of its held turns; nil: it has, or lends, none
	idle     atomic.Bool     // it waits
	tags     map[string]bool // clauses that the scenario may judge
	judged   map[string]verdict.Judgement
	failures []Failure
	fresh    []Failure // found by the step that runs, one of each kind
	judging  []string  // the clauses that the step which runs has judged
	notes    []string
	warnings []string // about security
	evidence []Evidence
	parties  map[string]driver.Conn
	atEnd    []func()
	serial   int
	reached  Reach
	late     int  // waits that have ended by their limit
	whole    bool // every step was carried out
	cut      bool // the scenario was cut off: what is missing from now on says nothing
	why      string
	over     func() error    // not nil once the scenario's time is over; may be nil
	skipped  map[string]bool // clauses of which a check was not judged, because the scenario was cut off
}

// NewWorld makes the world of one scenario. decode fills the protocol's view of each record.
func NewWorld(env *Env, run target.Running, nonce string, tags []string, decode func(*transcript.Record)) *World {
	w := &World{Env: env, Target: run, Nonce: nonce, Tags: tags, T: transcript.New(decode),
		tags: map[string]bool{}, judged: map[string]verdict.Judgement{}, parties: map[string]driver.Conn{}}
	for _, t := range tags {
		if id := strings.TrimPrefix(t, "@"); IsClause(id) {
			w.tags[id] = true
		}
	}
	return w
}

// IsClause reports whether a tag (without @) has the form of a clause id.
func IsClause(tag string) bool {
	if len(tag) < 6 || tag[2] != '-' {
		return false
	}
	split := tag[6:] // of a clause that was split: AS-042a
	return strings.Trim(tag[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.Trim(tag[3:6], "0123456789") == "" &&
		len(split) <= 1 && strings.Trim(split, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Judges reports whether the scenario is tagged with a clause.
func (w *World) Judges(id string) bool { return w.tags[id] }

// HasTag reports whether the scenario bears a tag, "@" included.
func (w *World) HasTag(tag string) bool {
	return slices.Contains(w.Tags, tag)
}

// Note adds a remark to the scenario's result.
func (w *World) Note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// Security adds an observation about the target's security: it fails no clause, and stands out in every report.
func (w *World) Security(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// Evidence is what a scenario keeps beside its transcript, such as a picture of what was to be seen.
type Evidence struct {
	Name string // of the file that it becomes: letters, digits, "-" and one "."
	Type string // media type
	Body []byte
}

// Attach keeps evidence with the scenario's result.
func (w *World) Attach(name, mediaType string, body []byte) {
	w.evidence = append(w.evidence, Evidence{Name: name, Type: mediaType, Body: body})
}

// Serial returns 1, 2, 3, …: what makes names and nonces differ within a scenario.
func (w *World) Serial() int { w.serial++; return w.serial }

// AtEnd runs f once when the scenario's steps are over and before its connections are closed.
func (w *World) AtEnd(f func()) { w.atEnd = append(w.atEnd, f) }

// CutOff tells that the scenario cannot say anything more: what is missing from now on is nobody's fault.
func (w *World) CutOff() { w.cut = true }

// Open connects a party. A target that refuses is a Miss with the reason.
func (w *World) Open(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, w.Env.Profile.Limits.Open.Duration)
	defer cancel()
	o.MaxEvent = int(w.Env.Profile.Limits.MaxEvent)
	closed := w.Env.opens(o)
	c, err := w.Env.Driver.Open(limited, o, w.T.Append)
	if err != nil {
		closed()
		w.cut = w.cut || ctx.Err() != nil
		if limited.Err() != nil && ctx.Err() == nil {
			w.late++
			return nil, &lateError{err}
		}
		return nil, err
	}
	if old := w.parties[o.Party]; old != nil {
		_ = old.Close(driver.Reset)
	}
	w.Env.opensFirst(o)
	if o.Page == nil && o.Process == nil { // what steps see of a page is more than a connection
		c = &counted{Conn: c, closed: closed}
	}
	w.parties[o.Party] = c
	return c, nil
}

// Parties are those that have been connected, sorted.
func (w *World) Parties() []string { return slices.Sorted(maps.Keys(w.parties)) }

// lateError is that of a connection that was not open within its limit.
type lateError struct{ error }

func (e *lateError) Unwrap() error { return e.error }

// NotOpened is the miss of a connection that could not be opened: nil for none.
func NotOpened(err error) *Miss {
	if err == nil {
		return nil
	}
	var late *lateError
	return &Miss{Reason: err.Error(), Late: errors.As(err, &late)}
}

// Whole tells, to what runs at the scenario's end, whether every step was carried out: what was to be absent counts
// only with all the rest, which shows that the target would have done it.
func (w *World) Whole() bool { return w.whole }

// Finish runs what waits for the scenario's end, and closes its connections.
func (w *World) Finish() {
	for _, f := range w.atEnd {
		f()
	}
	for _, c := range w.parties {
		_ = c.Close(driver.Reset)
	}
	w.parties = map[string]driver.Conn{}
}

// Wait describes an awaited record.
type Wait struct {
	Conn  string // party on whose connection it is expected
	After int    // the mark: the number of the record that causes it
	// Within is how long it may take; 0: Env.Event. What is less is a millisecond, and a limit that no profile sets may be
	// shortened (patience.go).
	Within time.Duration
	Kind   string // what is awaited, in few words; "": the step says it
	Proof  bool   // it is awaited as a proof alone: where it does not come, something is not tested, and nothing fails
	Match  func(*transcript.Record) bool
	// Hopeless tells that the record can no longer come. What it returns is the reason; "" means go on. The end of
	// the connection is hopeless in any case.
	Hopeless func(*transcript.Record) string
	// Fence, if not nil, sends a request whose answer comes behind the awaited record, and returns a matcher of that
	// answer; nil where it cannot. It is called once, after a short first wait. See patience.go for when the answer ends
	// the wait.
	Fence func(context.Context) (answer func(*transcript.Record) bool)
	// Sent, if not nil, says when that was sent which the record answers that Match has taken; zero: when the wait began.
	Sent func() time.Time
}

var errLimit = errors.New("limit")

// Await waits for a record, event-driven. A *Miss says why it did not come.
func (w *World) Await(ctx context.Context, e Wait) (transcript.Record, *Miss) {
	a := w.awaiting(ctx, e)
	ctx, cancel := deadline.WithLimitCause(ctx, a.within, errLimit)
	defer cancel()
	goesOn := w.Idles()
	rec, err := a.run(ctx)
	goesOn()
	took := a.took()
	if a.miss == nil && (err == nil || errors.Is(err, errLimit)) && !w.disturbed() {
		w.Env.patience.over(waited{kind: a.kind, limit: a.limit, took: took, whole: a.within == a.limit && !a.closed,
			came: err == nil, fenced: a.answered > 0})
	}
	switch {
	case a.miss != nil:
		return transcript.Record{}, a.miss
	case (a.closed || errors.Is(err, errLimit)) && w.outgrown(): // it may have come, and was not kept
		w.cut, w.why = true, "the target sent more than a transcript holds: what came behind that is not known"
		return transcript.Record{}, &Miss{Reason: w.why}
	case a.closed:
		return transcript.Record{}, &Miss{Reason: fmt.Sprintf(
			"nothing of the kind before the answer of a later request, in record %d", a.answered)}
	case errors.Is(err, errLimit):
		w.late++
		return transcript.Record{}, &Miss{Late: true, Reason: "nothing of the kind within " + Span(a.within) +
			w.cry(e.Conn, e.After)}
	case err != nil: // the run was interrupted, or the scenario has no time left: nothing is the target's fault any more
		w.cut = true
		return transcript.Record{}, &Miss{Reason: "the scenario was cut off: " + err.Error()}
	}
	w.Env.tookFor(took, a.limit)
	return rec, nil
}

// outgrown reports whether the scenario's transcript could not keep what was said in answer to what was asked. A target
// that talks without being asked has itself to blame.
func (w *World) outgrown() bool {
	const answers = 10 // to one message, at most
	if w.T.Overflow() == 0 {
		return false
	}
	sent, received := 1, 0
	for _, r := range w.T.All() {
		switch r.Dir {
		case transcript.Sent:
			sent++
		case transcript.Received:
			received++
		}
	}
	return received <= answers*sent
}

// awaiting is a wait that goes on.
type awaiting struct {
	Wait
	w             *World
	kind          string
	limit, within time.Duration // as the profile has it, and as it is
	began         time.Time
	clock         deadline.Deadline             // of the limit, since then
	seen          int                           // the last record that was looked at
	answer        func(*transcript.Record) bool // of the fence; nil before
	answered      int                           // record of that answer
	closed        bool                          // the fence has ended the wait
	miss          *Miss
}

func (w *World) awaiting(ctx context.Context, e Wait) *awaiting {
	if e.Within == 0 {
		e.Within = w.Env.Event()
	}
	e.Within = max(e.Within, time.Millisecond) // of a deadline that is over nothing is left
	a := &awaiting{Wait: e, w: w, kind: kindOf(ctx, e), limit: e.Within, began: time.Now(), clock: deadline.In(e.Within),
		seen: e.After}
	a.within = min(w.Limit(a.limit), w.Env.within(a.kind, a.limit, a.Proof))
	return a
}

// took is how long the target has taken so far, without the stalls of the harness, which no limit counts.
func (a *awaiting) took() time.Duration {
	if a.Sent != nil {
		if at := a.Sent(); !at.IsZero() {
			return time.Since(at)
		}
	}
	return max(a.limit-a.clock.Left(), 0)
}

// run waits for the record, and sends the fence meanwhile.
func (a *awaiting) run(ctx context.Context) (transcript.Record, error) {
	if a.Fence == nil || a.within <= margin {
		return a.whole(ctx, a.record)
	}
	rec, err := a.until(ctx, a.w.Env.patience.fences(), a.record)
	if !errors.Is(err, errStage) {
		return rec, err
	}
	if a.answer = a.Fence(ctx); a.answer == nil {
		return a.whole(ctx, a.record)
	}
	rec, err = a.whole(ctx, func(r *transcript.Record) bool { return a.record(r) || a.isAnswer(r) })
	if err != nil || rec.N != a.answered {
		return rec, err
	}
	least, ok := a.w.Env.patience.closes(a.kind)
	if !ok {
		return a.whole(ctx, a.record)
	}
	rec, err = a.until(ctx, least-time.Since(a.began), a.record)
	a.closed = errors.Is(err, errStage)
	return rec, err
}

var errStage = errors.New("stage")

// until looks for no longer than a stage of the wait: then the error is errStage.
func (a *awaiting) until(ctx context.Context, stage time.Duration,
	match func(*transcript.Record) bool) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimitCause(ctx, stage, errStage)
	defer cancel()
	return a.look(ctx, match)
}

// look goes on from the last record that was looked at.
func (a *awaiting) look(ctx context.Context, match func(*transcript.Record) bool) (transcript.Record, error) {
	return a.w.T.Await(ctx, a.seen, func(r *transcript.Record) bool {
		a.seen = r.N
		if a.w.Watch != nil && r.N > a.w.watched {
			a.w.watched = r.N
			a.w.Watch(r)
		}
		return r.Conn == a.Conn && !r.Late && match(r)
	})
}

// whole looks for the whole limit, or for what is left of it by what other waits learn meanwhile.
func (a *awaiting) whole(ctx context.Context, match func(*transcript.Record) bool) (transcript.Record, error) {
	for a.within == a.limit && a.limit >= shortest {
		rec, err := a.until(ctx, a.limit/hurry, match)
		if !errors.Is(err, errStage) {
			return rec, err
		}
		if part, gone := min(a.w.Limit(a.limit), a.w.Env.within(a.kind, a.limit, a.Proof)),
			time.Since(a.began); part < a.limit && part <= gone {
			a.within = gone.Round(time.Millisecond)
			return transcript.Record{}, errLimit
		}
	}
	return a.look(ctx, match)
}

// record matches what ends the wait: what is awaited, or what says that it cannot come.
func (a *awaiting) record(r *transcript.Record) bool {
	if a.Match(r) {
		return true
	}
	if r.Kind == transcript.Failure && strings.HasPrefix(r.Label, driver.ResetTwice) {
		a.w.cut, a.w.why = true, r.Label // whether the target has seen the request is anybody's guess
	}
	if r.Dir == transcript.Received && r.Kind == transcript.Closed {
		a.miss = &Miss{Reason: r.Label, At: r.N}
	} else if a.Hopeless != nil {
		if why := a.Hopeless(r); why != "" {
			a.miss = &Miss{Reason: why, At: r.N}
		}
	}
	return a.miss != nil
}

func (a *awaiting) isAnswer(r *transcript.Record) bool {
	if a.answer(r) {
		a.answered = r.N
	}
	return a.answered > 0
}

// Between returns the received records of a party, but for those that came after we had closed its connection, with
// numbers above after and below before (0: no upper bound).
func (w *World) Between(conn string, after, before int) []transcript.Record {
	var out []transcript.Record
	for _, r := range w.T.After(after) {
		if r.Conn == conn && r.Dir == transcript.Received && !r.Late && (before == 0 || r.N < before) {
			out = append(out, r)
		}
	}
	return out
}

func compact(v any) string { return wjson.Compact(v) }

func clipText(s string, n int) string { return cut.Head(s, n) }
