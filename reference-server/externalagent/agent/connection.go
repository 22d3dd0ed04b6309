package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// connection is what a Machine knows about its connection.
type connection struct {
	open    bool
	joinID  string // "" until relay.join has been sent
	joined  bool
	awaited *Request
	backoff time.Duration // delay before the next connection
	err     error         // why the last connection ended
	told    string        // why the last dial failed, as it was noted; "" if it did not
}

// hopelessError returns the error of a run that has been without a connection for too long.
func (c *connection) hopelessError(after time.Duration) error {
	if c.err == nil {
		return fmt.Errorf("%w for %v", ErrNoConnection, after)
	}
	return fmt.Errorf("%w for %v: %w", ErrNoConnection, after, c.err)
}

// beginConnection begins a connection. Outstanding requests of the previous one are lost, including a call: the
// snapshot shows its effect.
func (m *Machine) beginConnection() {
	m.outcome.Connections++
	m.connection = connection{open: true, backoff: m.connection.backoff, err: m.connection.err}
	m.addActions(Disarm{GiveUpTimer})
	m.addNote("connected", "connection", m.outcome.Connections)
	m.unanswered, m.call, m.retry = 0, nil, nil
	m.needStart, m.needSync, m.begunHere = !m.everBegan, false, false
	if m.everBegan {
		m.requireSnapshot(Reconnected)
	}
}

// sendJoin sends the first message of a connection (EA-026, EA-027).
func (m *Machine) sendJoin() {
	m.connection.joinID = m.sendMessage(proto.RelayJoin, object{"role": proto.AgentRole, "sessionId": m.o.Session})
	m.addActions(Arm{JoinTimer, m.o.Limits.Join})
	m.addNote("sent", "type", proto.RelayJoin, "id", m.connection.joinID)
}

// handleJoined handles the reply to join (EA-028).
func (m *Machine) handleJoined() {
	m.connection.joined = true
	m.connection.backoff = m.o.Backoff.First
	m.addActions(Disarm{JoinTimer})
	m.addNote("joined", "session", m.o.Session)
}

// prepareReconnect prepares the next connection. The study session continues meanwhile.
func (m *Machine) prepareReconnect(err error) {
	c := &m.connection
	if err == nil {
		err = errors.New("closed")
	}
	c.err = err
	if !c.open { // the dial failed: say so once, and again if the reason changes
		if why := whyUnreached(err); why != c.told {
			c.told = why
			m.addNote("waiting for "+withoutQuery(m.o.URL)+": "+clipText(why, 200), "gives_up_after", m.o.GiveUp)
		}
	} else {
		c.told = ""
		m.addNote("disconnected", "err", clipText(err.Error(), 200))
		m.leaveConnection()
		m.addActions(Arm{GiveUpTimer, m.o.GiveUp})
	}
	if !m.o.Policy.Reconnect(m.policyView()) {
		m.finishRun(fmt.Errorf("connection ended: %w", err))
		return
	}
	m.addActions(Arm{RedialTimer, c.backoff})
	c.backoff = min(2*c.backoff, m.o.Backoff.Max)
}

// whyUnreached says why a dial failed, without the layers that passed the reason on.
func whyUnreached(err error) string {
	var code syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &code):
		return code.Error()
	case errors.As(err, &name):
		return name.Err
	}
	return strings.TrimPrefix(err.Error(), "failed to WebSocket dial: ")
}

// withoutQuery returns a URL without its query, which may carry a token.
func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// leaveConnection resets the connection's state and stops its timers.
func (m *Machine) leaveConnection() {
	c := &m.connection
	c.open, c.joined, c.joinID, c.awaited = false, false, "", nil
	m.pausing, m.polling = false, false
	for _, t := range []Timer{JoinTimer, AnswerTimer, PatienceTimer, PauseTimer, PollTimer} {
		m.addActions(Disarm{t})
	}
}

