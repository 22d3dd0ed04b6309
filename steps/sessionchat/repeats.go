package sessionchat

import (
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// repeats finds duplicate messages whose legality the document leaves open: it neither defines pongs and errors
// (SC-G02, SC-G03) nor says how often the SDK sends the same message. Copies of the model's words and of the end of a
// turn break SC-020, which the monitors judge.
type repeats struct {
	env   *steps.Env
	conns map[string]*counted
}

// counted has the messages of one connection.
type counted struct {
	pings, pongs int
	quiet        bool                         // nothing was sent since the last pong
	last         map[string]transcript.Record // by agent_id, until a message is sent
	streamed     map[string]bool              // whether pieces of the current turn came, by agent_id
	interrupts   int                          // that no error or result has answered
}

// note examines a record, and marks pongs without a ping. It must be called for all records in order.
func (s *repeats) note(r *transcript.Record) {
	c := s.conns[r.Conn]
	if c == nil || r.Kind == transcript.Open && r.Dir == transcript.Sent {
		c = &counted{last: map[string]transcript.Record{}, streamed: map[string]bool{}}
		s.conns[r.Conn] = c
	}
	switch {
	case r.Event == nil || r.Late:
	case r.Dir == transcript.Sent:
		c.sent(r)
	case r.Dir == transcript.Received && c.repeats(r):
		r.Event.Again = true
		s.env.CameAgain(r.Event.Type, steps.Seen(*r))
	}
}

func (c *counted) sent(r *transcript.Record) {
	c.quiet = false
	switch agent := text(r, inAgent); r.Event.Type {
	case vocab.PingType:
		c.pings++
	case vocab.InterruptType:
		c.interrupts++
		delete(c.last, agent)
	case vocab.ChatType:
		c.streamed[agent] = false
		delete(c.last, agent)
	default:
		delete(c.last, agent)
	}
	delete(c.last, "") // an error without an agent_id may answer any message
}

// repeats reports whether a message is a copy that breaks no clause: an extra pong if every ping has its own, or a
// message that equals the previous one of its session, if nothing was sent between the two.
func (c *counted) repeats(r *transcript.Record) bool {
	agent := text(r, inAgent)
	was, followed := c.last[agent]
	switch r.Event.Type {
	case vocab.PongMessage:
		again := c.quiet && c.pongs >= c.pings
		c.pongs, c.quiet = c.pongs+1, true
		return again
	case vocab.StreamMessage:
		c.streamed[agent] = true
	}
	c.last[agent] = *r
	asked := c.answered(r.Event.Type)
	if !followed || was.Event.Type != r.Event.Type || !wjson.Equal(member(&was, inMessage), member(r, inMessage)) {
		return false
	}
	same := wjson.Equal(was.Event.Timestamp, r.Event.Timestamp)
	if r.Event.Type == vocab.AssistantMessage {
		return !same && !c.streamed[agent] // the others break SC-020
	}
	return r.Event.Type == vocab.SystemMessage || r.Event.Type == vocab.ErrorMessage && !asked
}

// answered reports whether a message may answer an interrupt, each of which may get an equal error of its own.
func (c *counted) answered(kind string) bool {
	if c.interrupts == 0 || kind != vocab.ErrorMessage && kind != vocab.ResultMessage {
		return false
	}
	c.interrupts--
	return true
}
