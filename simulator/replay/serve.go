package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"

	"parley/internal/deadline"
	"parley/protocol/messages"
	"parley/transport/driver/stdio"
	"parley/transport/recording"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// liveClient is where a live client comes in.
type liveClient interface {
	// decide answers a request or opening, of which asked is the number. conn is what an accepted connection is called.
	decide(asked int, conn string, r transcript.Record, body []byte)
	// refuse answers what was not recorded.
	refuse(asked int)
	// send sends a message; the error says why it cannot be sent.
	send(ctx context.Context, conn string, r transcript.Record, body []byte) error
	// end ends a connection.
	end(conn string, status int, reason string, broken bool)
	// open reports whether a client is connected.
	open() bool
	// close ends everything, once all answers are written.
	close()
}

// server plays the server of a recording.
type server struct {
	*player
	door  liveClient
	marks map[int]int     // recorded number of a request or opening → its number now, until it is answered
	spoke map[string]bool // recorded connections on which something was sent

	come sync.Once
	here chan struct{} // closed when the client has come
}

// Serve plays the server of a recording for a live client that connects to o.Addr, by HTTP, event streams and
// WebSockets. It waits for the client without a limit, and returns when all is played. Errors: ErrNothing; those of the
// recording, and of the address; the context's cause.
func Serve(ctx context.Context, in *recording.Reader, o Options) (Result, error) {
	s := newServer(o)
	web, err := listenWeb(s, o.Addr)
	if err != nil {
		return Result{}, err
	}
	if o.Ready != nil {
		o.Ready(web.url)
	}
	return s.serveClient(ctx, in, web)
}

// ServeLines plays the server of a recording that was made over stdio: the client writes to in, and reads from out.
// Each line is a message. The errors are those of Serve. in is read until it ends or the replay is over; a Read that is
// under way then is left behind.
func ServeLines(ctx context.Context, rec *recording.Reader, in io.Reader, out io.Writer, o Options) (Result, error) {
	s := newServer(o)
	return s.serveClient(ctx, rec, newLines(s, in, out))
}

func newServer(o Options) *server {
	o.setDefaults()
	p := &player{o: o, ids: newIDs(), rules: rules{set: o.Messages, from: messages.Client}}
	p.came = newWaiting(transcript.Sent, p.rules.decodeRecord)
	s := &server{player: p, marks: map[int]int{}, spoke: map[string]bool{}, here: make(chan struct{})}
	p.side = s
	return s
}

func (s *server) serveClient(ctx context.Context, in *recording.Reader, at liveClient) (Result, error) {
	s.door = at
	defer at.close()
	defer s.came.stopWaiting()
	err := s.playRecording(ctx, recording.NewClientView(in))
	return s.result, err
}

func (s *server) otherDir() transcript.Dir { return transcript.Sent }