// replaceConnection replaces the connection by a new one.
func (m *Machine) replaceConnection(why string) {
	m.addActions(Drop{why})
	m.prepareReconnect(errors.New(why))
}

// handleStrange handles a message that the agent can't use. By default it ignores the message: a relay session may
// carry messages that this agent does not know.
func (m *Machine) handleStrange(o Oddity) {
	m.addNote("ignored", "what", string(o.Kind), "why", clipText(o.Why, 200), "type", clipText(o.Message.Type(), 80))
	switch m.o.Policy.Strange(m.policyView(), o, Ignore) {
	case Redial:
		m.replaceConnection(string(o.Kind))
	case Die:
		m.finishRun(fmt.Errorf("received a message that is %s: %s", o.Kind, clipText(o.Why, 200)))
	case Ignore:
	}
}

// Socket is the agent's interface to a connection. Read is called by one goroutine, the other methods by another.
// Read ends with its context and with the connection.
type Socket interface {
	Read(ctx context.Context) (websocket.MessageType, []byte, error)
	Write(ctx context.Context, kind websocket.MessageType, data []byte) error
	Close(code websocket.StatusCode, reason string) error // with a closing handshake
	CloseNow() error
}

// Dialer opens a connection.
type Dialer func(ctx context.Context, url string) (Socket, error)

// DialWebSocket is the default Dialer, with DefaultLimits.
func DialWebSocket(ctx context.Context, url string) (Socket, error) {
	return dialer(DefaultLimits)(ctx, url)
}

func dialer(l Limits) Dialer {
	return func(ctx context.Context, url string) (Socket, error) {
		s := &webSocket{wait: l.Close}
		// A refused handshake leaves no idle connection behind.
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DialContext: s.dial}
		ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			return nil, err
		}
		ws.SetReadLimit(l.Frame)
		s.Conn = ws
		return s, nil
	}
}

// webSocket is a WebSocket with a time limit on its closing handshake.
type webSocket struct {
	*websocket.Conn
	wait time.Duration
	wire atomic.Pointer[net.Conn]
}

func (s *webSocket) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	wire, err := d.DialContext(ctx, network, address)
	if err == nil {
		s.wire.Store(&wire)
	}
	return wire, err
}

// Close waits at most the limit for a peer that keeps sending or does not read. The library's own limit is not
// configurable, and no context ends its wait.
func (s *webSocket) Close(code websocket.StatusCode, reason string) error {
	defer time.AfterFunc(s.wait, func() { _ = (*s.wire.Load()).Close() }).Stop()
	return s.Conn.Close(code, reason)
}

// Message is an envelope.
type Message = wire.Message

type object = wire.Object

// decodeObject reads a JSON object strictly: case-sensitive, unique names and valid UTF-8.
func decodeObject(data []byte) (Message, error) {
	var msg Message
	if err := json.Unmarshal(data, &msg); err != nil {
		return nil, err
	}
	if msg == nil {
		return nil, errors.New("null is not an object")
	}
	return msg, nil
}

