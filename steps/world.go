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

// Env is shared by the scenarios of one run over one driver. What it learns of the target is safe for concurrent use;
// the rest is read-only.
type Env struct {
	Profile *target.Profile
	Role    string // the target's; see Roles
	Driver  driver.Driver
	Pages   driver.Driver // opens the target's page beside Driver; nil if it has none; see Reach.Page
	Ledger  *verdict.Ledger
	Brain   *llm.Brain // nil: we do not control the model behind the target
	Strict  bool
	Redact  *transcript.Redactor

	// RefusalIsAll is set once no event has followed an HTTP refusal for the whole event limit. From then on, waits for
	// an event after a refusal last only the quiet window, unless the target has sent one before.
	RefusalIsAll atomic.Bool

	// Begun, if not nil, is called with the transcript of each scenario that begins. Set it only while no scenario runs.
	Begun func(*transcript.Transcript)

	// Keep, if not nil, lets transcripts exceed the bounds of a run: older records go to a file.
	Keep *transcript.Keep

	// Learnt holds what scenarios have found out about the target for others to use, under keys of the protocol's own.
	Learnt sync.Map

	patience patience
	opened   opened
	strays   strays
	again    heard
	astray   heard

	load    sync.Mutex
	slowest time.Duration // see Sluggish
}

// World is the state of one scenario: its connections, transcript and judgements. Steps use it from one goroutine.
type World struct {
	Env    *Env
	Target target.Running
	T      *transcript.Transcript
	Nonce  string // unique in the run; in every directive and fence of the scenario
	Tags   []string

	// Watch, if not nil, is called once for each record that a wait has passed, whatever its party.
	Watch   func(*transcript.Record)
	watched int // the last record shown to Watch

	// Severed, if not nil, is called at the cut of a scenario in which a connection is cut on purpose.
	Severed  Severed
	severing *severing // nil: no connection is cut

	beside   bool            // other scenarios run at the same time
	lender   Lender          // of its slot; nil: the slot is not lent
	turns    Lender          // of its held turns; nil: it has none, or they are not lent
	idle     atomic.Bool     // a wait is in progress
	tags     map[string]bool // clauses that the scenario may judge
	judged   map[string]verdict.Judgement
	failures []Failure
	fresh    []Failure // failures of the current step, one per group
	judging  []string  // clauses that the current step has judged
	notes    []string
	warnings []string // about security
	evidence []Evidence
	parties  map[string]driver.Conn
	atEnd    []func()
	serial   int
	reached  Reach
	late     int  // waits that reached their limit
	whole    bool // every step was executed
	cut      bool // the scenario was cut off: missing messages say nothing from then on
	why      string
	over     func() error    // returns an error once the scenario's time is up; may be nil
	skipped  map[string]bool // clauses with a check that was skipped because the scenario was cut off
}

// NewWorld creates the world of one scenario. decode adds the protocol's events to each record.
func NewWorld(env *Env, run target.Running, nonce string, tags []string, decode func(*transcript.Record)) *World {
	return newWorld(env, run, nonce, tags, transcript.New(decode))
}

