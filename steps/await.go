package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Wait describes an awaited record.
type Wait struct {
	Conn  string // party on whose connection it is expected
	After int    // number of the record that causes it; 0: no act was made, and nothing is owed
	// Greeting says that the opening of the connection causes it, and After is the last record before that.
	Greeting bool
	// Within is how long it may take; 0: Env.Event. The minimum is a millisecond. Limits that the profile does not set
	// may be shortened (wait_limits.go).
	Within time.Duration
	Kind   string // short name of what is awaited; "": the text of the step
	Family string // name of what waits of several kinds have in common; "": nothing. See wait_limits.go
	// Proof says that it only serves as proof: if it does not come, something is not tested, and nothing fails.
	Proof bool
	// Better says that an answer has come, which is judged if no better one does.
	Better bool
	Match  func(*transcript.Record) bool
	// Hopeless returns the reason why the record can no longer come; "" to continue. The end of the connection always ends
	// the wait.
	Hopeless func(*transcript.Record) string
	// Piece, if not nil, matches pieces of an answer whose whole, or whose end, is awaited. If they still arrive when the
	// limit runs out, the limit is too short for the target, and nothing is owed.
	Piece func(*transcript.Record) bool
	// Fence, if not nil, sends a request whose answer comes after the awaited record, and returns a matcher for that
	// answer; nil if it cannot. It is called once, after a short first wait. wait_limits.go says when the answer ends the
	// wait.
	Fence func(context.Context) (answer func(*transcript.Record) bool)
	// Sent, if not nil, returns when the request was sent that the matched record answers; zero: when the wait began.
	Sent func() time.Time
}

var errLimit = errors.New("limit")

// Await blocks until a record matches. A *Miss says why none came.
func (w *World) Await(ctx context.Context, e Wait) (transcript.Record, *verdict.Miss) {
	if w.gateway.Load() != nil && w.isCut() {
		return transcript.Record{}, &verdict.Miss{Reason: w.cutBy()}
	}
	if miss := w.whyNothingOwed(e); miss != nil {
		return transcript.Record{}, miss
	}
	ctx, seen := w.untilSevered(ctx)
	defer seen()
	a := w.newAwaiting(ctx, e)
	ctx, cancel := deadline.WithLimitCause(ctx, a.within, errLimit)
	defer cancel()
	goesOn := w.Idles()
	awaited := Awaited{e.Conn, a.kind, max(e.After, 0), a.began, a.within}
	ended, waited := w.Env.Waits.begin(w, awaited), w.progress.startWaiting(awaited)
	rec, err := a.awaitRecord(ctx)
	waited()
	ended()
	goesOn()
	took := a.elapsed()
	if a.miss == nil && (err == nil || a.closed || errors.Is(err, errLimit)) && !w.isDisturbed() {
		w.Env.patience.recordWait(finishedWait{kind: a.kind, family: a.Family, limit: a.limit, took: took,
			whole: a.within == a.limit && !a.closed, came: err == nil, fenced: a.answered > 0})
	}
	switch {
	case err != nil && w.isSevered():
		return transcript.Record{}, &verdict.Miss{Reason: errSevered.Error()}
	case a.miss != nil:
		return transcript.Record{}, a.miss
	case errors.Is(err, transcript.ErrFull), (a.closed || errors.Is(err, errLimit)) && w.T.Overflow() > 0:
		// it may have come after the transcript was full
		w.cut, w.why = true, moreThanHeld
		return transcript.Record{}, &verdict.Miss{Reason: w.why}
	case errors.Is(err, errLimit) && a.endedInFlood():
		w.cut, w.why = true, fmt.Sprintf("the target was still sending when the time was up, after %d messages (%d kB): "+
			"it may have sent this one as well", a.came, a.bytes/1000)
		return transcript.Record{}, &verdict.Miss{Reason: w.why}
	case errors.Is(err, errLimit) && a.inPieces():
		w.cut, w.why = true, fmt.Sprintf("pieces were still arriving when the limit ran out, %d within %s; raise limits.turn",
			a.pieces, Span(a.within))
		return transcript.Record{}, NotOwed("%s", w.why)
	case a.closed:
		return transcript.Record{}, &verdict.Miss{Reason: fmt.Sprintf(
			"no such message before the answer to a later request, in record %d", a.answered)}
	case errors.Is(err, errLimit):
		w.late++
		return transcript.Record{}, &verdict.Miss{Late: true, Reason: "no such message within " + Span(a.within) +
			w.describeUnflushed(e.Conn) + w.quoteSilentStderr(e.Conn, e.After)}
	case err != nil: // interrupted or out of time: from now on nothing is the target's fault
		w.cut = true
		return transcript.Record{}, NotOwed("the scenario was cut off: %v", err)
	}
	w.Env.tookFor(took, a.limit)
	return rec, nil
}

const moreThanHeld = "the target sent more than a transcript holds: later records are unknown"

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
	pieces        int                           // records that matched Piece
	piece         time.Time                     // when the last of them was looked at
	held          time.Duration                 // the time for which requests were held back meanwhile
	miss          *verdict.Miss
}

