// Package fault carries out files of faults at a gate: which message of which connection is delayed, lost, doubled,
// changed, cut off or sent in pieces. Package faultrule reads the files, and decides which fault is for which message.
package fault

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/faultrule"
	"parley/internal/script"
	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Bounds of the memory that faults use.
const (
	maxHeld   = 64 << 20 // bytes that reorder and burst hold back in all connections; further messages pass
	maxCopies = 64 << 20 // bytes of the copies of one message
)

// Faults carries out a file of faults at one or more gates. It is safe for concurrent use. The state of a connection is
// discarded when the connection ends.
type Faults struct {
	set    *faultrule.Set
	rules  []*faultrule.Rule
	typeOf func([]byte) string

	mu    sync.Mutex
	links map[context.Context]*link // by network connection, which has one stream or socket at a time
	http  faultrule.State           // of requests, answers and opens
	fired []Fired
	held  int
	doubt string // left by faults of the present message
	tell  func(conn, text string)
}

// Notify has tell called, from any goroutine, with a text for people each time that a fault fires. It must not call x,
// and is set before the first message.
func (x *Faults) Notify(tell func(conn, text string)) { x.tell = tell }

// countFault counts a fault that has happened to a message. The caller holds x.mu.
func (x *Faults) countFault(i int, in script.Message, from gate.Side) {
	x.fired[i].Fired++
	if x.tell == nil {
		return
	}
	what := in.Type
	switch {
	case in.Kind != "message":
		what = strings.TrimSpace(in.Method + " " + in.Path + " " + in.Type)
	case what == "":
		what = "a message"
	}
	r := x.rules[i]
	x.tell(in.Party, fmt.Sprintf("%s of %s from the %v: the fault %q of line %d", r.Do, what, from, r.Name, r.Line))
}

// link is an open stream or socket.
type link struct {
	conn string
	met  faultrule.State
	to   [2]direction // by who sends
}

// direction is the state of a direction.
type direction struct {
	mute  bool
	slow  *faultrule.Rule
	late  faultrule.Late[gate.Message] // by reorder and behind
	burst []gate.Message               // that are held
	want  int                          // of burst; 0: no burst is gathered
}

// Fired says what a fault has done.
type Fired struct {
	Name  string `json:"name"`
	Line  int    `json:"line"`  // its line in the file
	Met   int    `json:"met"`   // number of messages that match its on, connection, from and after
	Fired int    `json:"fired"` // number of messages that it has changed, held back or followed by an end
}

// New returns the faults of a file, with all counts at zero. typeOf returns the type of a message in the protocol; ""
// if it has none: an event then has the type of its event line. nil: no message has one.
func New(s *faultrule.Set, typeOf func(body []byte) string) *Faults {
	if typeOf == nil {
		typeOf = func([]byte) string { return "" }
	}
	x := &Faults{set: s, rules: s.Rules(), typeOf: typeOf, links: map[context.Context]*link{}}
	for _, r := range x.rules {
		x.fired = append(x.fired, Fired{Name: r.Name, Line: r.Line})
	}
	return x
}

// Fired reports what each fault has done, in the order of the file.
func (x *Faults) Fired() []Fired {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.fired)
}

// Handle decides at a gate: it is a gate.Handler.
func (x *Faults) Handle(ctx context.Context, m gate.Message) gate.Decision {
	d, _ := x.Decide(ctx, m)
	return d
}

// Decide decides as Handle does. doubt says why the records of the receiver's end do not show how it treats the
// message; "" if they do, for instance when the message is lost, late or doubled.
func (x *Faults) Decide(ctx context.Context, m gate.Message) (d gate.Decision, doubt string) {
	d, delay, doubt := x.decideNow(ctx, m)
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return d, doubt
}

func (x *Faults) decideNow(ctx context.Context, m gate.Message) (d gate.Decision, delay time.Duration, doubt string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.doubt = ""
	in := script.Message{Party: m.Conn, Kind: "message", Method: m.Method, Path: m.Path, Body: m.Body}
	switch m.Kind {
	case transcript.Stream, transcript.Frame:
		d, delay = x.decideMessage(ctx, in, m)
		return d, delay, x.doubt
	case transcript.Request, transcript.Response:
		in.Kind = "request"
	case transcript.Open:
		in.Kind = "open"
	default:
		return gate.Decision{}, 0, ""
	}
	d, delay = x.decideExchange(in, m)
	return d, delay, x.doubt
}