func newWorld(env *Env, run target.Running, nonce string, tags []string, t *transcript.Transcript) *World {
	w := &World{Env: env, Target: run, Nonce: nonce, Tags: tags, T: t,
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
	split := tag[6:] // clauses may be split: AS-042a
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

// Security adds an observation about the target's security: it fails no clause, but stands out in every report.
func (w *World) Security(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// Evidence is an attachment to a scenario's transcript, such as a screenshot.
type Evidence struct {
	Name string // of its file: letters, digits, "-" and one "."
	Type string // media type
	Body []byte
}

// Attach keeps evidence with the scenario's result.
func (w *World) Attach(name, mediaType string, body []byte) {
	w.evidence = append(w.evidence, Evidence{Name: name, Type: mediaType, Body: body})
}

// Serial returns 1, 2, 3, …, to make names and nonces unique within a scenario.
func (w *World) Serial() int { w.serial++; return w.serial }

// AtEnd registers f to run after the scenario's steps, before its connections are closed.
func (w *World) AtEnd(f func()) { w.atEnd = append(w.atEnd, f) }

// CutOff marks the scenario as unable to say more: missing messages are not the target's fault from now on.
func (w *World) CutOff() { w.cut = true }

// Open connects a party. NotOpened turns its error into a Miss.
func (w *World) Open(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, w.Env.Profile.Limits.Open.Duration)
	defer cancel()
	o.MaxEvent = int(w.Env.Profile.Limits.MaxEvent)
	closed := w.Env.opens(o)
	c, err := w.open(limited, o)
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
	if o.Page == nil && o.Process == nil { // page steps look at more than the connection
		c = &counted{Conn: c, closed: closed}
	}
	w.parties[o.Party] = c
	return c, nil
}

// Parties returns the names of all parties that have been connected, sorted.
func (w *World) Parties() []string { return slices.Sorted(maps.Keys(w.parties)) }

// lateError wraps the error of a connection that did not open within its limit.
type lateError struct{ error }

func (e *lateError) Unwrap() error { return e.error }

// NotOpened returns the Miss for an error of Open; nil for none.
func NotOpened(err error) *verdict.Miss {
	if err == nil {
		return nil
	}
	var late *lateError
	return &verdict.Miss{Reason: err.Error(), Late: errors.As(err, &late)}
}

// Whole reports, to functions registered by AtEnd, whether every step was executed. The absence of a message counts
// only if the other steps show that the target had the chance to send it.
func (w *World) Whole() bool { return w.whole }

// Finish runs the functions registered by AtEnd, and closes the scenario's connections.
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
	After int    // number of the record that causes it
	// Within is how long it may take; 0: Env.Event. The minimum is a millisecond. Limits that the profile does not set
	// may be shortened (patience.go).
	Within time.Duration
	Kind   string // short name of what is awaited; "": the text of the step
	Proof  bool   // it only serves as proof: if it does not come, something is not tested, and nothing fails
	Match  func(*transcript.Record) bool
	// Hopeless returns the reason why the record can no longer come; "" to continue. The end of the connection always ends
	// the wait.
	Hopeless func(*transcript.Record) string
	// Fence, if not nil, sends a request whose answer comes after the awaited record, and returns a matcher for that
	// answer; nil if it cannot. It is called once, after a short first wait. patience.go says when the answer ends the
	// wait.
	Fence func(context.Context) (answer func(*transcript.Record) bool)
	// Sent, if not nil, returns when the request was sent that the matched record answers; zero: when the wait began.
	Sent func() time.Time
}

var errLimit = errors.New("limit")

// Await blocks until a record matches. A *Miss says why none came.
func (w *World) Await(ctx context.Context, e Wait) (transcript.Record, *verdict.Miss) {
	ctx, seen := w.untilSevered(ctx)
	defer seen()
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
	case err != nil && w.severed():
		return transcript.Record{}, &verdict.Miss{Reason: errSevered.Error()}
	case a.miss != nil:
		return transcript.Record{}, a.miss
	case errors.Is(err, transcript.ErrFull), (a.closed || errors.Is(err, errLimit)) && w.T.Overflow() > 0:
		// it may have come after the transcript was full
		w.cut, w.why = true, "the target sent more than a transcript holds: later records are unknown"
		return transcript.Record{}, &verdict.Miss{Reason: w.why}
	case errors.Is(err, errLimit) && a.flooded():
		w.cut, w.why = true, fmt.Sprintf("the target was still sending when the time was up, after %d messages (%d kB): "+
			"it may have sent this one as well", a.came, a.bytes/1000)
		return transcript.Record{}, &verdict.Miss{Reason: w.why}
	case a.closed:
		return transcript.Record{}, &verdict.Miss{Reason: fmt.Sprintf(
			"no such message before the answer to a later request, in record %d", a.answered)}
	case errors.Is(err, errLimit):
		w.late++
		return transcript.Record{}, &verdict.Miss{Late: true, Reason: "no such message within " + Span(a.within) +
			w.cry(e.Conn, e.After)}
	case err != nil: // interrupted or out of time: from now on nothing is the target's fault
		w.cut = true
		return transcript.Record{}, &verdict.Miss{Reason: "the scenario was cut off: " + err.Error()}
	}
	w.Env.tookFor(took, a.limit)
	return rec, nil
}

