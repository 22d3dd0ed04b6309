package host

import (
	"fmt"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// rfc3339Millis always has milliseconds, like JavaScript's toISOString.
const rfc3339Millis = "2006-01-02T15:04:05.000Z"

// Internal events in the log.
const (
	messageInvalid   = "message.invalid"   // the host received a frame that is not an envelope
	toolExecuted     = "tool.executed"     // stage: the current stage, "" when the booking is done
	userInput        = "user.input"        // the participant said something
	bookingCompleted = "booking.completed" // code, total
	stateReset       = "state.reset"       // reason, as in session.end
	sessionClosed    = "session.closed"    // the host ended the session without a request: reason
)

// journal is the log of the active session.
type journal struct {
	log    Log // nil while no session is active
	index  int
	bytes  int64
	failed error // the first failure
}

// record logs an event.
func (m *machine) record(direction, kind string, payload any) {
	if m.journal.log == nil {
		return
	}
	m.journal.index++
	e := Entry{
		"sessionId": m.id, "eventIndex": m.journal.index, "timestamp": m.timestamp(),
		"direction": direction, "type": kind, "payload": payload,
	}
	for _, e := range m.o.Policy.Record(View{m}, e) {
		m.write(e)
	}
}

func (m *machine) internal(kind string, payload map[string]any) {
	m.record(proto.Internal, kind, payload)
}

func (m *machine) write(e Entry) {
	j := &m.journal
	if j.log == nil || j.failed != nil {
		return
	}
	line := wire.Encode(e)
	if err := j.log.Append(line); err != nil {
		j.failed = fmt.Errorf("log session %s: %w", m.id, err)
	}
	j.bytes += int64(len(line)) + 1
}

// recordArrival logs a frame as it arrived. It decodes the frame again, because the handled message may have been
// changed. A frame that is not an envelope has no type and no payload to log.
func (m *machine) recordArrival(data []byte) {
	if m.journal.log == nil || data == nil {
		return
	}
	msg, _ := decode(data, m.o.Limits.Message)
	if kind, isString := msg["type"].(string); isString && msg.Payload() != nil {
		m.record(proto.In, kind, msg["payload"])
		return
	}
	m.internal(messageInvalid, object{"bytes": len(data)})
}

// closeLog completes the log.
func (m *machine) closeLog() {
	j := &m.journal
	if j.log == nil {
		return
	}
	if err := j.log.Close(); err != nil && j.failed == nil {
		j.failed = fmt.Errorf("close the log of session %s: %w", m.id, err)
	}
	j.log = nil
}

func (m *machine) timestamp() string { return m.o.Now().UTC().Format(rfc3339Millis) }
