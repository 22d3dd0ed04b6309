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

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/llm"
	"parley/steps/obligation"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
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
	Person  *target.Lines // what a person types, for hooks that ask one; nil: nobody does

	// RefusalIsAll is set once no event has followed an HTTP refusal for the whole event limit. From then on, waits for
	// an event after a refusal last only the quiet window, unless the target has sent one before.
	RefusalIsAll atomic.Bool

	// Begun, if not nil, is called with the transcript of each scenario that begins. Set it only while no scenario runs.
	Begun func(*transcript.Transcript)

	// Waits, if not nil, is told what scenarios wait for.
	Waits *Waits

	// Keep, if not nil, lets transcripts exceed the bounds of a run: older records go to a file.
	Keep *transcript.Keep

	// Learnt holds what scenarios have found out about the target for others to use, under keys of the protocol's own.
	Learnt sync.Map

	patience waitHistory
	opened   connectionCounter
	strays   strayRecorder
	again    eventCounter
	astray   eventCounter

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

	// Model, if not nil, returns the model that the scenario's steps read, once it has taken every record so far.
	Model func() obligation.Model

	// Watch, if not nil, is called once for each record that a wait has passed, whatever its party.
	Watch   func(*transcript.Record)
	watched int // the last record shown to Watch

	// Severed, if not nil, is called at the cut of a scenario in which a connection is cut on purpose.
	Severed     Severed
	severing    *pendingCut     // nil: no connection is cut
	beside      bool            // other scenarios run at the same time
	again       bool            // it is judged again
	lender      Lender          // of its slot; nil: the slot is not lent
	turns       Lender          // of its held turns; nil: it has none, or they are not lent
	idle        atomic.Bool     // a wait is in progress
	tags        map[string]bool // clauses that the scenario may judge
	judged      map[string]verdict.Judgement
	failures    []Failure
	fresh       []Failure // those of the current step, one per group
	judging     []string  // clauses that the current step has judged
	judges      map[string][]verdict.Judge
	notes       []string
	warnings    []string // about security
	aboutTarget []string
	evidence    []Evidence
	parties     map[string]driver.Conn
	unopened    map[string]error // parties whose last connection did not open, with the error
	connects    bool             // a connection has opened
	live        bool             // it is a live session, before which no preflight has tried the target
	progress    *progress        // of the live session; nil: it is none
	owing       *Owing           // see Waits; nil before its first look
	atEnd       []func()
	step        StepRef    // that runs; the zero value before the first and after the last
	begun       []stepMark // of the steps so far
	serial      int
	reached     Reach
	late        int                        // waits that reached their limit
	whole       bool                       // every step was executed
	besides     explainedChecks            // failed checks that a fault explains
	cut         bool                       // the scenario was cut off: missing messages say nothing from then on
	why         string                     // why it was
	over        func() error               // returns an error once the scenario's time is up; may be nil
	skipped     map[string]bool            // clauses with a check that was skipped because the scenario was cut off
	jars        map[string]*httpclient.Jar // of parties
	gateway     atomic.Pointer[string]     // what a gateway answered in the target's place; nil: nothing
	doubt       *Doubt                     // see Doubt
	acted       []time.Time                // when acts began, each for those that follow it without a judgement
	acting      bool                       // the present step is an act
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

// NoteTarget adds an observation about the target as a whole: the report of a run shows it once, whichever scenarios
// have made it.
func (w *World) NoteTarget(format string, args ...any) {
	w.aboutTarget = append(w.aboutTarget, fmt.Sprintf(format, args...))
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

// AtEnd registers f to run after the scenario's steps, before its connections are closed. What it finds is found by the
// step that registers it.
func (w *World) AtEnd(f func()) {
	step := w.step
	w.atEnd = append(w.atEnd, func() {
		w.step = step
		f()
	})
}

// StepRef identifies a step of a scenario.
type StepRef struct {
	Number int    // from 1; 0: none
	Text   string // with its keyword: Then client A gets a pong
}

// stepMark is a step and the number of records before it.
type stepMark struct {
	StepRef
	before int
}

// noteStep notes that a step begins; the zero value ends the last one.
func (w *World) noteStep(step StepRef) {
	w.step = step
	w.begun = append(w.begun, stepMark{step, w.T.Len()})
}

// stepOf returns the step in which a record came; the zero value if it came in none.
func stepOf(begun []stepMark, record int) (step StepRef) {
	for _, b := range begun {
		if record > b.before {
			step = b.StepRef
		}
	}
	return step
}

// CutOff marks the scenario as unable to say more: missing messages are not the target's fault from now on.
func (w *World) CutOff() { w.cut = true }

// Open connects a party. NotOpened turns its error into a Miss.
func (w *World) Open(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, w.Env.Profile.Limits.Open.Duration)
	defer cancel()
	o.MaxEvent, o.Jar = int(w.Env.Profile.Limits.MaxEvent), w.Jar(o.Party)
	closed := w.Env.countConnection(o)
	c, err := w.openConn(limited, o)
	if err = w.openedWith(o, err, ctx.Err() != nil); err != nil {
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
		c = &countedConn{Conn: c, closed: closed}
	}
	w.parties[o.Party] = c
	return c, nil
}

