package console

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

// notice is an event of a session other than a record: a finding, or the judgement of a step.
type notice struct {
	mark  int // number of the latest record at that time
	event string
	data  []byte // JSON
}

// maxNotices bounds the notices that are kept for streams that reconnect.
const maxNotices = 10_000

// notices hold what event streams report in addition to records. The zero value is ready.
type notices struct {
	mu      sync.Mutex
	all     []notice
	gone    int // notices before those of all
	version int // of the contents of state, held and run
	wake    chan struct{}
}

// nextChange returns the channel that closes at the next change. The caller holds l.mu.
func (l *notices) nextChange() chan struct{} {
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

// wakeForRecords wakes the streams: there are new records.
func (l *notices) wakeForRecords() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.nextChange())
	l.wake = nil
}

// wakeForState wakes the streams: the state has changed.
func (l *notices) wakeForState() {
	l.mu.Lock()
	l.version++
	l.mu.Unlock()
	l.wakeForRecords()
}

// addNotice keeps a notice, and wakes the streams. body is called with its serial number.
func (s *session) addNotice(event string, body func(seq int) any) {
	l := &s.log
	l.mu.Lock()
	data, err := json.Marshal(body(l.gone+len(l.all)+1), jsonform.Escaped)
	if err == nil {
		l.all = append(l.all, notice{s.records.Len(), event, data})
	}
	if over := len(l.all) - maxNotices; over > 0 {
		l.all, l.gone = append([]notice(nil), l.all[over:]...), l.gone+over
	}
	l.mu.Unlock()
	l.wakeForState()
}

// Bounds of a stream of events.
const (
	atOnce      = 512       // records in one write
	atOnceBytes = 512 << 10 // of their payload
	beat        = 15 * time.Second
	patience    = time.Minute // for one write: a slower reader reconnects and continues where it was
)

// stream is a client that reads events.
type stream struct {
	s       *session
	w       http.ResponseWriter
	control *http.ResponseController
	after   int  // number of the last record that it already had
	sent    int  // number of the last record
	seq     int  // notices that were sent
	version int  // of the state that was sent
	ended   bool // when the numbers of what is to be sent were taken, the session had ended
	owed    int  // version of what is owed that was sent
	out     bytes.Buffer
}

// streamEvents streams records, findings and changes of state. It reads from the transcript by number: a slow reader
// misses nothing, and does not delay others.
func (s *session) streamEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	after, err := queryNumber(r, "after", 0, 1<<50)
	if err != nil {
		return nil, err
	}
	if last, err := strconv.Atoi(r.Header.Get("Last-Event-ID")); err == nil && last >= 0 {
		after = last
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	st := &stream{s: s, w: w, control: http.NewResponseController(w), after: after, sent: after, version: -1}
	st.out.WriteString("retry: 1000\n\n")
	// Otherwise the server would apply the last deadline to later requests on the connection.
	defer func() { _ = st.control.SetWriteDeadline(time.Time{}) }()
	timer := time.NewTicker(beat)
	defer timer.Stop()
	for {
		if st.ended = s.ctx.Err() != nil; st.ended {
			st.version = -1 // so that a last state is sent
		}
		wake, more := st.fillBuffer()
		if st.flushBuffer() != nil || st.ended && !more {
			return nil, nil
		}
		if more {
			continue
		}
		select {
		case <-wake:
		case <-timer.C:
			st.out.WriteString(":\n\n")
		case <-s.ctx.Done():
		case <-r.Context().Done():
			return nil, nil
		}
	}
}

// fillBuffer writes new events to the buffer. If there are many, it writes a part of them, and more is true.
func (st *stream) fillBuffer() (wake <-chan struct{}, more bool) {
	l := &st.s.log
	l.mu.Lock()
	// No later notice has a mark below this number, so a client that continues after a record misses no notice.
	upTo := st.s.records.Len()
	wake, version := l.nextChange(), l.version
	first := max(st.seq, l.gone)
	fresh := l.all[first-l.gone:]
	l.mu.Unlock()

	for _, n := range fresh {
		if n.mark < st.after { // the client has reconnected and already has it
			first++
			continue
		}
		if !st.writeRecords(n.mark) {
			st.seq = first
			return wake, true
		}
		st.writeEvent(n.event, n.data)
		first++
	}
	st.seq = first
	if !st.writeRecords(upTo) {
		return wake, true
	}
	if version != st.version {
		st.version = version
		st.writeState()
	}
	st.writeOwed()
	return wake, false
}

// writeRecords writes the records up to a number; false if they are too many for one write.
func (st *stream) writeRecords(upTo int) bool {
	for _, r := range firstRecords(st.s.records.Page(st.sent, atOnce), atOnce, atOnceBytes) {
		if r.N > upTo {
			return true
		}
		data, err := json.Marshal(st.s.recordView(r), jsonform.Escaped)
		if err == nil {
			fmt.Fprintf(&st.out, "id: %d\n", r.N)
			st.writeEvent("record", data)
		}
		st.sent = r.N
	}
	return st.sent >= upTo
}

func (st *stream) writeEvent(name string, data []byte) {
	fmt.Fprintf(&st.out, "event: %s\ndata: %s\n\n", name, data)
}

// tell writes an event with a body as JSON.
func (st *stream) tell(name string, body any) {
	if data, err := json.Marshal(body, jsonform.Escaped); err == nil {
		st.writeEvent(name, data)
	}
}

// writeState writes the present state, which replaces the one sent before. That the session has ended is written last,
// behind every record.
func (st *stream) writeState() {
	view := st.s.sessionView()
	if view.State == "ended" && !st.ended {
		return
	}
	if st.s.kind != kindReplay {
		st.tell("outcomes", st.s.worstOutcomes())
	}
	st.tell("state", view)
	if st.s.kind == kindPlay {
		st.tell("held", st.s.heldMessages(heldInEvent))
	}
	st.s.mu.Lock()
	progress := st.s.progress
	st.s.mu.Unlock()
	if progress != nil {
		st.tell("run", *progress)
	}
}

// flushBuffer sends the buffer.
func (st *stream) flushBuffer() error {
	if st.out.Len() == 0 {
		return nil
	}
	_ = st.control.SetWriteDeadline(time.Now().Add(patience))
	_, err := st.w.Write(st.out.Bytes())
	st.out.Reset()
	if err != nil {
		return err
	}
	return st.control.Flush()
}