// countChange counts a change by a fault. The caller holds x.mu.
func (x *Faults) countChange(i int, in script.Message, from gate.Side) {
	x.countFault(i, in, from)
	x.noteDoubt(i)
}

// noteDoubt remembers that a fault leaves a doubt. The caller holds x.mu.
func (x *Faults) noteDoubt(i int) {
	if r := x.rules[i]; r.Doubt() && x.doubt == "" {
		x.doubt = "the fault " + strconv.Quote(r.Name) + " (" + r.Do + ")"
	}
}

// withType returns a message with its type.
func (x *Faults) withType(in script.Message, m gate.Message) script.Message {
	if in.Type = x.typeOf(m.Body); in.Type == "" && m.Event != "message" {
		in.Type = m.Event
	}
	return in
}

// dueFaults returns the faults that are for a message and due, and counts the others as well.
func (x *Faults) dueFaults(st *faultrule.State, in script.Message, from gate.Side) (due []faultrule.Hit) {
	for _, h := range x.set.MatchAndCount(st, faultrule.Message{Message: in, From: faultrule.Side(from)}) {
		if x.fired[h.I].Met++; h.Due {
			due = append(due, h)
		}
	}
	return due
}

// decideExchange decides on a request, an answer or an open.
func (x *Faults) decideExchange(in script.Message, m gate.Message) (d gate.Decision, delay time.Duration) {
	in = x.withType(in, m)
	in.Party = m.Conn
	now, header := faultrule.Content{Body: m.Body}, http.Header(nil)
	changed, status := false, 0
	for _, h := range x.dueFaults(&x.http, in, m.From) {
		ok := true
		switch h.Do {
		case "drop":
			ok = !d.Drop && d.End == nil
			d.Drop = true
		case "reset":
			reset := driver.Reset
			ok = !d.Drop && d.End == nil
			d.End = &reset
		case "delay":
			delay += h.Delay
		case "content-type":
			if ok = m.Status != http.StatusSwitchingProtocols && m.Header.Get("Content-Type") != h.Text; ok {
				header, changed = http.Header{"Content-Type": {h.Text}}, true
			}
		case "status":
			if ok = m.Status != h.N; ok {
				status, changed = h.N, true
			}
		default:
			if now, ok = h.Edit(now, x.typeOf); ok {
				changed = true
			}
		}
		if ok {
			x.countChange(h.I, in, m.From)
		}
	}
	if changed && d.End == nil {
		d.With = []gate.Message{{Status: status, Header: header, Body: now.Body}}
	}
	return d, delay
}

// linkOf returns the state of a connection. The caller holds x.mu.
func (x *Faults) linkOf(ctx context.Context, conn string) *link {
	l := x.links[ctx]
	if l == nil {
		context.AfterFunc(ctx, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.releaseLink(x.links[ctx])
			delete(x.links, ctx)
		})
	}
	if l == nil || l.conn != conn {
		x.releaseLink(l)
		l = &link{conn: conn}
		x.links[ctx] = l
	}
	return l
}

// releaseLink releases what is held of a connection.
func (x *Faults) releaseLink(l *link) {
	if l == nil {
		return
	}
	for i := range l.to {
		for _, m := range append(l.to[i].late.All(), l.to[i].burst...) {
			x.held -= len(m.Body)
		}
	}
}

// mayHold reports whether a message may be held back.
func (x *Faults) mayHold(m gate.Message) bool {
	if x.held+len(m.Body) > maxHeld {
		return false
	}
	x.held += len(m.Body)
	return true
}

