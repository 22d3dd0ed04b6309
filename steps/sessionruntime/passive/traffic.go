package passive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/invariants"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Bounds on the state kept of a session; older state is dropped and not judged.
const (
	mostSessions = 1000
	mostTurns    = 256
	mostDue      = 64
	mostIDs      = 2048
	mostOutputs  = 512
)

// patience is the time that an effect may take, even if later messages were handled meanwhile.
const patience = 30 * time.Second

// traffic is a partly judged transcript, with the findings.
type traffic struct {
	subject string
	out     []verdict.Finding
	shown   map[int]bool
	conns   map[string]*conn
}

// conn is a connection of the bus.
type conn struct {
	v        *traffic
	sessions map[string]*session
	order    []*session
	coming   map[string]*session // sessions being set up
	fences   map[string]int      // id → record that sent the fence
	blind    bool                // it carries undecodable messages
}

func (v *traffic) take(r transcript.Record) {
	if r.Late || r.Dir == transcript.Noted {
		return
	}
	c := v.conns[r.Conn]
	if c == nil || r.Kind == transcript.Open || r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		if c != nil {
			c.end()
		}
		c = &conn{v: v, sessions: map[string]*session{}, coming: map[string]*session{}, fences: map[string]int{}}
		v.conns[r.Conn] = c
	}
	if r.Kind != transcript.Frame {
		return
	}
	if r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 {
		c.blind = c.blind || r.Dir == transcript.Received || r.Cut > 0 || r.Event != nil
		return
	}
	if strings.HasPrefix(r.Event.Type, "parley") {
		c.control(r)
		return
	}
	m, ok := judge.Read(r)
	if !ok || c.blind {
		return
	}
	if s := c.session(m); s != nil && !s.mixed {
		s.take(m)
	}
}

// control handles a frame of the default binding that is not a message on the bus: set-up frames and fences.
func (c *conn) control(r transcript.Record) {
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[judge.ID].(string)
	name, _ := data[judge.Session].(string)
	switch r.Event.Type {
	case judge.SetupFrame:
		if old := c.sessions[name]; old != nil {
			old.close()
		}
		c.coming[name] = c.setUp(name, data)
	case judge.ReadyFrame:
		for n, s := range c.coming {
			if name == "" || n == name {
				c.add(s)
				delete(c.coming, n)
			}
		}
	case judge.FenceFrame:
		if c.fences[id] == 0 && len(c.fences) < mostIDs { // of two with one id, the first is answered first
			c.fences[id] = r.N
		}
	case judge.FencedFrame:
		if before := c.fences[id]; before > 0 {
			for _, s := range c.sessions {
				s.fenced(before, r.N)
			}
		}
		delete(c.fences, id)
	}
}

func (c *conn) setUp(name string, data map[string]any) *session {
	s := newSession(c.v, name)
	all, _ := data["agents"].([]any)
	for _, a := range all {
		s.agents[fmt.Sprint(a)] = true
	}
	s.listed = len(all) > 0
	if a, _ := data["active_agent_id"].(string); s.agents[a] {
		s.active, s.activeBy = a, bySetUp
	}
	limits, _ := data["limits"].(map[string]any)
	ms, _ := strconv.Atoi(fmt.Sprint(limits["cancel_ack_ms"]))
	s.ackLimit = time.Duration(ms) * time.Millisecond
	return s
}

func (c *conn) add(s *session) {
	if len(c.order) >= mostSessions {
		c.order[0].close()
		if c.sessions[c.order[0].id] == c.order[0] {
			delete(c.sessions, c.order[0].id)
		}
		c.order = c.order[1:]
	}
	for _, other := range c.v.conns { // its owner is unknown
		if o := other.sessions[s.id]; other != c && o != nil {
			o.mixed, s.mixed = true, true
		}
	}
	c.sessions[s.id] = s
	c.order = append(c.order, s)
}

// session returns the session of a message; nil if that is uncertain.
func (c *conn) session(m judge.Message) *session {
	if m.Session == "" && !m.Delivered {
		if len(c.sessions) != 1 {
			return nil
		}
		for _, s := range c.sessions {
			return s
		}
	}
	if c.coming[m.Session] != nil { // it may belong to the old or the new one
		c.coming[m.Session].lost = true
		return nil
	}
	s := c.sessions[m.Session]
	if s == nil {
		s = newSession(c.v, m.Session)
		c.add(s)
	}
	return s
}

func (c *conn) end() {
	for _, s := range c.sessions {
		s.close()
	}
	c.sessions, c.order, c.coming = map[string]*session{}, nil, map[string]*session{}
}

func describe(m judge.Message) string {
	return fmt.Sprintf("%s, turn_id %q: %s", m.Name(), m.Turn, cut.Head(wjson.Compact(m.Payload), 200))
}

func control(m judge.Message, subtypes ...string) bool {
	return m.Event == vocab.Control && slices.Contains(subtypes, m.Subtype)
}

// data returns a member of a decoded message that is a text.
func data(m judge.Message, name string) string { s, _ := m.Data[name].(string); return s }
