package sessionruntime

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// bus holds the runtimes of one connection: frames go in, frames come out. It is used by one goroutine at a time.
type bus struct {
	o        Options
	seams    Seams
	runtimes map[string]*runtime
	timed    timed
}

// runtime is the orchestrator of a session.
type runtime struct {
	*orchestrator.Machine
	due   time.Time
	place int // index in bus.timed; -1 without a timeout
}

func newBus(o Options) *bus {
	b := &bus{o: o, runtimes: map[string]*runtime{}}
	if o.Seams != nil {
		b.seams = o.Seams()
	}
	return b
}

// handleFrame handles one frame.
func (b *bus) handleFrame(data []byte) [][]byte {
	f, err := decodeFrame(data)
	if err != nil {
		return b.answerProblem(err.Error())
	}
	if f.Parley == nil {
		return b.passMessage(f.Message)
	}
	switch *f.Parley {
	case proto.Setup:
		return b.setUp(data)
	case proto.Fence:
		return b.handleControl(map[string]any{"parley": proto.Fenced, "id": f.ID})
	}
	return b.answerProblem(fmt.Sprintf(`unknown set-up frame %.80q: send "setup" or "fence"`, *f.Parley))
}

// answerProblem answers a frame that can't be handled.
func (b *bus) answerProblem(text string) [][]byte {
	b.o.Logger.Warn("frame not taken", "why", text)
	return b.handleControl(map[string]any{"parley": proto.Problem, "text": text})
}

// clipText shortens what a client has sent, for the log.
func clipText(text string) string { return fmt.Sprintf("%.80s", text) }

func (b *bus) handleControl(frame map[string]any) [][]byte {
	data, err := encodeSorted(frame)
	if err != nil {
		b.o.Logger.Error("frame not encoded", "err", err)
		return nil
	}
	return [][]byte{data}
}

// setUp makes a runtime, replacing that of the session.
func (b *bus) setUp(data []byte) [][]byte {
	s, err := decodeSetup(data)
	if err != nil {
		return b.answerProblem(err.Error())
	}
	o := orchestrator.Options{SessionID: s.SessionID, Agents: s.Agents, Active: s.Active, Limits: b.o.Runtime}
	if o.InputAck, err = ackLimit(s.Limits.InputAck, b.o.InputAck, b.o.Limits.Ack); err == nil {
		o.CancelAck, err = ackLimit(s.Limits.CancelAck, b.o.CancelAck, b.o.Limits.Ack)
	}
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return b.answerProblem("set-up refused: " + err.Error())
	}
	old := b.runtimes[s.SessionID]
	if old == nil && len(b.runtimes) >= b.o.Limits.Sessions {
		return b.answerProblem(fmt.Sprintf("set-up refused: a bus has at most %d sessions", b.o.Limits.Sessions))
	}
	if old != nil && old.place >= 0 {
		heap.Remove(&b.timed, old.place)
	}
	o.Dropped = func(msg proto.Message, why string) {
		b.o.Logger.Warn("message not taken", "session", clipText(o.SessionID), "id", clipText(msg.ID), "why", why)
	}
	if b.seams.Runtime != nil {
		b.seams.Runtime(&o)
	}
	b.runtimes[s.SessionID] = &runtime{Machine: orchestrator.New(o), place: -1}
	return b.handleControl(map[string]any{"parley": proto.Ready, "session_id": s.SessionID})
}

// passMessage passes a message to the runtime of its session.
func (b *bus) passMessage(msg proto.Message) [][]byte {
	id := msg.SessionID
	if b.seams.Route != nil {
		id = b.seams.Route(msg)
	}
	r := b.runtimes[id]
	if r == nil {
		return b.answerProblem(fmt.Sprintf("unknown session %.80q: set it up first", id))
	}
	return b.encodePublished(r, r.OnMessage(msg))
}

// encodePublished encodes what a runtime published and updates its next timeout. A message that can't be encoded, which
// only a faulty runtime makes, is reported and omitted.
func (b *bus) encodePublished(r *runtime, msgs []proto.Message) [][]byte {
	b.scheduleRuntime(r)
	frames := make([][]byte, 0, len(msgs))
	for _, msg := range msgs {
		data, err := encodeSorted(msg)
		if err != nil {
			frames = append(frames,
				b.answerProblem(fmt.Sprintf("%.80s %.80s not published: %.300s", msg.Event, msg.Subtype, err))...)
			continue
		}
		frames = append(frames, data)
	}
	return frames
}

