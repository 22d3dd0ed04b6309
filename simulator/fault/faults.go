package fault

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/simulator/gate"
	"parley/simulator/script"
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
	set    *Set
	typeOf func([]byte) string

	mu    sync.Mutex
	links map[context.Context]*link // by network connection, which has one stream or socket at a time
	http  []int                     // the number of requests, answers and opens that each fault is for
	fired []Fired
	held  int
	doubt string // left by faults of the present message
	tell  func(conn, text string)
}

// Notify has tell called, from any goroutine, with a text for people each time that a fault fires. It must not call x,
// and is set before the first message.
func (x *Faults) Notify(tell func(conn, text string)) { x.tell = tell }

// fires counts a fault that has happened to a message. The caller holds x.mu.
func (x *Faults) fires(i int, in script.Message, from gate.Side) {
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
	r := &x.set.rules[i]
	x.tell(in.Party, fmt.Sprintf("%s of %s from the %v: the fault %q of line %d", r.do, what, from, r.name, r.line))
}

// link is an open stream or socket.
type link struct {
	conn string
	to   [2]direction // by who sends
}

// direction is the state of a direction.
type direction struct {
	met   map[int]int // the number of messages that each fault is for
	mute  bool
	slow  *rule
	late  []late         // by reorder
	burst []gate.Message // that are held
	want  int            // of burst; 0: no burst is gathered
}

// late is a message that is sent after a number of others.
type late struct {
	m    gate.Message
	left int
}

