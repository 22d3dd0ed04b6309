package externalagent

import (
	"context"
	"sync"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// patience is the limit for the harness's own host, which answers from a goroutine: a longer wait is a failure.
const patience = time.Minute

// carrier is a relay and the driver to it: it delivers a party's message to the others before Send returns.
type carrier struct {
	target.Running
	slow int           // number of messages delivered to a host after it has left unnoticed
	each time.Duration // taken for each message of a party, one after the other
	// bad changes what reaches a party because of a message from another party or, for answers of the relay, from itself;
	// nil changes nothing.
	bad func(from, to *carried, asked *transcript.Record, body []byte) [][]byte

	mu    sync.Mutex
	conns []*carried
}

type carried struct {
	of            *carrier
	party         string
	role, session string
	asked         map[string]bool // ids of its requests
	sink          driver.Sink
	open          bool
	unnoticed     int       // number of messages still delivered after its end
	due           time.Time // when its last message will have been carried
}

func (p *carrier) BaseURL() string { return "http://h" }

// Stderr implements target.Running.
func (p *carrier) Stderr() string { return "" }
func (p *carrier) Name() string   { return target.WS }

func (p *carrier) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &carried{of: p, party: o.Party, sink: sink, open: true, asked: map[string]bool{}}
	p.conns = append(p.conns, c)
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open, Status: 101})
	return c, nil
}

// Restart implements target.Running.
func (p *carrier) Restart(context.Context, bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.hangUp()
	}
	p.conns = nil
	return nil
}

func (c *carried) hangUp() {
	if c.open {
		c.open, c.unnoticed = false, c.of.slow
		c.sink(transcript.Record{Conn: c.party, Dir: transcript.Received, Kind: transcript.Closed,
			Label: "closed by the target", Status: 1001})
	}
}

func (c *carried) Close(driver.CloseMode) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.open {
		c.open, c.unnoticed = false, c.of.slow
	}
	return nil
}

func (c *carried) Send(_ context.Context, m driver.Message) (int, error) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.open {
		return 0, driver.ErrClosed
	}
	r := transcript.Record{Conn: c.party, Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Label: m.Label,
		Bytes: m.Body}
	n := c.sink(r)
	decode(&r)
	if c.of.each == 0 {
		c.carry(&r)
		return n, nil
	}
	if now := time.Now(); c.due.Before(now) {
		c.due = now
	}
	c.due = c.due.Add(c.of.each)
	time.AfterFunc(time.Until(c.due), func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.carry(&r)
	})
	return n, nil
}

// carry passes a message on or answers it.
func (c *carried) carry(r *transcript.Record) {
	id, answered := field(r, vocab.ID), field(r, vocab.ReplyTo)
	fail := func(code string) {
		c.hear(c, r, mustEncode(envelope(vocab.ErrorMessage, "", id, object{"code": code, "message": "m"})))
	}
	join := kindOf(r) == vocab.RelayJoin
	switch {
	case r.Event == nil, join && (payload(r) == nil || field(r, vocab.V) != vocab.Version):
		fail(vocab.InvalidMessage)
		return
	case join:
		c.role, _ = payload(r)[vocab.Role].(string)
		c.session, _ = payload(r)[vocab.SessionID].(string)
		c.hear(c, r, mustEncode(envelope(vocab.RelayJoined, "", id, object{"role": c.role, vocab.SessionID: c.session})))
		return
	case c.session == "":
		fail(vocab.SessionNotActive)
		return
	}
	c.asked[id] = true
	var host *carried
	for _, other := range c.of.conns {
		if other.session == c.session && other.role == vocab.HostRole && other.unnoticed > 0 {
			other.unnoticed--
			return
		}
		if other.session != c.session || !other.open {
			continue
		}
		if other.role == vocab.HostRole {
			host = other
		} else if c.role == vocab.HostRole && (answered == "" || other.asked[answered]) {
			other.hear(c, r, r.Bytes)
		}
	}
	switch {
	case c.role == vocab.HostRole:
	case host == nil:
		fail(vocab.SessionNotActive)
	default:
		host.hear(c, r, r.Bytes)
	}
}

// hear delivers a message to a party.
func (c *carried) hear(from *carried, asked *transcript.Record, body []byte) {
	bodies := [][]byte{body}
	if c.of.bad != nil {
		bodies = c.of.bad(from, c, asked, body)
	}
	for _, b := range bodies {
		if c.open {
			c.sink(transcript.Record{Conn: c.party, Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: b})
		}
	}
}
