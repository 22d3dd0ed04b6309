package agent

import (
	"errors"
	"testing"
	"time"

	"parley/reference-server/externalagent/wire"
)

// world is a Machine, a host, and a simulated clock. All messages between the two pass through JSON.
type world struct {
	t      testing.TB
	m      *Machine
	host   *host
	now    time.Duration
	timers map[Timer]time.Duration
	queue  []Event
	open   bool
	dials  int
	frames int // frames passed so far, both ways
	told   int // messages sent by the host
	sent   []Message
	rules  rulebook

	refuse  func(dial int) bool                // whether to refuse a dial
	cut     func(frame int) (lost, cut bool)   // whether a frame is lost, and whether the connection is cut there
	deliver func(nth int, msg Message) []Event // replaces the nth message of the host
	lenient bool                               // ignore broken rules

	finish *Finish
}

// book runs an agent against a host until it finishes or no event is left.
func book(t testing.TB, h *host, o Options, with ...func(*world)) *world {
	t.Helper()
	w := newWorld(t, h, o, with...)
	w.run(10 * time.Minute)
	return w
}

func newWorld(t testing.TB, h *host, o Options, with ...func(*world)) *world {
	o.URL = "ws://relay.test/agent/ws"
	w := &world{t: t, m: NewMachine(o), host: h, timers: map[Timer]time.Duration{}, queue: []Event{Started{}}}
	w.rules = rulebook{ids: map[string]bool{}}
	for _, f := range with {
		f(w)
	}
	return w
}

// run advances the world by the given simulated time.
func (w *world) run(long time.Duration) {
	w.t.Helper()
	until := w.now + long
	for range 100_000 {
		if w.finish != nil {
			return
		}
		if len(w.queue) > 0 {
			e := w.queue[0]
			w.queue = w.queue[1:]
			w.happen(e)
			continue
		}
		next := Timer("")
		for name, at := range w.timers {
			if next == "" || at < w.timers[next] || at == w.timers[next] && name < next {
				next = name
			}
		}
		if next == "" || w.timers[next] > until {
			w.now = until
			return
		}
		w.now = w.timers[next]
		delete(w.timers, next)
		w.happen(Fired{next})
	}
	w.t.Fatal("the agent goes round in circles")
}

func (w *world) happen(e Event) {
	if r, received := e.(Received); received {
		w.frames++
		lost, cut := w.cutting()
		if !lost {
			w.rules.arrived(r.Message)
			w.act(w.m.OnEvent(e))
		}
		if cut {
			w.breakOff()
		}
		return
	}
	w.act(w.m.OnEvent(e))
}

func (w *world) act(actions []Action) {
	w.t.Helper()
	for _, a := range actions {
		switch a := a.(type) {
		case Dial:
			w.dial()
		case Send:
			w.send(a.Message)
		case Drop:
			w.open, w.queue = false, nil
		case Arm:
			w.timers[a.Timer] = w.now + a.After
		case Disarm:
			delete(w.timers, a.Timer)
		case Finish:
			w.finish = &a
		}
	}
}

func (w *world) dial() {
	w.dials++
	if w.refuse != nil && w.refuse(w.dials) {
		w.queue = append(w.queue, Disconnected{errors.New("refused")})
		return
	}
	w.open = true
	w.rules.connected()
	w.queue = append(w.queue, Connected{})
}

func (w *world) send(msg Message) {
	w.t.Helper()
	if !w.open {
		return
	}
	msg = w.throughJSON(msg)
	w.sent = append(w.sent, msg)
	if problem := w.rules.sent(msg); problem != "" && !w.lenient {
		w.t.Fatalf("%s: %s", problem, canonicalText(msg))
	}
	w.frames++
	lost, cut := w.cutting()
	if !lost {
		for _, answer := range w.host.handle(msg) {
			w.enqueue(w.throughJSON(answer))
		}
	}
	if cut {
		w.breakOff()
	}
}

// enqueue delivers a message of the host.
func (w *world) enqueue(msg Message) {
	w.told++
	if w.deliver == nil {
		w.queue = append(w.queue, Received{msg})
		return
	}
	w.queue = append(w.queue, w.deliver(w.told, msg)...)
}

func (w *world) cutting() (lost, cut bool) {
	if w.cut == nil || !w.open {
		return false, false
	}
	return w.cut(w.frames)
}

func (w *world) breakOff() {
	if w.open {
		w.open, w.queue = false, []Event{Disconnected{errors.New("cut")}}
	}
}

func (w *world) throughJSON(msg Message) Message {
	w.t.Helper()
	data := wire.Encode(msg)
	again, err := decodeObject(data)
	if err != nil {
		w.t.Fatal(err)
	}
	return again
}

// wantBooked fails the test unless the agent has booked.
func (w *world) wantBooked() Outcome {
	w.t.Helper()
	if w.finish == nil {
		w.t.Fatalf("the agent has not finished after %v; it sent %.2000s", w.now, canonicalText(w.sent))
	}
	if o := w.finish.Outcome; w.finish.Err != nil || !o.Booked || !o.Ended || o.Reason == "" {
		w.t.Fatalf("finished with %+v, %v; the host was called %.2000q", o, w.finish.Err, w.host.calls)
	}
	return w.finish.Outcome
}

// types returns the types of the sent messages.
func (w *world) types() (types []string) {
	for _, msg := range w.sent {
		types = append(types, msg.Type())
	}
	return types
}
