package agent

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	proto "parley/protocol/externalagent"
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

// hopeless returns the error of a run that has been without a connection for too long.
func (c *connection) hopeless(after time.Duration) error {
	if c.err == nil {
		return fmt.Errorf("%w for %v", ErrNoConnection, after)
	}
	return fmt.Errorf("%w for %v: %w", ErrNoConnection, after, c.err)
}

// connected begins a connection. Outstanding requests of the previous one are lost, including a call: the snapshot
// shows its effect.
func (m *Machine) connected() {
	m.outcome.Connections++
	m.connection = connection{open: true, backoff: m.connection.backoff, err: m.connection.err}
	m.do(Disarm{GiveUpTimer})
	m.note("connected", "connection", m.outcome.Connections)
	m.unanswered, m.call, m.retry = 0, nil, nil
	m.needStart, m.needSync, m.begunHere = !m.everBegan, false, false
	if m.everBegan {
		m.resync(Reconnected)
	}
}

// join sends the first message of a connection (EA-026, EA-027).
func (m *Machine) join() {
	m.connection.joinID = m.send(proto.RelayJoin, object{"role": proto.AgentRole, "sessionId": m.o.Session})
	m.do(Arm{JoinTimer, m.o.Limits.Join})
	m.note("sent", "type", proto.RelayJoin, "id", m.connection.joinID)
}

// joined handles the reply to join (EA-028).
func (m *Machine) joined() {
	m.connection.joined = true
	m.connection.backoff = m.o.Backoff.First
	m.do(Disarm{JoinTimer})
	m.note("joined", "session", m.o.Session)
}

// disconnected prepares the next connection. The study session continues meanwhile.
func (m *Machine) disconnected(err error) {
	c := &m.connection
	if err == nil {
		err = errors.New("closed")
	}
	c.err = err
	if !c.open { // the dial failed: say so once, and again if the reason changes
		if why := unreached(err); why != c.told {
			c.told = why
			m.note("waiting for "+withoutQuery(m.o.URL)+": "+clip(why, 200), "gives_up_after", m.o.GiveUp)
		}
	} else {
		c.told = ""
		m.note("disconnected", "err", clip(err.Error(), 200))
		m.leaveConnection()
		m.do(Arm{GiveUpTimer, m.o.GiveUp})
	}
	if !m.o.Policy.Reconnect(m.view()) {
		m.finish(fmt.Errorf("connection ended: %w", err))
		return
	}
	m.do(Arm{RedialTimer, c.backoff})
	c.backoff = min(2*c.backoff, m.o.Backoff.Max)
}

// unreached says why a dial failed, without the layers that passed the reason on.
func unreached(err error) string {
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
		m.do(Disarm{t})
	}
}

// redial replaces the connection by a new one.
func (m *Machine) redial(why string) {
	m.do(Drop{why})
	m.disconnected(errors.New(why))
}

// strange handles a message that the agent can't use. By default it ignores the message: a relay session may carry
// messages that this agent does not know.
func (m *Machine) strange(o Oddity) {
	m.note("ignored", "what", string(o.Kind), "why", clip(o.Why, 200), "type", clip(o.Message.Type(), 80))
	switch m.o.Policy.Strange(m.view(), o, Ignore) {
	case Redial:
		m.redial(string(o.Kind))
	case Die:
		m.finish(fmt.Errorf("received a message that is %s: %s", o.Kind, clip(o.Why, 200)))
	case Ignore:
	}
}