// nextTimeout returns the next timeout of any runtime; false if there is none.
func (b *bus) nextTimeout() (time.Time, bool) {
	if len(b.timed) == 0 {
		return time.Time{}, false
	}
	return b.timed[0].due, true
}

// handleTimeouts handles the timeouts that are due.
func (b *bus) handleTimeouts(now time.Time) (frames [][]byte) {
	for len(b.timed) > 0 && !b.timed[0].due.After(now) {
		r := b.timed[0]
		frames = append(frames, b.encodePublished(r, r.Tick(now))...)
	}
	return frames
}

// scheduleRuntime updates a runtime's place in the heap for its next timeout.
func (b *bus) scheduleRuntime(r *runtime) {
	at, ok := r.Due()
	r.due = at
	switch {
	case ok && r.place >= 0:
		heap.Fix(&b.timed, r.place)
	case ok:
		heap.Push(&b.timed, r)
	case r.place >= 0:
		heap.Remove(&b.timed, r.place)
	}
}

// timed is a heap of the runtimes with a timeout, earliest first.
type timed []*runtime

func (h timed) Len() int           { return len(h) }
func (h timed) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h timed) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timed) Push(x any) {
	r := x.(*runtime)
	r.place = len(*h)
	*h = append(*h, r)
}

func (h *timed) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.place = -1
	return r
}

// Number is a JSON number as it was sent, in payloads and metadata, so that it can be passed on unchanged.
type Number string

// MarshalJSON writes the number in its original form.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // use the default marshalling
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// frame is a decoded frame: a message, or a set-up frame if Parley is set.
type frame struct {
	Parley *string `json:"parley"`
	proto.Message
}

// decodeFrame reads a frame strictly: a JSON object in valid UTF-8 with case-sensitive, unique names and members of
// the expected types. Unknown members are ignored.
func decodeFrame(data []byte) (f frame, err error) {
	if jsontext.Value(data).Kind() != '{' {
		return frame{}, errors.New("send one JSON object")
	}
	if tooDeep(data) {
		return frame{}, fmt.Errorf("nest at most %d objects and arrays", maxDepth)
	}
	if err := json.Unmarshal(data, &f, keepNumbers); err != nil {
		return frame{}, errors.New(jsonwhy.Of(err))
	}
	return f, nil
}

// maxDepth limits the nesting of a frame. It leaves room for what is wrapped around its parts, so that everything
// published remains readable.
const maxDepth = 1000

// tooDeep counts brackets outside of strings. It accepts any text.
func tooDeep(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// setupMembers are those of a set-up frame, for the text that refuses another one.
const setupMembers = "session_id, agents, active_agent_id, limits.input_ack_ms, limits.cancel_ack_ms"

// setup is the set-up frame. It has no other members: a misspelt limit would silently be the default one.
type setup struct {
	Parley    string   `json:"parley"`
	SessionID string   `json:"session_id"`
	Agents    []string `json:"agents"`
	Active    string   `json:"active_agent_id"`
	Limits    struct {
		InputAck  *float64 `json:"input_ack_ms"`
		CancelAck *float64 `json:"cancel_ack_ms"`
	} `json:"limits"`
}

func decodeSetup(data []byte) (s setup, err error) {
	err = json.Unmarshal(data, &s, json.RejectUnknownMembers(true))
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return setup{}, fmt.Errorf("set-up refused: %s (known: %s)", jsonwhy.Of(err), setupMembers)
	case err != nil:
		return setup{}, errors.New("set-up refused: " + jsonwhy.Of(err))
	}
	return s, nil
}

// ackLimit returns a limit of a set-up frame, or the fallback if the frame gives none or 0.
func ackLimit(ms *float64, fallback, longest time.Duration) (time.Duration, error) {
	if ms == nil || *ms == 0 {
		return fallback, nil
	}
	if most := float64(longest) / float64(time.Millisecond); *ms < 0 || *ms > most {
		return 0, fmt.Errorf("a limit must be 0 to %.0f ms", most)
	}
	return max(time.Duration(*ms*float64(time.Millisecond)), 1), nil
}

// encodeSorted writes members sorted by name. Invalid UTF-8, which a faulty orchestrator may make, becomes U+FFFD.
func encodeSorted(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}