func (w *World) newAwaiting(ctx context.Context, e Wait) *awaiting {
	if e.Within == 0 {
		e.Within = w.Env.Event()
	}
	e.Within = max(e.Within, time.Millisecond) // the time may be up already
	a := &awaiting{Wait: e, w: w, kind: kindOf(ctx, e), limit: e.Within, began: time.Now(), clock: deadline.In(e.Within),
		seen: e.After}
	a.within = a.currentLimit()
	return a
}

// currentLimit returns how long to wait by what is known now.
func (a *awaiting) currentLimit() time.Duration {
	within := min(a.w.Limit(a.limit), a.w.Env.waitLimit(a.kind, a.limit, a.Proof || a.Better))
	if a.Better {
		return min(within, a.w.BetterWithin(a.limit))
	}
	return within
}

// elapsed returns how long the target has taken so far, without stalls of the harness, which do not count against
// limits.
func (a *awaiting) elapsed() time.Duration {
	if a.Sent != nil {
		if at := a.Sent(); !at.IsZero() {
			return time.Since(at)
		}
	}
	return max(a.limit-a.clock.Left()-a.held, 0)
}

// awaitRecord waits for the record, and sends the fence meanwhile.
func (a *awaiting) awaitRecord(ctx context.Context) (transcript.Record, error) {
	if a.Fence == nil || a.within <= margin {
		return a.waitWholeLimit(ctx, a.matchRecord)
	}
	rec, err := a.waitStage(ctx, a.w.Env.patience.fenceDelay(a.kind), a.matchRecord)
	if !errors.Is(err, errStage) {
		return rec, err
	}
	if a.answer = a.Fence(ctx); a.answer == nil {
		return a.waitWholeLimit(ctx, a.matchRecord)
	}
	rec, err = a.waitWholeLimit(ctx, func(r *transcript.Record) bool { return a.matchRecord(r) || a.isAnswer(r) })
	if err != nil || rec.N != a.answered {
		return rec, err
	}
	least, ok := a.w.Env.patience.fenceEndsWait(a.kind, a.Family)
	if !ok {
		return a.waitWholeLimit(ctx, a.matchRecord)
	}
	rec, err = a.waitStage(ctx, least-time.Since(a.began), a.matchRecord)
	a.closed = errors.Is(err, errStage)
	return rec, err
}

var errStage = errors.New("stage")

// waitStage waits for at most a stage of the wait, after which the error is errStage.
func (a *awaiting) waitStage(ctx context.Context, stage time.Duration,
	match func(*transcript.Record) bool) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimitCause(ctx, stage, errStage)
	defer cancel()
	return a.scanRecords(ctx, match)
}

// scanRecords continues after the last record looked at.
func (a *awaiting) scanRecords(ctx context.Context, match func(*transcript.Record) bool) (transcript.Record, error) {
	return a.w.T.AwaitKept(ctx, a.seen, func(r *transcript.Record) bool {
		a.seen = r.N
		if a.w.Watch != nil && r.N > a.w.watched {
			a.w.watched = r.N
			a.w.Watch(r)
		}
		if a.gatewayEnds(ctx, r) {
			return true
		}
		if r.Conn != a.Conn || r.Late {
			return false
		}
		if r.Dir == transcript.Received && r.Kind != transcript.Answered { // which belongs to a request
			a.came, a.bytes, a.last = a.came+1, a.bytes+len(r.Bytes)+r.Cut, time.Now()
		}
		if a.Piece != nil && a.Piece(r) {
			a.pieces, a.piece = a.pieces+1, time.Now()
		}
		return match(r)
	})
}

// inPieces reports whether a wait has ended between pieces of the answer: of what came last, more was to come.
func (a *awaiting) inPieces() bool {
	return a.pieces > 1 && time.Since(a.piece) < a.within/4
}

// From so many messages, or bytes of them, during a wait it is unknown, while more are coming, whether the target has
// sent the awaited one: reading them takes time.
const (
	flood      = 1000
	floodBytes = 4 << 20
)

// endedInFlood reports whether a wait has ended in the middle of a flood.
func (a *awaiting) endedInFlood() bool {
	return (a.came >= flood || a.bytes >= floodBytes) && time.Since(a.last) < a.within/4
}

// waitWholeLimit waits for the whole limit, unless other waits meanwhile learn that a shorter one will do.
func (a *awaiting) waitWholeLimit(ctx context.Context, match func(*transcript.Record) bool) (transcript.Record, error) {
	for stage := a.limit / hurry; a.within == a.limit && a.limit >= shortest; stage = a.limit / (hurry * slower) {
		rec, err := a.waitStage(ctx, stage, match)
		if !errors.Is(err, errStage) {
			return rec, err
		}
		if part, gone := a.currentLimit(), time.Since(a.began); part < a.limit && part <= gone {
			a.within = gone.Round(time.Millisecond)
			return transcript.Record{}, errLimit
		}
	}
	return a.scanRecords(ctx, match)
}