// awaitFirst waits until the client has come.
func (s *server) awaitFirst(ctx context.Context) error {
	select {
	case <-s.here:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeRequest takes an opening or request of the client, and returns its number.
func (s *server) takeRequest(r transcript.Record, known func(n int)) {
	s.come.Do(func() { close(s.here) })
	r.Dir, r.N = transcript.Sent, s.came.numberRecord()
	known(r.N)
	s.came.putRecord(askedIn(r), r)
}

// takeMessage takes a message on a connection, of which conn is the recorded name.
func (s *server) takeMessage(conn string, r transcript.Record) {
	r.Conn, r.Dir, r.N = conn, transcript.Sent, s.came.numberRecord()
	s.came.putRecord(thread{conn: conn}, r)
}

// askedIn is the thread of an opening or request: the order counts among those to one place. A GET may open a stream
// without asking for an event stream.
func askedIn(r transcript.Record) thread {
	at := placeOf(r)
	if strings.HasSuffix(r.Label, " (upgrade)") {
		at += " (upgrade)"
	}
	return thread{place: at}
}

func (s *server) threadOf(r transcript.Record) thread {
	if r.Dir == transcript.Sent && (r.Kind == transcript.Open || r.Kind == transcript.Request) {
		return askedIn(r)
	}
	return thread{conn: r.Conn}
}

func (s *server) mayThink() bool { return s.o.Thinks && s.door.open() }

// skipsRecord reports whether a record of the client is not awaited: when it leaves is its own affair, and what
// browsers ask by themselves is answered by the door.
func (s *server) skipsRecord(r transcript.Record) bool {
	return r.Kind == transcript.Closed || r.Kind == transcript.Request && strings.HasPrefix(r.Label, "OPTIONS ")
}

// playEarly plays the next message of the server: a client that waits for it was recorded not to wait.
func (s *server) playEarly(ctx context.Context, pending []message, some bool) (bool, error) {
	held := map[string]bool{} // connections on which something else has to come first
	asks := false             // what follows is behind something more that the client has to do
	r, ok := s.in.takeFirst(func(r transcript.Record) bool {
		asks = asks || isCompared(r, s.otherDir()) && !s.skipsRecord(r)
		if r.Kind == transcript.Stream || r.Kind == transcript.Frame {
			held[r.Conn] = held[r.Conn] || asks || !some && (s.spoke[r.Conn] || repeatsText(r, pending))
		}
		if held[r.Conn] {
			return false
		}
		if r.Late || r.Cut > 0 || !isPlayed(r, transcript.Sent) || r.Kind == transcript.Closed {
			return false
		}
		_, asked := s.marks[r.Reply]
		return r.Kind == transcript.Stream || r.Kind == transcript.Frame || asked
	})
	if !ok || bytes.Contains(r.Bytes, []byte(transcript.Blank)) {
		return false, nil
	}
	return true, s.playAct(ctx, r)
}

func (s *server) notePaired(want, got message) {
	if want.Kind == transcript.Open || want.Kind == transcript.Request {
		s.marks[want.N] = got.N
		if len(s.marks) > 2*maxMarks {
			maps.DeleteFunc(s.marks, func(old, _ int) bool { return old < want.N-maxMarks })
		}
	}
}

func (s *server) noteSurplus(m message) {
	if m.Kind == transcript.Open || m.Kind == transcript.Request {
		s.door.refuse(m.N)
	}
}

func (s *server) playAct(ctx context.Context, r transcript.Record) error {
	switch r.Kind {
	case transcript.Open, transcript.Response, transcript.Failure:
		asked, known := s.marks[r.Reply]
		if !known { // that it did not come has been said
			return nil
		}
		if refusedLater(r) {
			return nil
		}
		s.result.Sent++
		delete(s.marks, r.Reply)
		s.door.decide(asked, r.Conn, r, s.ids.outgoingMessage(s.rules.readFrom(r, messages.Server)))
		return nil
	case transcript.Closed:
		s.door.end(r.Conn, r.Status, reasonOf(r.Label), strings.Contains(r.Label, "broke off"))
		return nil
	}
	s.spoke[r.Conn] = true
	m := s.rules.readFrom(r, messages.Server)
	limited, cancel := deadline.WithLimit(ctx, s.o.Within)
	defer cancel()
	s.result.Sent++
	switch err := s.door.send(limited, r.Conn, r, s.ids.outgoingMessage(m)); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		s.reportUnsent(m, fmt.Sprintf("the client has not read for %s", s.o.Within))
	case err != nil:
		s.reportUnsent(m, err.Error())
	}
	return nil
}

// refusedLater reports whether an opening is the first record of a refusal, whose second one has all that was answered.
func refusedLater(r transcript.Record) bool {
	return r.Kind == transcript.Open && r.Status != 0 && r.Status != 101 && r.Status != 200
}

// reasonOf returns the reason of a close frame, which the record of its end quotes.
func reasonOf(label string) string {
	_, quoted, _ := strings.Cut(label, ": ")
	reason, err := strconv.Unquote(quoted)
	if err != nil {
		return ""
	}
	return reason
}

// errNotOpen is why a message cannot be sent on a connection that has ended, or never was.
var errNotOpen = errors.New("its connection is not open")

// stdioPlace is how the opening of a connection over stdio is recorded.
const stdioPlace = stdio.Name

// repeatsText reports whether a message of the server has a text of one that the client has not sent yet: it may answer
// it.
func repeatsText(r transcript.Record, pending []message) bool {
	for _, m := range pending {
		if !m.json {
			return true // nothing is known of it
		}
		for _, text := range textsIn(m.value, nil) {
			if len(text) > 1 && bytes.Contains(r.Bytes, []byte(text)) {
				return true
			}
		}
	}
	return false
}

// textsIn appends the texts of a JSON value.
func textsIn(v any, all []string) []string {
	switch v := v.(type) {
	case wjson.Object:
		for _, one := range v {
			all = textsIn(one, all)
		}
	case []any:
		for _, one := range v {
			all = textsIn(one, all)
		}
	case string:
		all = append(all, v)
	}
	return all
}

// lines is the door by stdin and stdout.
type lines struct {
	s   *server
	in  io.Reader
	out io.Writer

	mu   sync.Mutex
	conn string
	over bool
}

func (l *lines) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// newLines begins with the client's opening: it has started this process.
func newLines(s *server, in io.Reader, out io.Writer) *lines {
	l := &lines{s: s, in: in, out: out}
	s.takeRequest(transcript.Record{Kind: transcript.Open, Label: stdioPlace}, func(int) {})
	return l
}

func (l *lines) decide(_ int, conn string, r transcript.Record, _ []byte) {
	if r.Kind != transcript.Open {
		return
	}
	l.mu.Lock()
	first := l.conn == ""
	l.conn = conn
	l.mu.Unlock()
	if first {
		go l.readLines()
	}
}

func (l *lines) refuse(int) {}

// openConn returns the connection that is open, and whether the replay is over.
func (l *lines) openConn() (conn string, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.over
}

// readLines reads lines until stdin ends. Each is of the connection that is open.
func (l *lines) readLines() {
	in := bufio.NewScanner(l.in)
	in.Buffer(make([]byte, 64<<10), maxMessage)
	for in.Scan() {
		conn, over := l.openConn()
		if over {
			return
		}
		l.s.takeMessage(conn, transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: bytes.Clone(in.Bytes())})
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		conn, _ := l.openConn()
		l.s.takeMessage(conn, transcript.Record{Kind: transcript.Failure,
			Bytes: fmt.Appendf(nil, "a line of more than %d bytes; nothing is read behind it", maxMessage)})
	}
}

var errBinary = errors.New("it is binary or has a line feed, and a message over stdio is a line of text")

func (l *lines) send(_ context.Context, _ string, r transcript.Record, body []byte) error {
	if r.Type == "binary" || bytes.IndexByte(body, '\n') >= 0 {
		return errBinary
	}
	if _, err := l.out.Write(append(bytes.Clone(body), '\n')); err != nil {
		return errNotOpen
	}
	return nil
}

func (l *lines) end(string, int, string, bool) {}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}
