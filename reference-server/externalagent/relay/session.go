package relay

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// session is a relay session: a host, agents, and the requests between them. Its fields are guarded by Server.mu,
// except the gate. It lives as long as a party is in it or at its gate.
type session struct {
	key  string
	name string // sessionId of the join that created it

	// gate is held while an agent joins and during OnEmpty, so that the session does not change meanwhile.
	gate chan struct{}
	uses int // parties that hold the gate or wait for it

	host     *conn     // nil without one
	agents   []*conn   // in the order in which they joined
	requests []Request // unanswered, oldest first
	asked    bool      // OnAgent has been called since the last host left
	occupied bool      // an agent has joined since OnEmpty was called
}

// sessionOf returns the session of a key, creating it if there is room. The caller holds the lock.
func (s *Server) sessionOf(key, name string) (*session, *Refusal) {
	if ses := s.sessions[key]; ses != nil {
		return ses, nil
	}
	if len(s.sessions) >= s.o.Limits.Sessions {
		return nil, inactive("no room for another relay session: try again later")
	}
	ses := &session{key: key, name: name, gate: make(chan struct{}, 1)}
	s.sessions[key] = ses
	return ses, nil
}

// prune removes an empty session. The caller holds the lock.
func (s *Server) prune(ses *session) {
	if ses.host == nil && len(ses.agents) == 0 && ses.uses == 0 {
		delete(s.sessions, ses.key)
	}
}

// release releases the session and, if held, its gate.
func (s *Server) release(ses *session, held bool) {
	if held {
		<-ses.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.uses--
	s.prune(ses)
}

// note records a forwarded request, and drops the agent's oldest ones if there are too many.
func (ses *session) note(q Request, limits Limits) {
	ses.requests = append(ses.requests, q)
	count, bytes := 0, 0
	for i := len(ses.requests) - 1; i >= 0; i-- {
		r := ses.requests[i]
		if r.Conn != q.Conn {
			continue
		}
		count, bytes = count+1, bytes+len(r.ID)
		if count > 1 && (count > limits.Requests || bytes > limits.RequestBytes) {
			ses.requests = slices.Delete(ses.requests, i, i+1)
		}
	}
}

// answered removes the request that an envelope to these agents answers.
func (ses *session) answered(id, kind string, to []Party) {
	var own []int // indexes of these agents' requests
	var theirs []Request
	for i, q := range ses.requests {
		if slices.ContainsFunc(to, func(p Party) bool { return p.Conn == q.Conn }) {
			own, theirs = append(own, i), append(theirs, q)
		}
	}
	if i := Asked(theirs, id, kind); i >= 0 {
		ses.requests = slices.Delete(ses.requests, own[i], own[i]+1)
	}
}

// answerOf maps a request to the type of its reply, sections 4.1 and 4.2; an error may answer each.
var answerOf = map[string]string{
	proto.SessionStart: proto.SessionStarted,
	proto.SnapshotGet:  proto.SnapshotState,
	proto.ToolCall:     proto.ToolResult,
	proto.SessionEnd:   proto.SessionEnded,
}

// Asked returns the index of the request that a host's envelope answers; -1 if there is none. If several requests
// have the id, it prefers the oldest that this type can answer, then the oldest; an agent.message, which has no
// reply, comes last.
func Asked(outstanding []Request, id, kind string) int {
	best, fit := -1, -1
	for i, q := range outstanding {
		if q.ID != id {
			continue
		}
		f := 0
		switch answer, hasAnswer := answerOf[q.Type]; {
		case hasAnswer && (answer == kind || kind == proto.ErrorMessage):
			f = 2
		case hasAnswer:
			f = 1
		}
		if f > fit {
			best, fit = i, f
		}
	}
	return best
}
