// Package server is the reference server of ticket-desk, with its faults (mutants.go). It shares no code with package
// desk, which judges it: shared code would hide a shared misunderstanding.
package server

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Event is a message from the server.
type Event map[string]any

// Message is a message from a client.
type Message struct {
	Type    string `json:"type"`
	Ref     string `json:"ref"`
	Ticket  string `json:"ticket"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Consent bool   `json:"consent"`
	Yes     bool   `json:"yes"`
}

// rules are the decisions of the desk; faults replace them one by one.
type rules struct {
	clientID func(n int) string
	ticketID func(owner *client, n int) string
	number   func(last int) int
	owns     func(c *client, t *ticket) bool
	busy     func(t *ticket) bool
	closed   func(t *ticket) bool
	hear     func(c *client, m Message) (Message, bool) // false: the message is ignored
	say      func(ev Event) []Event                     // what is sent instead of an event
	watchers func(owner *client, all map[string]*client) []*client
}

func correct() rules {
	return rules{
		clientID: func(n int) string { return fmt.Sprintf("client-%d", n) },
		ticketID: func(_ *client, n int) string { return fmt.Sprintf("ticket-%d", n) },
		number:   func(last int) int { return last + 1 },
		owns:     func(c *client, t *ticket) bool { return t.owner == c },
		busy:     func(t *ticket) bool { return t.pending != nil },
		closed:   func(t *ticket) bool { return t.closed },
		hear:     func(_ *client, m Message) (Message, bool) { return m, true },
		say:      func(ev Event) []Event { return []Event{ev} },
		watchers: func(owner *client, _ map[string]*client) []*client { return []*client{owner} },
	}
}

// client is one connection.
type client struct {
	id   string
	seq  int
	out  chan []byte // events, encoded
	gone chan struct{}
}

// ticket is one conversation. pending is the message whose answer waits for consent.
type ticket struct {
	id, ref string
	owner   *client
	said    []string
	pending *Message
	closed  bool
}

// desk holds all clients and tickets. It handles one message at a time.
type desk struct {
	rules
	mu      sync.Mutex
	clients map[string]*client
	tickets map[string]*ticket
	n       int
	ending  chan struct{}
}

func newDesk(r rules) *desk {
	return &desk{rules: r, clients: map[string]*client{}, tickets: map[string]*ticket{}, ending: make(chan struct{})}
}

// connect adds a client and welcomes it.
func (d *desk) connect() *client {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	c := &client{id: d.clientID(d.n), out: make(chan []byte, 1024), gone: make(chan struct{})}
	d.clients[c.id] = c
	d.sendEvent(c, Event{"type": "welcome", "client": c.id, "note": "How can we help?"})
	return c
}

// leave removes a client.
func (d *desk) leave(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(c.gone)
	if d.clients[c.id] == c {
		delete(d.clients, c.id)
	}
}

func (d *desk) findClient(id string) *client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clients[id]
}

// sendEvent sends an event to a client.
func (d *desk) sendEvent(c *client, ev Event) {
	for _, one := range d.say(ev) {
		numbered := Event{}
		for k, v := range one {
			numbered[k] = v
		}
		c.seq = d.number(c.seq)
		numbered["seq"] = c.seq
		b, err := json.Marshal(numbered)
		if err != nil {
			panic(err) // cannot fail for maps of text, numbers and lists
		}
		select {
		case c.out <- b:
		case <-c.gone:
		default: // the client does not read
		}
	}
}

// sendTicketEvent sends an event about a ticket.
func (d *desk) sendTicketEvent(t *ticket, ref, kind string, rest Event) {
	ev := Event{"type": kind, "ticket": t.id, "ref": ref}
	for k, v := range rest {
		ev[k] = v
	}
	for _, c := range d.watchers(t.owner, d.clients) {
		d.sendEvent(c, ev)
	}
}

func (d *desk) sendRefusal(c *client, m Message, code, message string) {
	ev := Event{"type": "refused", "ref": m.Ref, "code": code, "message": message}
	if m.Ticket != "" {
		ev["ticket"] = m.Ticket
	}
	d.sendEvent(c, ev)
}

// handle processes a client's message.
func (d *desk) handle(c *client, body []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var m Message
	if json.Unmarshal(body, &m) != nil {
		m.Type = ""
	}
	m, heard := d.hear(c, m)
	if !heard {
		return
	}
	switch m.Type {
	case "ping":
		d.sendEvent(c, Event{"type": "pong", "ref": m.Ref})
	case "open":
		d.n++
		t := &ticket{id: d.ticketID(c, d.n), owner: c}
		d.tickets[t.id] = t
		d.sendTicketEvent(t, m.Ref, "ticket.opened", Event{"subject": m.Subject})
	case "say", "reply", "stop", "close", "history":
		d.inTicket(c, m)
	default:
		d.sendRefusal(c, m, "bad-message", "send a JSON object with a type that the document has")
	}
}

// inTicket processes a message about a ticket.
func (d *desk) inTicket(c *client, m Message) {
	t := d.tickets[m.Ticket]
	switch {
	case t == nil || !d.owns(c, t):
		d.sendRefusal(c, m, "unknown-ticket", "you have no such ticket")
	case d.closed(t):
		d.sendRefusal(c, m, "closed", "the ticket is closed; open another one")
	case m.Type == "say" && d.busy(t):
		d.sendRefusal(c, m, "busy", "the agent is not done yet")
	case m.Type == "say":
		d.beginAnswer(t, m)
	case m.Type == "reply" && t.pending != nil && m.Yes:
		d.sendAnswer(t)
	case m.Type == "reply" && t.pending != nil:
		d.endAnswer(t, "declined", "")
	case m.Type == "stop" && t.pending != nil:
		d.endAnswer(t, "stopped", "")
	case m.Type == "close":
		if t.pending != nil {
			d.endAnswer(t, "stopped", "")
		}
		t.closed = true
		d.sendTicketEvent(t, m.Ref, "ticket.closed", nil)
	case m.Type == "history":
		d.sendTicketEvent(t, m.Ref, "ticket.history", Event{"said": t.said})
	}
}

// beginAnswer makes the agent answer, or ask for consent first.
func (d *desk) beginAnswer(t *ticket, m Message) {
	t.said, t.pending = append(t.said, m.Text), &m
	d.sendTicketEvent(t, m.Ref, "agent.started", nil)
	if m.Consent {
		d.sendTicketEvent(t, m.Ref, "agent.asks", Event{"question": "May I?"})
		return
	}
	d.sendAnswer(t)
}

// sendAnswer sends the agent's answer, which is short.
func (d *desk) sendAnswer(t *ticket) {
	whole := ""
	for _, word := range []string{"You said: ", t.pending.Text} {
		whole += word
		d.sendTicketEvent(t, t.pending.Ref, "agent.piece", Event{"text": word})
	}
	d.endAnswer(t, "answered", whole)
}

func (d *desk) endAnswer(t *ticket, outcome, text string) {
	ref := t.pending.Ref
	t.pending = nil
	d.sendTicketEvent(t, ref, "agent.done", Event{"outcome": outcome, "text": text})
}