// decideMessage decides on an event or WebSocket message.
func (x *Faults) decideMessage(ctx context.Context, in script.Message, m gate.Message) (gate.Decision, time.Duration) {
	var d gate.Decision
	var delay time.Duration
	l := x.linkOf(ctx, m.Conn)
	to := &l.to[m.From]
	switch {
	case to.mute:
		return gate.Decision{Drop: true}, 0
	case to.want > 0:
		return x.gatherBurst(to, m), 0
	}
	in = x.withType(in, m)
	var fates, wires []int
	edits := false
	for _, h := range x.dueFaults(&l.met, in, m.From) {
		ok := false
		switch {
		case h.Do == "delay":
			delay, ok = delay+h.Delay, true
		case h.Wire(), h.Do == "bom" && m.Kind == transcript.Stream:
			wires = append(wires, h.I)
		case h.Edits():
			var now faultrule.Content
			now, ok = h.Edit(faultrule.Content{Body: m.Body, Event: m.Event}, x.typeOf)
			m.Body, m.Event, edits = now.Body, now.Event, edits || ok
		default:
			fates = append(fates, h.I)
		}
		if ok {
			x.countChange(h.I, in, m.From)
		}
	}
	if edits {
		d.With = []gate.Message{m}
	}
	waiting := to.late.Len()
	// the first fault that can be carried out, and the first one of the bytes if anything is written
	tryInOrder(fates, func(i int) bool { return x.applyFault(i, to, in, m, &d) })
	if ended := len(d.With) > 0 && d.With[0].Kind == transcript.Closed; !d.Drop && !ended {
		tryInOrder(wires, func(i int) bool { return x.rewriteBytes(i, to, in, m, &d) })
	}
	x.appendOvertaken(to, in, m, waiting, &d)
	if to.slow != nil && d.Wire == nil && !d.Drop {
		slow := bytesWriter(to.slow, m)
		d.Wire = func(raw []byte) iter.Seq[gate.Piece] { all, _ := slow(raw); return all }
	}
	return d, delay
}

// tryInOrder calls do for each fault until one is carried out.
func tryInOrder(all []int, do func(i int) bool) {
	for _, i := range all {
		if do(i) {
			return
		}
	}
}

// gatherBurst holds a message of a burst, or sends the whole burst at once.
func (x *Faults) gatherBurst(to *direction, m gate.Message) gate.Decision {
	fits := x.mayHold(m)
	if to.burst = append(to.burst, m); fits && len(to.burst) < to.want {
		return gate.Decision{Drop: true}
	}
	d := gate.Decision{With: to.burst}
	for i, w := range to.burst {
		if fits || i < len(to.burst)-1 {
			x.held -= len(w.Body)
		}
	}
	to.burst, to.want = nil, 0
	return d
}

// appendOvertaken appends the late messages that enough others have overtaken. It does not append them to a message
// that is rewritten, because they would be rewritten as well.
func (x *Faults) appendOvertaken(to *direction, in script.Message, m gate.Message, waiting int, d *gate.Decision) {
	for _, w := range to.late.Overtaken(waiting, in, d.Wire == nil) {
		x.held -= len(w.Body)
		switch {
		case d.Drop:
			d.Drop, d.With = false, []gate.Message{w}
		case d.With == nil:
			d.With = []gate.Message{m, w}
		default:
			d.With = append(d.With, w)
		}
	}
}

// applyFault carries out a fault, and reports whether that is possible. The caller holds x.mu.
func (x *Faults) applyFault(i int, to *direction, in script.Message, m gate.Message, d *gate.Decision) bool {
	r := x.rules[i]
	switch r.Do {
	case "drop":
		d.Drop = true
	case "silence":
		to.mute, d.Drop = true, true
	case "duplicate":
		d.With = []gate.Message{m}
		for range min(r.N, max(1, maxCopies/max(1, len(m.Body)))) {
			d.With = append(d.With, m)
		}
	case "reorder", "behind":
		if !x.mayHold(m) {
			return false
		}
		to.late.Hold(m, in, r)
		d.Drop = true
	case "burst":
		if !x.mayHold(m) {
			return false
		}
		to.burst, to.want, d.Drop = []gate.Message{m}, r.N, true
	case "close":
		d.With = []gate.Message{{Kind: transcript.Closed, Status: r.N}}
	case "fin":
		d.Drop, d.Fin = true, true
	case "reset":
		reset := driver.Reset
		d.Drop, d.End = true, &reset
	}
	x.countFault(i, in, m.From)
	return true
}

// rewriteBytes changes how a message is written, counts the fault when that happens, and reports whether it is
// possible. The caller holds x.mu.
func (x *Faults) rewriteBytes(i int, to *direction, in script.Message, m gate.Message, d *gate.Decision) bool {
	r := x.rules[i]
	how := bytesWriter(r, m)
	if how == nil || r.Do == "slow" && to.slow != nil {
		return false
	}
	if r.Do == "slow" {
		to.slow = r
	}
	x.noteDoubt(i) // whether it changes anything is known only when it is written
	d.Cut = r.Do == "cut" || r.Do == "half-close"
	var once sync.Once
	d.Wire = func(raw []byte) iter.Seq[gate.Piece] {
		all, changed := how(raw)
		if changed {
			once.Do(func() {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.countFault(i, in, m.From)
			})
		}
		return all
	}
	return true
}