// New returns the faults of a file, with all counts at zero. typeOf returns the type of a message in the protocol; ""
// if it has none: an event then has the type of its event line. nil: no message has one.
func New(s *Set, typeOf func(body []byte) string) *Faults {
	if typeOf == nil {
		typeOf = func([]byte) string { return "" }
	}
	x := &Faults{set: s, typeOf: typeOf, links: map[context.Context]*link{}, http: make([]int, len(s.rules))}
	for _, r := range s.rules {
		x.fired = append(x.fired, Fired{Name: r.name, Line: r.line})
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
	d, delay, doubt := x.decide(ctx, m)
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

func (x *Faults) decide(ctx context.Context, m gate.Message) (d gate.Decision, delay time.Duration, doubt string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.doubt = ""
	in := script.Message{Party: m.Conn, Kind: "message", Method: m.Method, Path: m.Path, Body: m.Body}
	switch m.Kind {
	case transcript.Stream, transcript.Frame:
		d, delay = x.message(ctx, in, m)
		return d, delay, x.doubt
	case transcript.Request, transcript.Response:
		in.Kind = "request"
	case transcript.Open:
		in.Kind = "open"
	default:
		return gate.Decision{}, 0, ""
	}
	d, delay = x.exchange(in, m)
	return d, delay, x.doubt
}

// happens counts a change by a fault. The caller holds x.mu.
func (x *Faults) happens(i int, in script.Message, from gate.Side) {
	x.fires(i, in, from)
	x.doubts(i)
}

// doubts remembers that a fault leaves a doubt. The caller holds x.mu.
func (x *Faults) doubts(i int) {
	if r := &x.set.rules[i]; kinds[r.do].doubt && x.doubt == "" {
		x.doubt = "the fault " + strconv.Quote(r.name) + " (" + r.do + ")"
	}
}

// typed returns a message with its type.
func (x *Faults) typed(in script.Message, m gate.Message) script.Message {
	if in.Type = x.typeOf(m.Body); in.Type == "" && m.Event != "message" {
		in.Type = m.Event
	}
	return in
}

// meets reports whether a fault is for a message and due; n counts the messages that the fault is for.
func (x *Faults) meets(i int, in script.Message, m gate.Message, count func() int) (due bool, draw *rand.Rand) {
	r := &x.set.rules[i]
	if r.connection != "" && r.connection != m.Conn || !slices.Contains(r.from, m.From) || !r.match.Holds(in) {
		return false, nil
	}
	n := count()
	x.fired[i].Met++
	if !r.due(n) {
		return false, nil
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.Itoa(i) + "\x00" + m.Conn + "\x00" + m.From.String() + "\x00" + strconv.Itoa(n)))
	draw = rand.New(rand.NewPCG(x.set.seed, h.Sum64()))
	return r.chance >= 1 || draw.Float64() < r.chance, draw
}

// exchange decides on a request, an answer or an open.
func (x *Faults) exchange(in script.Message, m gate.Message) (d gate.Decision, delay time.Duration) {
	in = x.typed(in, m)
	in.Party = m.Conn
	body, header := m.Body, http.Header(nil)
	changed := false
	for i := range x.set.rules {
		due, draw := x.meets(i, in, gate.Message{Conn: m.Conn, From: m.From}, func() int { x.http[i]++; return x.http[i] })
		if !due {
			continue
		}
		r, ok := &x.set.rules[i], true
		switch r.do {
		case "drop":
			ok = !d.Drop && d.End == nil
			d.Drop = true
		case "reset":
			reset := driver.Reset
			ok = !d.Drop && d.End == nil
			d.End = &reset
		case "delay":
			delay += r.delay
		case "content-type":
			if ok = m.Status != http.StatusSwitchingProtocols && m.Header.Get("Content-Type") != r.text; ok {
				header, changed = http.Header{"Content-Type": {r.text}}, true
			}
		default:
			if body, ok = edited(r, body, draw); ok {
				changed = true
			}
		}
		if ok {
			x.happens(i, in, m.From)
		}
	}
	if changed && d.End == nil {
		d.With = []gate.Message{{Header: header, Body: body}}
	}
	return d, delay
}

// edited returns content that a fault has changed; ok is false if it has not.
func edited(r *rule, body []byte, draw *rand.Rand) (out []byte, ok bool) {
	switch r.do {
	case "corrupt":
		if out, ok = r.change.drawn(draw).apply(body); ok {
			return out, true
		}
	case "truncate":
		return body[:min(r.n, len(body))], r.n < len(body)
	case "bom":
		return append([]byte(byteOrderMark), body...), true
	}
	return body, false
}

// linkOf returns the state of a connection. The caller holds x.mu.
func (x *Faults) linkOf(ctx context.Context, conn string) *link {
	l := x.links[ctx]
	if l == nil {
		context.AfterFunc(ctx, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.forget(x.links[ctx])
			delete(x.links, ctx)
		})
	}
	if l == nil || l.conn != conn {
		x.forget(l)
		l = &link{conn: conn, to: [2]direction{{met: map[int]int{}}, {met: map[int]int{}}}}
		x.links[ctx] = l
	}
	return l
}

// forget releases what is held of a connection.
func (x *Faults) forget(l *link) {
	if l == nil {
		return
	}
	for i := range l.to {
		for _, w := range l.to[i].late {
			x.held -= len(w.m.Body)
		}
		for _, m := range l.to[i].burst {
			x.held -= len(m.Body)
		}
	}
}

// hold reports whether a message may be held back.
func (x *Faults) hold(m gate.Message) bool {
	if x.held+len(m.Body) > maxHeld {
		return false
	}
	x.held += len(m.Body)
	return true
}