// awaiting is a wait in progress.
type awaiting struct {
	Wait
	w             *World
	kind          string
	limit, within time.Duration // the profile's limit, and the one in effect
	began         time.Time
	clock         deadline.Deadline             // of limit, since began
	seen          int                           // the last record looked at
	answer        func(*transcript.Record) bool // matches the fence's answer; nil before the fence is sent
	answered      int                           // record of that answer
	closed        bool                          // the fence has ended the wait
	came, bytes   int                           // records received on the connection meanwhile
	last          time.Time                     // when the last of them was looked at
	miss          *verdict.Miss
}

func (w *World) awaiting(ctx context.Context, e Wait) *awaiting {
	if e.Within == 0 {
		e.Within = w.Env.Event()
	}
	e.Within = max(e.Within, time.Millisecond) // the time may be up already
	a := &awaiting{Wait: e, w: w, kind: kindOf(ctx, e), limit: e.Within, began: time.Now(), clock: deadline.In(e.Within),
		seen: e.After}
	a.within = min(w.Limit(a.limit), w.Env.within(a.kind, a.limit, a.Proof))
	return a
}

// took returns how long the target has taken so far, without stalls of the harness, which do not count against
// limits.
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

// until waits for at most a stage of the wait, after which the error is errStage.
func (a *awaiting) until(ctx context.Context, stage time.Duration,
	match func(*transcript.Record) bool) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimitCause(ctx, stage, errStage)
	defer cancel()
	return a.look(ctx, match)
}

// look continues after the last record looked at.
func (a *awaiting) look(ctx context.Context, match func(*transcript.Record) bool) (transcript.Record, error) {
	return a.w.T.AwaitKept(ctx, a.seen, func(r *transcript.Record) bool {
		a.seen = r.N
		if a.w.Watch != nil && r.N > a.w.watched {
			a.w.watched = r.N
			a.w.Watch(r)
		}
		if r.Conn != a.Conn || r.Late {
			return false
		}
		if r.Dir == transcript.Received {
			a.came, a.bytes, a.last = a.came+1, a.bytes+len(r.Bytes)+r.Cut, time.Now()
		}
		return match(r)
	})
}

// From so many messages, or bytes of them, during a wait it is unknown, while more are coming, whether the target has
// sent the awaited one: reading them takes time.
const (
	flood      = 1000
	floodBytes = 4 << 20
)

// flooded reports whether a wait has ended in the middle of a flood.
func (a *awaiting) flooded() bool {
	return (a.came >= flood || a.bytes >= floodBytes) && time.Since(a.last) < a.within/4
}

// whole waits for the whole limit, unless other waits meanwhile learn that a shorter one will do.
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

// record matches what ends the wait: the awaited record, or one that rules it out.
func (a *awaiting) record(r *transcript.Record) bool {
	if a.Match(r) {
		return true
	}
	if r.Kind == transcript.Failure && strings.HasPrefix(r.Label, driver.ResetTwice) {
		a.w.cut, a.w.why = true, r.Label // it is unknown whether the target received the request
	}
	if r.Dir == transcript.Received && r.Kind == transcript.Closed {
		a.miss = &verdict.Miss{Reason: r.Label, At: r.N}
	} else if a.Hopeless != nil {
		if why := a.Hopeless(r); why != "" {
			a.miss = &verdict.Miss{Reason: why, At: r.N}
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

// Between returns the received records of a party numbered above after and below before (0: no upper bound), except
// those that came after we closed its connection.
func (w *World) Between(conn string, after, before int) []transcript.Record {
	all := w.T.After(after)
	within := func(r *transcript.Record) bool {
		return r.Conn == conn && r.Dir == transcript.Received && !r.Late && (before == 0 || r.N < before)
	}
	n := 0
	for i := range all {
		if within(&all[i]) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]transcript.Record, 0, n)
	for i := range all {
		if within(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

func compact(v any) string { return wjson.Compact(v) }

func clipText(s string, n int) string { return cut.Head(s, n) }
