package counterpart

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

// Held is a message to the program, or from it (Options.Between), that waits for a decision.
type Held struct {
	N            int    // identifies it within the play, from 1
	Party        string // the connection it is for; "" for an HTTP answer
	Type         string // in the protocol; "" if it has none
	What         string // for people: "message", "answer to POST /message", "message to the server", "POST /message"
	Latest       string // of a WebSocket: type of the program's latest message on it; "" if there is none, or Between
	Body         []byte // the answer of the bundled target
	Since, Until time.Time
}

// Decision says what happens to a held message. The zero value sends it as it is.
type Decision struct {
	Drop    bool
	Instead [][]byte      // sent instead of it, in order; nil: the message itself
	After   time.Duration // how long it is delayed from now; later messages of its connection wait
}

// held is a Held with the channel of its decision.
type held struct {
	Held
	decided chan Decision // of capacity 1
}

// maxDelay bounds Decision.After.
const maxDelay = time.Hour

// Held returns the held messages, oldest first.
func (p *Play) Held() []Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Held, len(p.held))
	for i, h := range p.held {
		out[i] = h.Held
	}
	return out
}

// NotHeldError says that no message with a number is held: it was decided on, or its time or connection has ended.
type NotHeldError struct{ N int }

func (e *NotHeldError) Error() string {
	return fmt.Sprintf("message %d is not held (any more): it was decided on, or its time or connection ended", e.N)
}

// Decide decides on a held message. The error is a *NotHeldError, or says what is wrong with the decision.
func (p *Play) Decide(n int, d Decision) error {
	switch {
	case d.After < 0 || d.After > maxDelay:
		return fmt.Errorf("a delay is between 0 and %v, and not %v", maxDelay, d.After)
	case d.Drop && len(d.Instead) > 0:
		return fmt.Errorf("message %d can be dropped, or others sent in its place, not both", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.held, func(h *held) bool { return h.N == n })
	if i < 0 {
		return &NotHeldError{n}
	}
	p.decideHeld(i, d)
	return nil
}

// decideHeld releases the i-th held message with a decision. The caller holds p.mu.
func (p *Play) decideHeld(i int, d Decision) {
	p.held[i].decided <- d
	p.held = slices.Delete(p.held, i, i+1)
	p.wakeWaiters()
}

// sendUnasked sends on the held messages whose mind is no longer Ask.
func (p *Play) sendUnasked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.held) - 1; i >= 0; i-- {
		if p.mindOf(p.held[i].Type) != Ask {
			p.decideHeld(i, Decision{})
		}
	}
}

// dropHeld drops all held messages.
func (p *Play) dropHeld() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.held) > 0 {
		p.decideHeld(0, Decision{Drop: true})
	}
}

// holdMessage waits for a decision on a message to the program.
func (p *Play) holdMessage(ctx context.Context, m gate.Message, typ string) gate.Decision {
	now := time.Now()
	h := &held{decided: make(chan Decision, 1), Held: Held{Party: m.Conn, Type: typ, What: "message", Body: m.Body,
		Since: now, Until: now.Add(p.o.HoldFor)}}
	switch {
	case m.Kind == transcript.Response:
		h.What = "answer to " + m.Method + " " + m.Path
	case m.Kind == transcript.Request:
		h.What = m.Method + " " + m.Path
	case m.From == p.programSide():
		h.What = "message to the server"
	case m.Kind == transcript.Frame && !p.o.Between: // between, the direction is what tells messages apart
		h.Latest = p.latestType(m.Conn)
	}
	p.mu.Lock()
	full := len(p.held) >= MaxHeld || p.closed
	if !full {
		p.serial++
		h.N = p.serial
		p.held = append(p.held, h)
		p.wakeWaiters()
	}
	p.mu.Unlock()
	if full {
		p.t.Remark(m.Conn, "%d messages are held already: %s is sent on", MaxHeld, messageName(typ, h.What))
		return gate.Decision{}
	}
	timer := time.NewTimer(p.o.HoldFor)
	defer timer.Stop()
	select {
	case d := <-h.decided:
		return p.applyDecision(ctx, m, d)
	case <-timer.C:
		if p.removeHeld(h) {
			p.t.Remark(m.Conn, "nobody has decided on %s within %v: it is sent on", messageName(typ, h.What),
				p.o.HoldFor)
			return gate.Decision{}
		}
		return p.applyDecision(ctx, m, <-h.decided)
	case <-m.Gone:
		return p.dropMoot(m, h)
	case <-ctx.Done():
		return p.dropMoot(m, h)
	}
}

// lookedAt is the number of records among which the program's latest message is sought.
const lookedAt = 1000

// latestType returns the type of the program's latest frame on a connection; "" if there is none.
func (p *Play) latestType(conn string) string {
	for _, r := range slices.Backward(p.t.After(max(0, p.t.Len()-lookedAt))) {
		if r.Conn == conn && r.Dir == transcript.Received && r.Kind == transcript.Frame {
			if typ := p.o.TypeOf(r.Bytes); typ != "" {
				return typ
			}
		}
	}
	return ""
}

// dropMoot drops a held message whose receiver has left.
func (p *Play) dropMoot(m gate.Message, h *held) gate.Decision {
	if p.removeHeld(h) && p.ctx.Err() == nil {
		p.t.Remark(m.Conn, "the %v has left before anybody decided on %s: it is dropped", m.From.Other(),
			messageName(h.Type, h.What))
	}
	return gate.Decision{Drop: true}
}

// removeHeld removes a message from the list; false if it was decided on meanwhile.
func (p *Play) removeHeld(h *held) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.held, h)
	if i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
		p.wakeWaiters()
	}
	return i >= 0
}

// applyDecision carries out a decision.
func (p *Play) applyDecision(ctx context.Context, m gate.Message, d Decision) gate.Decision {
	if d.After > 0 {
		timer := time.NewTimer(d.After)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-m.Gone:
			return gate.Decision{Drop: true}
		case <-ctx.Done():
			return gate.Decision{Drop: true}
		}
	}
	if d.Drop {
		return gate.Decision{Drop: true}
	}
	out := gate.Decision{}
	for _, body := range d.Instead {
		with := m
		with.Body = body
		if m.Kind == transcript.Request { // its head stays unchanged
			with.Method, with.Path, with.Header = "", "", nil
		}
		out.With = append(out.With, with)
	}
	return out
}

// messageName names a message for people.
func messageName(typ, what string) string {
	if typ == "" {
		return "a " + what
	}
	return what + " " + typ
}