// matchRecord matches what ends the wait: the awaited record, or one that rules it out.
func (a *awaiting) matchRecord(r *transcript.Record) bool {
	if a.Match(r) {
		return true
	}
	if r.Kind == transcript.Failure && strings.HasPrefix(r.Label, driver.ResetTwice) {
		a.w.cut, a.w.why = true, r.Label // it is unknown whether the target received the request
	}
	if r.Dir == transcript.Received && r.Kind == transcript.Closed {
		a.miss = &verdict.Miss{Reason: describeEnding(*r), At: r.N}
	} else if end := a.endedBefore(r); end != nil {
		a.miss = &verdict.Miss{Reason: describeEnding(*end), At: end.N}
	} else if a.Hopeless != nil {
		if why := a.Hopeless(r); why != "" {
			a.miss = &verdict.Miss{Reason: why, At: r.N}
		}
	}
	return a.miss != nil
}

// endedBefore returns the end of the connection on which the frame that causes the wait could not be sent, as r says;
// nil if r says something else, or the end is still to come.
func (a *awaiting) endedBefore(r *transcript.Record) *transcript.Record {
	if r.Kind != transcript.Failure || a.After <= 0 || r.Reply != a.After {
		return nil
	}
	if sent := a.w.T.After(a.After - 1); sent[0].Kind != transcript.Frame { // a request may have been received
		return nil
	}
	var end *transcript.Record
	for _, earlier := range a.w.Between(a.Conn, 0, a.After) {
		switch earlier.Kind {
		case transcript.Closed:
			end = &earlier
		case transcript.Open:
			end = nil
		}
	}
	return end
}

func (a *awaiting) isAnswer(r *transcript.Record) bool {
	if a.answer(r) {
		a.answered = r.N
	}
	return a.answered > 0
}

// Only an act can be answered: a step judges only what was sent in its scenario and reached the target. Whatever else
// it expects is not tested at once, and the reason names the act that is missing. This file has the rule; acts are
// known by the numbers of their records (Wait.After), by connections that did not open, and by what earlier steps have
// left behind (StepsAfter).

// NotOwed returns the Miss of a step that expects something which no act has asked for.
func NotOwed(format string, args ...any) *verdict.Miss {
	return &verdict.Miss{NotOwed: true, Reason: fmt.Sprintf(format, args...)}
}

// AsksForModel is in the reason of a miss that the target's own model may cause. Such a reason says what to look at.
const AsksForModel = "has it a model?"

// whyNothingOwed returns why nothing is owed that would end a wait; nil if something may be.
func (w *World) whyNothingOwed(e Wait) *verdict.Miss {
	if err := w.unopened[e.Conn]; err != nil {
		return NotOwed("%s could not connect: %v", e.Conn, err)
	}
	if e.After <= 0 && !e.Greeting {
		return NotOwed("nothing was sent that it would answer")
	}
	return nil
}

// notOwedError wraps the error of an opening that says nothing about the target.
type notOwedError struct{ error }

func (e *notOwedError) Unwrap() error { return e.error }

// openedWith records how an opening ended, and returns its error.
func (w *World) openedWith(o driver.OpenOptions, err error, interrupted bool) error {
	if err == nil {
		w.connects = true
		delete(w.unopened, o.Party)
		return nil
	}
	if w.unopened == nil {
		w.unopened = map[string]error{}
	}
	w.unopened[o.Party] = err
	// What no preflight has tried may be the wrong address, until a connection shows that it is right.
	if interrupted || w.live && !w.connects {
		return &notOwedError{err}
	}
	return err
}

// isOwed reports whether a check judges anything: it saw something, or waited for what an act had asked for.
func isOwed(c verdict.Finding) bool { return c.OK || c.Miss == nil || !c.Miss.NotOwed }

// unowedError returns the error of a step with a check of what is not owed; nil if every check judges.
func unowedError(checks []verdict.Finding) error {
	i := slices.IndexFunc(checks, func(c verdict.Finding) bool { return !isOwed(c) })
	if i < 0 {
		return nil
	}
	return &NotTestedError{Reason: checks[i].Miss.Reason}
}

// StepsAfter registers steps that need what earlier steps leave behind, such as a session. missing returns the error
// that says what is missing, mostly a *NotTestedError, and nil if nothing is: then the steps are executed.
func StepsAfter(sc *godog.ScenarioContext, missing func() error, register func()) {
	h, ok := holding.Load(sc)
	if !ok {
		register()
		return
	}
	all := h.(*handlerTable)
	outer := all.missing
	all.missing = func() error {
		if outer != nil {
			if err := outer(); err != nil {
				return err
			}
		}
		return missing()
	}
	register()
	all.missing = outer
}

// Span renders a duration for a finding: in milliseconds below one second, otherwise in seconds, with at most three
// digits. A negative duration counts as zero.
func Span(d time.Duration) string {
	d = max(d, 0)
	if d < 999500*time.Microsecond {
		return formatDigits(float64(d)/1e6) + "ms"
	}
	return formatDigits(d.Seconds()) + "s"
}

// formatDigits renders a number with three digits, or with all digits before its point if these are more.
func formatDigits(n float64) string {
	if n >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
