// Package steps is the part of the suite that every protocol shares: the World of a scenario, expectations over its
// transcript, judging, and the godog suite. The steps of each protocol sit in a subpackage.
package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/driver"
	"parley/internal/stall"
	"parley/model"
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
	Brain   *model.Brain // nil: no model that we control stands behind the target
	Strict  bool
	Redact  *transcript.Redactor

	// RefusalIsAll is set once an HTTP refusal was followed by no event for the whole event limit: from then on a target is
	// given only the quiet window for one.
	RefusalIsAll atomic.Bool

	// Learnt is what the scenarios have found out about the target that the others go by too, under keys of the protocol's own.
	Learnt sync.Map

	patience patience
}

// World is one scenario's: its connections, its transcript, its judgements. Steps use it from one goroutine.
type World struct {
	Env    *Env
	Target target.Running
	T      *transcript.Transcript
	Nonce  string // unique in the run; every directive and fence of the scenario carries it
	Tags   []string

	tags     map[string]bool // clauses that the scenario may judge
	judged   map[string]judgement
	failures []Failure
	notes    []string
	warnings []string // about security
	evidence []Evidence
	parties  map[string]driver.Conn
	atEnd    []func()
	serial   int
	reached  Reach
	whole    bool // every step was carried out
	cut      bool // the scenario was cut off: what is missing from now on says nothing
}

// NewWorld makes the world of one scenario. decode fills the protocol's view of each record.
func NewWorld(env *Env, run target.Running, nonce string, tags []string, decode func(*transcript.Record)) *World {
	w := &World{Env: env, Target: run, Nonce: nonce, Tags: tags, T: transcript.New(decode),
		tags: map[string]bool{}, judged: map[string]judgement{}, parties: map[string]driver.Conn{}}
	for _, t := range tags {
		if id := strings.TrimPrefix(t, "@"); IsClause(id) {
			w.tags[id] = true
		}
	}
	return w
}

// IsClause tells whether a tag (without @) has the form of a clause id.
func IsClause(tag string) bool {
	if len(tag) < 6 || tag[2] != '-' {
		return false
	}
	split := tag[6:] // of a clause that was split: AS-042a
	return strings.Trim(tag[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.Trim(tag[3:6], "0123456789") == "" &&
		len(split) <= 1 && strings.Trim(split, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Judges tells whether the scenario is tagged with a clause.
func (w *World) Judges(id string) bool { return w.tags[id] }

// HasTag tells whether the scenario bears a tag, "@" included.
func (w *World) HasTag(tag string) bool {
	for _, t := range w.Tags {
		if t == tag {
			return true
		}
	}
	return false
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
	limited, cancel := stall.WithLimit(ctx, w.Env.Profile.Limits.Open.Duration)
	defer cancel()
	o.MaxEvent = int(w.Env.Profile.Limits.MaxEvent)
	c, err := w.Env.Driver.Open(limited, o, w.T.Append)
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

// Whole tells, to what runs at the scenario's end, whether every step was carried out: what was to be absent counts only with
// all the rest, which shows that the target would have done it.
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
	Conn   string        // party on whose connection it is expected
	After  int           // the mark: the number of the record that causes it
	Within time.Duration // 0: Env.Event; what is less is a millisecond
	Match  func(*transcript.Record) bool
	// Hopeless tells that the record can no longer come. What it returns is the reason; "" means go on. The end of
	// the connection is hopeless in any case.
	Hopeless func(*transcript.Record) string
}

// Miss tells that an awaited record did not come, and what came instead.
type Miss struct {
	Reason string
	At     int // the record that ended the wait; 0 when time did
}

func (m *Miss) Error() string { return m.Reason }

var errLimit = errors.New("limit")

// Await waits for a record, event-driven. A *Miss says why it did not come.
func (w *World) Await(ctx context.Context, e Wait) (transcript.Record, *Miss) {
	if e.Within == 0 {
		e.Within = w.Env.Event()
	}
	e.Within = max(e.Within, time.Millisecond) // of a deadline that is over nothing is left
	began := time.Now()
	ctx, cancel := stall.WithLimitCause(ctx, e.Within, errLimit)
	defer cancel()
	var miss *Miss
	rec, err := w.T.Await(ctx, e.After, func(r *transcript.Record) bool {
		if r.Conn != e.Conn || r.Late {
			return false
		}
		if e.Match(r) {
			return true
		}
		if r.Dir == transcript.Received && r.Kind == transcript.Closed {
			miss = &Miss{Reason: r.Label, At: r.N}
			return true
		}
		if e.Hopeless != nil {
			if why := e.Hopeless(r); why != "" {
				miss = &Miss{Reason: why, At: r.N}
				return true
			}
		}
		return false
	})
	if miss == nil && (err == nil || errors.Is(err, errLimit)) {
		w.Env.patience.waited(e.Within, time.Since(began), err == nil)
	}
	switch {
	case miss != nil:
		return transcript.Record{}, miss
	case errors.Is(err, errLimit):
		return transcript.Record{}, &Miss{Reason: "nothing of the kind within " + Span(e.Within)}
	case err != nil: // the run was interrupted, or the scenario has no time left: nothing is the target's fault any more
		w.cut = true
		return transcript.Record{}, &Miss{Reason: "the scenario was cut off: " + err.Error()}
	}
	return rec, nil
}

// Between returns the received records of a party, but for those that came after we had closed its connection, with numbers above after and below before (0: no upper bound).
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

func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