// message decides on an event or WebSocket message.
func (x *Faults) message(ctx context.Context, in script.Message, m gate.Message) (gate.Decision, time.Duration) {
	var d gate.Decision
	var delay time.Duration
	to := &x.linkOf(ctx, m.Conn).to[m.From]
	switch {
	case to.mute:
		return gate.Decision{Drop: true}, 0
	case to.want > 0:
		return x.gather(to, m), 0
	}
	in = x.typed(in, m)
	var fates, wires []int
	edits := false
	for i := range x.set.rules {
		due, draw := x.meets(i, in, m, func() int { to.met[i]++; return to.met[i] })
		if !due {
			continue
		}
		r, ok := &x.set.rules[i], false
		switch {
		case r.do == "delay":
			delay, ok = delay+r.delay, true
		case kinds[r.do].wire, r.do == "bom" && m.Kind == transcript.Stream:
			wires = append(wires, i)
		case r.do == "corrupt", r.do == "truncate", r.do == "bom":
			m.Body, ok = edited(r, m.Body, draw)
			edits = edits || ok
		default:
			fates = append(fates, i)
		}
		if ok {
			x.happens(i, in, m.From)
		}
	}
	if edits {
		d.With = []gate.Message{m}
	}
	waiting := len(to.late)
	// the first fault that can be carried out, and the first one of the bytes if anything is written
	first(fates, func(i int) bool { return x.carry(i, to, in, m, &d) })
	if ended := len(d.With) > 0 && d.With[0].Kind == transcript.Closed; !d.Drop && !ended {
		first(wires, func(i int) bool { return x.rewrite(i, to, in, m, &d) })
	}
	x.overtaken(to, m, waiting, &d)
	if to.slow != nil && d.Wire == nil && !d.Drop {
		slow := wire(to.slow, m)
		d.Wire = func(raw []byte) iter.Seq[gate.Piece] { all, _ := slow(raw); return all }
	}
	return d, delay
}

// first calls do for each fault until one is carried out.
func first(all []int, do func(i int) bool) {
	for _, i := range all {
		if do(i) {
			return
		}
	}
}

// gather holds a message of a burst, or sends the whole burst at once.
func (x *Faults) gather(to *direction, m gate.Message) gate.Decision {
	fits := x.hold(m)
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

// overtaken appends the late messages that enough others have overtaken. It does not append them to a message that is
// rewritten, because they would be rewritten as well.
func (x *Faults) overtaken(to *direction, m gate.Message, waiting int, d *gate.Decision) {
	var rest []late
	for i, w := range to.late {
		if i < waiting {
			w.left--
		}
		if w.left > 0 || d.Wire != nil {
			rest = append(rest, w)
			continue
		}
		x.held -= len(w.m.Body)
		switch {
		case d.Drop:
			d.Drop, d.With = false, []gate.Message{w.m}
		case d.With == nil:
			d.With = []gate.Message{m, w.m}
		default:
			d.With = append(d.With, w.m)
		}
	}
	to.late = rest
}

// carry carries out a fault, and reports whether that is possible. The caller holds x.mu.
func (x *Faults) carry(i int, to *direction, in script.Message, m gate.Message, d *gate.Decision) bool {
	r := &x.set.rules[i]
	switch r.do {
	case "drop":
		d.Drop = true
	case "silence":
		to.mute, d.Drop = true, true
	case "duplicate":
		d.With = []gate.Message{m}
		for range min(r.n, max(1, maxCopies/max(1, len(m.Body)))) {
			d.With = append(d.With, m)
		}
	case "reorder":
		if !x.hold(m) {
			return false
		}
		to.late = append(to.late, late{m, r.n})
		d.Drop = true
	case "burst":
		if !x.hold(m) {
			return false
		}
		to.burst, to.want, d.Drop = []gate.Message{m}, r.n, true
	case "close":
		d.With = []gate.Message{{Kind: transcript.Closed, Status: r.n}}
	case "fin":
		d.Drop, d.Fin = true, true
	case "reset":
		reset := driver.Reset
		d.Drop, d.End = true, &reset
	}
	x.fires(i, in, m.From)
	return true
}

// rewrite changes how a message is written, counts the fault when that happens, and reports whether it is possible. The
// caller holds x.mu.
func (x *Faults) rewrite(i int, to *direction, in script.Message, m gate.Message, d *gate.Decision) bool {
	r := &x.set.rules[i]
	how := wire(r, m)
	if how == nil || r.do == "slow" && to.slow != nil {
		return false
	}
	if r.do == "slow" {
		to.slow = r
	}
	x.doubts(i) // whether it changes anything is known only when it is written
	d.Cut = r.do == "cut" || r.do == "half-close"
	var once sync.Once
	d.Wire = func(raw []byte) iter.Seq[gate.Piece] {
		all, changed := how(raw)
		if changed {
			once.Do(func() {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.fires(i, in, m.From)
			})
		}
		return all
	}
	return true
}
