package relay

import (
	"fmt"
	"slices"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// receiveFrame handles a frame from a party. It waits only for calls of OnAgent and for other writes of the same party.
func (s *Server) receiveFrame(c *conn, f Frame) {
	c.in.Lock()
	defer c.in.Unlock()
	for _, f := range s.decodeInbound(c, f) {
		// The frame is read without the server's lock, so that a large one does not block other parties.
		s.handleEnvelope(c, Read(f))
	}
}

func (s *Server) decodeInbound(c *conn, f Frame) []Frame {
	if s.o.Inbound == nil {
		return []Frame{f}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Over() {
		return nil
	}
	return s.o.Inbound(Relay{s}, c.party, f)
}

func (s *Server) handleEnvelope(c *conn, e *Envelope) {
	if s.routeLocked(c, e) {
		return
	}
	if why := s.handleJoin(c, e); why != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refuseEnvelope(c, e, *why)
	}
}

// routeLocked handles an envelope under one lock; it returns false for a join, which the caller handles.
func (s *Server) routeLocked(c *conn, e *Envelope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Over() {
		return true
	}
	why := s.o.Policy.checkEnvelope(c.party, e)
	if why == nil && e.Type() == proto.RelayJoin {
		return false
	}
	switch {
	case why != nil:
	case c.party.Role == "":
		why = s.o.Policy.Unjoined(Relay{s}, c.party, e, inactiveError("send relay.join first"))
	default:
		why = s.routeEnvelope(c, e)
	}
	if why != nil {
		s.refuseEnvelope(c, e, *why)
	}
	return true
}

// routeEnvelope passes an envelope on. The caller holds the lock.
func (s *Server) routeEnvelope(from *conn, e *Envelope) *Refusal {
	ses := s.sessions[from.party.Session]
	to := s.o.Policy.Recipients(Relay{s}, from.party, e, s.recipientsOf(from, e))
	if from.party.Role == proto.AgentRole {
		if len(to) == 0 && ses.host == nil {
			return s.o.Policy.HostAbsent(Relay{s}, from.party, e,
				inactiveError("the relay session has no host: try again when one has joined"))
		}
		if q := requestOf(from, e); q.Identified && len(to) > 0 {
			ses.noteRequest(q, s.o.Limits)
		}
	} else if id, isAnswer := e.ReplyTo(); isAnswer && ses != nil {
		ses.removeAnswered(id, e.Type(), to)
	}
	for _, p := range to {
		if c := s.findConnection(p.Conn); c != nil {
			s.emitFrame(from, c, s.o.Policy.Pass(from.party, p, e, e.Raw))
		}
	}
	return nil
}

// requestOf returns the envelope as a request, for matching replies.
func requestOf(c *conn, e *Envelope) Request {
	id, identified := e.ID()
	return Request{Conn: c.party.Conn, ID: id, Identified: identified, Type: e.Type()}
}

// refuseEnvelope answers an envelope with an error. The connection stays open, since its next envelope may be valid.
// The caller holds the lock.
func (s *Server) refuseEnvelope(c *conn, e *Envelope, why Refusal) {
	s.sendError(c, requestOf(c, e), why)
	if bye := s.o.Policy.Ends(c.party, e, nil); bye != nil {
		c.closeAfterQueue(*bye)
	}
}

// sendError sends an error. The caller holds the lock.
func (s *Server) sendError(c *conn, about Request, why Refusal) {
	if msg := s.o.Policy.Error(c.party, about, why, errorMessage(about, why)); msg != nil {
		s.emitFrame(nil, c, wire.Encode(msg))
	}
}

// Names of the checks, with what passes.
const (
	CheckFrame   = "frame"   // a text frame
	CheckText    = "text"    // no Fault
	CheckV       = "v"       // exactly proto.Version
	CheckType    = "type"    // a string
	CheckID      = "id"      // a string if present
	CheckReplyTo = "replyTo" // a string if present
	CheckPayload = "payload" // an object
	CheckKnown   = "known"   // a type that the sender's side may send; any type before the join
)

// checks run in this order; the first failure is reported.
var checks = []struct {
	name  string
	judge func(from Party, e *Envelope) *Refusal // nil passes
}{
	{CheckFrame, func(_ Party, e *Envelope) *Refusal {
		return when(e.Binary, "send a text frame, not a binary one")
	}},
	{CheckText, func(_ Party, e *Envelope) *Refusal {
		return when(e.Fault != "", faultTexts[e.Fault])
	}},
	{CheckV, func(_ Party, e *Envelope) *Refusal {
		v, ok := e.Text("v")
		return when(!ok || v != proto.Version, fmt.Sprintf("v must be %q", proto.Version))
	}},
	{CheckType, func(_ Party, e *Envelope) *Refusal {
		_, ok := e.Text("type")
		return when(!ok, "type must be a string")
	}},
	{CheckID, optionalText("id")},
	{CheckReplyTo, optionalText("replyTo")},
	{CheckPayload, func(_ Party, e *Envelope) *Refusal {
		return when(e.members["payload"].Kind() != '{', "payload must be an object: send {} if it is empty")
	}},
	{CheckKnown, func(from Party, e *Envelope) *Refusal {
		known := from.Role == "" || slices.Contains(typesOf[from.Role], e.Type())
		return when(!known, fmt.Sprintf("the %s may not send the type %.80q", from.Role, e.Type()))
	}},
}

// checkEnvelope runs the checks on an envelope.
func (p Policy) checkEnvelope(from Party, e *Envelope) *Refusal {
	for _, check := range checks {
		if why := p.Check(check.name, from, e, check.judge(from, e)); why != nil {
			return why
		}
	}
	return nil
}

var faultTexts = map[Fault]string{
	NotUTF8:    "the text must be valid UTF-8",
	TooDeep:    fmt.Sprintf("objects and arrays may nest %d deep, the envelope included", MaxDepth),
	Duplicates: "send each name once per object",
	NotJSON:    "the text must be valid JSON",
	NotObject:  "send one JSON object",
}

// typesOf lists the types that each side may send, sections 4.0 to 4.2.
var typesOf = map[string][]string{
	proto.AgentRole: {proto.RelayJoin, proto.SessionStart, proto.SnapshotGet, proto.ToolCall, proto.AgentMessage,
		proto.SessionEnd},
	proto.HostRole: {proto.RelayJoin, proto.SessionStarted, proto.SnapshotState, proto.ToolResult, proto.StateUpdated,
		proto.UserMessage, proto.SessionEnded, proto.ErrorMessage},
}

func optionalText(name string) func(Party, *Envelope) *Refusal {
	return func(_ Party, e *Envelope) *Refusal {
		_, ok := e.Text(name)
		return when(e.Has(name) && !ok, name+" must be a string, or be left out")
	}
}

func invalidError(text string) *Refusal { return &Refusal{proto.InvalidMessage, text} }

func inactiveError(text string) *Refusal { return &Refusal{proto.SessionNotActive, text} }

func when(wrong bool, text string) *Refusal {
	if !wrong {
		return nil
	}
	return invalidError(text)
}

// Message is an envelope that the relay itself sends.
type Message = wire.Message

// Replaced is the close code for a host that another host has replaced.
const Replaced websocket.StatusCode = 4001

// MaxSessionID is the maximum length of a sessionId in a relay.join, in bytes.
const MaxSessionID = 200

// readJoin requires an id, a role and a sessionId.
func readJoin(e *Envelope) (proto.Join, *Refusal) {
	if _, identified := e.ID(); !identified {
		return proto.Join{}, invalidError("relay.join needs id: send a string, which relay.joined repeats as replyTo")
	}
	payload := e.Payload()
	role, ok := payload.Text("role")
	if !ok || sideOf(role) == "" {
		return proto.Join{}, invalidError(`relay.join needs payload.role: send "agent", "host" or "frontend"`)
	}
	session, ok := payload.Text("sessionId")
	if !ok || session == "" || len(session) > MaxSessionID {
		return proto.Join{}, invalidError(fmt.Sprintf("relay.join needs payload.sessionId: send a string of 1 to %d bytes",
			MaxSessionID))
	}
	return proto.Join{Role: role, SessionID: session}, nil
}

// sideOf returns the side of a join's role; "" for an unknown role.
func sideOf(role string) string {
	switch role {
	case proto.AgentRole:
		return proto.AgentRole
	case proto.HostRole, proto.FrontendRole:
		return proto.HostRole
	}
	return ""
}

// joinedMessage repeats the role and the sessionId as sent.
func joinedMessage(e *Envelope, j proto.Join) Message {
	id, _ := e.ID()
	return wire.New(proto.RelayJoined, map[string]any{"role": j.Role, "sessionId": j.SessionID}).With("replyTo", id)
}

// recipientsOf returns who gets an envelope. An agent's envelope goes to the host of its session. A host's reply goes
// to the agent that asked; if no request is known, or the envelope is not a reply, it goes to all agents.
func (s *Server) recipientsOf(from *conn, e *Envelope) []Party {
	ses := s.sessions[from.party.Session]
	if from.party.Role == proto.AgentRole {
		if ses.host == nil {
			return nil
		}
		return []Party{ses.host.party}
	}
	if ses == nil {
		return nil
	}
	agents := parties(ses.agents)
	if id, isAnswer := e.ReplyTo(); isAnswer {
		if i := Asked(ses.requests, id, e.Type()); i >= 0 {
			at := slices.IndexFunc(agents, func(p Party) bool { return p.Conn == ses.requests[i].Conn })
			if at >= 0 {
				return agents[at : at+1]
			}
		}
	}
	return agents
}

// errorMessage refers to the request if that has an id.
func errorMessage(about Request, why Refusal) Message {
	msg := wire.New(proto.ErrorMessage, map[string]any{"code": why.Code, "message": why.Text})
	if about.Identified {
		msg["replyTo"] = about.ID
	}
	return msg
}