// canonicalText returns the same text for equal values.
func canonicalText(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil { // a faulty agent made the value
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}

// problemOf returns why an object is not an envelope; "" if it is one. Members that section 3 does not name are
// allowed.
func problemOf(m Message) string {
	if m["v"] != proto.Version {
		return fmt.Sprintf("v is %s, not %q", formatBriefly(m["v"]), proto.Version)
	}
	if kind, isText := m["type"].(string); !isText || kind == "" {
		return "type is not a string"
	}
	for _, name := range []string{"id", "replyTo"} {
		if v, present := m[name]; present {
			if _, isText := v.(string); !isText {
				return name + " is not a string"
			}
		}
	}
	if _, isObject := m["payload"].(object); !isObject {
		return "payload is not an object"
	}
	return ""
}

// formatBriefly formats a value for a log line.
func formatBriefly(v any) string { return clipText(canonicalText(v), 200) }

// clipText shortens a text to at most the given number of characters.
func clipText(text string, most int) string {
	n := 0
	for at := range text {
		if n == most {
			return text[:at] + "…"
		}
		n++
	}
	return text
}

// Event is something that happened to a Machine: a value of one of the types below.
type Event any

// The events. Connection events always come from the last dialled connection, never from an abandoned one.
type (
	Started      struct{}                  // always the first
	Connected    struct{}                  // a Dial succeeded
	Received     struct{ Message Message } // a JSON object
	Junk         struct{ Oddity Oddity }   // any other frame
	Disconnected struct{ Err error }       // the connection ended, or a Dial failed
	Fired        struct{ Timer Timer }     // an armed timer expired
)

// Action is something for the caller of a Machine to do: a value of one of the types below. Actions are executed in
// order.
type Action any

// The actions.
type (
	Dial struct{}                  // open a connection; Connected or Disconnected follows
	Send struct{ Message Message } // on the open connection
	Drop struct{ Why string }      // leave the connection; no Disconnected follows
	Arm  struct {                  // Fired follows; replaces an earlier timer of the same name
		Timer Timer
		After time.Duration
	}
	Disarm struct{ Timer Timer }
	Note   struct { // a line for the log
		Text string
		Args []any // slog arguments
	}
	Finish struct { // leave the connection with 1000; Run returns
		Outcome Outcome
		Err     error
	}
)

// Timer names a timer.
type Timer string

// The timers.
const (
	RedialTimer   Timer = "redial"   // until the next connection
	GiveUpTimer   Timer = "give up"  // without a connection
	JoinTimer     Timer = "join"     // waiting for relay.joined
	AnswerTimer   Timer = "answer"   // waiting for a reply
	PatienceTimer Timer = "patience" // waiting for the state after a confirmed call
	PauseTimer    Timer = "pause"    // before a refused request is repeated
	PollTimer     Timer = "poll"     // while nothing is shown yet
)

// idOfMessage returns the id of the nth message: ids are unique in a run, across connections.
func idOfMessage(kind string, n int) string {
	if kind == proto.RelayJoin {
		return fmt.Sprintf("join-%03d", n)
	}
	return fmt.Sprintf("req-%03d", n)
}

// hasNewState reports whether a state that differs from the one before the call has arrived since the call was sent. A
// state from before the tool.result counts too, because no sentence orders the two. An unchanged state does not
// count, because it may have been on its way when the call was sent.
func hasNewState(c Called, last State) bool {
	return last.Serial > c.Before.Serial && showsChange(c.Before, last, c.Tool == proto.PostMessage)
}

// showsChange reports whether the second state shows or announces anything that the first does not. The history counts
// only for a tool whose only effect is on the history: it grows with every message of the user and of the agent.
func showsChange(a, b State, withHistory bool) bool {
	return keyOf(a) != keyOf(b) || withHistory && canonicalText(a.History) != canonicalText(b.History)
}

// remedyFor returns the remedy for a failure, following section 5.
func remedyFor(f Failure) Remedy {
	switch f.Request.Type {
	case proto.RelayJoin:
		return Reopen
	case proto.SessionStart:
		if f.Code == proto.SessionNotActive { // the host has not joined yet
			return TryAgain
		}
		return Synchronise // a session may already be active
	case proto.SessionEnd:
		if f.Code == proto.SessionNotActive {
			return TakeAsDone
		}
		return TryAgain
	}
	switch f.Code {
	case proto.SessionNotActive:
		return Restart
	case proto.NoActiveSpec:
		if f.Request.Type == proto.SnapshotGet {
			return ShowNothing
		}
		return Synchronise
	}
	return TryAnother
}

// isFinished reports whether a call was made and the state shows no form or announces no tools.
func (m *Machine) isFinished(s State) bool {
	return m.calls > 0 && s.Serial > 0 && (s.UISpec == nil || len(s.Tools) == 0)
}
