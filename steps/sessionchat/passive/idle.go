package passive

import (
	"fmt"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// idler is a connection without a chat so far.
type idler struct {
	again bool // another connection has ended before
	pings int  // heartbeats without an answer
	other bool // something other than a heartbeat was sent
	asked bool // anything was sent
}

// idle judges the time before the first chat of each connection: no message may belong to a session. One that names an
// agent_id may belong to a client that was not observed.
func idle(v *traffic) {
	open := map[string]*idler{}
	ended := false
	v.each(func(b *table, r transcript.Record) {
		c := open[r.Conn]
		switch {
		case r.Kind == transcript.Open:
			open[r.Conn] = &idler{again: ended}
		case r.Kind == transcript.Closed:
			ended = true
			delete(open, r.Conn)
		case c == nil:
		case r.Dir == transcript.Sent && r.Event == nil && r.Kind == transcript.Frame:
			delete(open, r.Conn)
		case sent(r):
			c.sent(r)
		case !received(r):
		case member(r, vocab.AgentID) == nil && text(r, vocab.SessionID) != "":
			v.broken(r, "no message of a session, because nobody has chatted on this connection", c.clauses()...)
			delete(open, r.Conn)
		case c.answers(r):
			v.kept(r, c.clauses()...)
			delete(open, r.Conn)
		}
		if c != nil && sent(r) && c.other && !legal(r) {
			delete(open, r.Conn)
		}
	})
}

func (c *idler) sent(r transcript.Record) {
	c.asked = true
	if r.Event.Type == vocab.PingType {
		c.pings++
	} else {
		c.other = true
	}
}

// answers reports whether a message answers one that was sent: everything due before it has then come.
func (c *idler) answers(r transcript.Record) bool {
	return c.asked && (r.Event.Type == vocab.PongMessage || ofTurn[r.Event.Type])
}

func (c *idler) clauses() []string {
	out := []string{"SC-001", "SC-045"}
	if c.again {
		out = append(out, "SC-054")
	}
	if c.pings > 0 {
		out = append(out, "SC-002", "SC-055")
	}
	return out
}

// beats is the state of the heartbeats of a connection.
type beats struct {
	open  []transcript.Record // without a pong
	only  bool                // nothing but heartbeats was sent
	chats []transcript.Record // after the first open heartbeat
}

// pings judges heartbeats. A pong is missing once a chat sent after the heartbeat has been answered completely.
func pings(v *traffic) {
	conns := map[string]*beats{}
	missing := map[string]transcript.Record{}
	v.each(func(b *table, r transcript.Record) {
		c := conns[r.Conn]
		switch {
		case r.Kind == transcript.Open:
			conns[r.Conn] = &beats{only: true}
			delete(missing, r.Conn)
		case c == nil:
		case r.Kind == transcript.Closed:
			delete(conns, r.Conn)
		case r.Dir == transcript.Sent:
			c.client(r)
		case !received(r) || len(c.open) == 0:
		case r.Event.Type == vocab.PongMessage:
			v.kept(r, "SC-037", "SC-037a")
			c.open, c.chats = c.open[1:], nil
			delete(missing, r.Conn)
		case c.only && denies(r):
			v.broken(r, fmt.Sprintf("the heartbeat of record %d is not refused", c.open[0].N), "SC-037", "SC-037a")
			delete(conns, r.Conn)
		case r.Event.Type == vocab.ResultMessage && c.caused(r) && b.mine(r) != nil && !b.mine(r).overlaps:
			missing[r.Conn] = r
		}
	})
	for conn, r := range missing {
		if c := conns[conn]; c != nil {
			v.broken(r, fmt.Sprintf("a pong to the heartbeat of record %d", c.open[0].N), "SC-037a")
		}
	}
}

func (c *beats) client(r transcript.Record) {
	switch {
	case r.Event == nil:
		c.only = c.only && r.Kind != transcript.Frame
	case r.Event.Type == vocab.PingType:
		// a ping with further members is not the document's
		if len(r.Event.Faults) == 0 && member(r, vocab.AgentID) == nil && r.Cut == 0 {
			c.open = append(c.open, r)
		}
	default:
		c.only = false
		if len(c.open) > 0 && legal(r) {
			c.chats = append(c.chats, r)
		}
	}
}

func (c *beats) caused(r transcript.Record) bool {
	for _, chat := range c.chats {
		if text(chat, vocab.AgentID) == text(r, vocab.AgentID) {
			return true
		}
	}
	return false
}

// incomplete judges the answer to a message that lacks a required member of a chat. It counts as refused only if a
// legal chat was answered on the connection.
func incomplete(v *traffic) {
	type attempt struct {
		record transcript.Record
		clause string
	}
	waiting := map[string]*attempt{}
	served := false
	v.each(func(b *table, r transcript.Record) {
		a := waiting[r.Conn]
		switch {
		case r.Kind == transcript.Closed:
			if a != nil && served && (r.Status == 1003 || r.Status == 1007 || r.Status == 1008) {
				v.kept(r, a.clause)
			}
			delete(waiting, r.Conn)
		case sent(r):
			delete(waiting, r.Conn) // with another message in progress, an answer may belong to that one
			if clause := lacking(r); clause != "" && b.opened[r.Conn] && b.quiet(r) {
				waiting[r.Conn] = &attempt{r, clause}
			}
		case !received(r):
		case a != nil && r.Event.Type == vocab.ErrorMessage:
			if served {
				v.kept(r, a.clause)
			}
			delete(waiting, r.Conn)
		case a != nil && ofTurn[r.Event.Type] && r.Event.Type != vocab.ResultMessage &&
			member(r, vocab.AgentID) == member(a.record, vocab.AgentID) && text(r, vocab.SessionID) != "":
			v.broken(r, fmt.Sprintf("no session created by record %d, which is not a complete chat", a.record.N), a.clause)
			delete(waiting, r.Conn)
		case r.Event.Type == vocab.ResultMessage && b.mine(r) != nil && text(r, vocab.Subtype) == vocab.Success:
			served = true
		}
	})
}

// lacking returns the clause about the missing member of a chat; "" if the message is complete, is not a chat, or lacks
// several members.
func lacking(r transcript.Record) string {
	if len(r.Event.Faults) > 0 || r.Cut > 0 {
		return ""
	}
	_, agent := member(r, vocab.AgentID).(string)
	_, content := member(r, vocab.Content).(string)
	chat := r.Event.Type == vocab.ChatType
	switch {
	case chat && agent && !content:
		return "SC-031"
	case chat && content && !agent:
		return "SC-030"
	case !chat && agent && content && r.Event.Type != vocab.InterruptType && r.Event.Type != vocab.PingType:
		return "SC-029"
	}
	return ""
}

// quiet reports whether a connection has no open turn, and no client has chatted under the agent_id of r.
func (b *table) quiet(r transcript.Record) bool {
	for k, s := range b.sessions {
		if k.agent == text(r, vocab.AgentID) || k.conn == r.Conn && len(s.chats) > 0 {
			return false
		}
	}
	return len(b.shared[text(r, vocab.AgentID)]) < 2 && b.strangers[text(r, vocab.AgentID)] == 0
}