// Jar returns the cookies of a party.
func (w *World) Jar(party string) *httpclient.Jar {
	if w.jars == nil {
		w.jars = map[string]*httpclient.Jar{}
	}
	if w.jars[party] == nil {
		w.jars[party] = httpclient.NewJar()
	}
	return w.jars[party]
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
	var notOwed *notOwedError
	return &verdict.Miss{Reason: err.Error(), Late: errors.As(err, &late), NotOwed: errors.As(err, &notOwed)}
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

// openPage is the least limit for opening a page beside the target's connections: the first one waits for the browser.
const openPage = 20 * time.Second

// OpenPage opens a page of the target in Env.Pages, beside the scenario's connections. Finish closes it. The limit is
// that of the profile, or 20s if that is longer.
func (w *World) OpenPage(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	if w.Env.Pages == nil {
		return nil, errors.New("there is no browser to open a page")
	}
	limited, cancel := deadline.WithLimit(ctx, max(w.Env.Profile.Limits.Open.Duration, openPage))
	defer cancel()
	o.MaxEvent = int(w.Env.Profile.Limits.MaxEvent)
	c, err := w.Env.Pages.Open(limited, o, w.T.Append)
	if err != nil {
		w.cut = w.cut || ctx.Err() != nil
		return nil, err
	}
	if old := w.parties[o.Party]; old != nil {
		_ = old.Close(driver.Reset)
	}
	w.parties[o.Party] = c
	return c, nil
}

// evidenceTime bounds the wait for the evidence of a page, beyond the limits of its scenario.
const evidenceTime = 5 * time.Second

// AttachPage keeps a picture of a page and its DOM with the scenario's result, if its connection offers them and it
// responds.
func (w *World) AttachPage(ctx context.Context, name string, c driver.Conn) {
	ctx, cancel := deadline.WithLimit(context.WithoutCancel(ctx),
		min(evidenceTime, w.Env.Profile.Limits.Open.Duration))
	defer cancel()
	page, ok := c.(driver.PageConn)
	if !ok {
		return
	}
	if png, err := page.Shot(ctx); err == nil {
		w.Attach("page-"+name+".png", "image/png", png)
	}
	if dom, err := page.DOM(ctx); err == nil {
		w.Attach("page-"+name+"-dom.txt", "text/html", []byte(dom)) // as text, so that it stays inert when opened
	}
}

// Blocked is the beginning of the label of a record of a page's request to another host, which was blocked.
const Blocked = "blocked "

// TellPageTrouble adds observations about what may explain the behaviour of the scenario's pages: each blocked request
// to another host, and each exception that no code has caught. They fail no clause. Key is the profile key that permits
// such requests.
func (w *World) TellPageTrouble(key string) {
	for _, r := range w.T.All() {
		switch what, blocked := strings.CutPrefix(r.Label, Blocked); {
		case blocked && r.Kind == transcript.Ask:
			w.NoteTarget("the page asks another host, which was blocked: %s (%s permits it)", what, key)
		case r.Kind == transcript.Console && r.Type == transcript.Exception:
			first, _, _ := strings.Cut(string(r.Bytes), "\n")
			w.NoteTarget(PageException+"%s", cut.Text(first, longestException))
		}
	}
}

// PageException is the beginning of an observation about an exception in a page.
const PageException = "an exception in the page: "

// longestException is how many bytes of an exception's first line are told.
const longestException = 200
