package agentclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// agent is an entry of the lists that the scripted server sends.
type agent struct {
	id, name, description string
	more                  fields // members that are not in the document
}

// server is the scripted agent-select server of one page. The scenario sets its answers; the transcript records what
// happens: its requests are those of the party "A api", its streams are the connections "A api 1", "A api 2", …
type server struct {
	wire
	party string // party of the requests in the transcript
	nonce string
	l     *sse.Listener
	// wraps the connection of a stream, under its name, so that it can be cut; see steps.World.Accepted
	accepted func(party string, conn driver.Conn) driver.Conn
	told     *driver.Tap // closed with the page: what the page sends while closing is not judged

	mu       sync.Mutex
	lines    map[*sse.Streamed]driver.Conn // messages on the streams are sent through these
	sessions []string                      // sessions given, the latest last
	refuse   bool                          // refuse sessions
	hold     bool                          // do not answer the page's requests yet
	held     []func()                      // send the held answers
}

// listen starts the scripted server of a page.
func (s *suite) listen(page string) (*server, error) {
	srv := &server{wire: s.wire, party: page + " api", nonce: s.Nonce, told: driver.NewTap(s.Sink()),
		accepted: s.Accepted, lines: map[*sse.Streamed]driver.Conn{}}
	l, err := sse.Listen(sse.ListenOptions{
		Sink:   srv.told.Sink,
		Party:  func(*http.Request) string { return srv.party },
		Answer: srv.answer,
		Opened: srv.opened,
	})
	if err != nil {
		return nil, err
	}
	srv.l = l
	return srv, nil
}

// retry labels the first line of every stream.
const retry = "retry"

func (v *server) opened(_ sse.Incoming, st *sse.Streamed) {
	v.set(func() { v.lines[st] = v.accepted(st.Conn(), line{st}) })
	// This asks a client that reconnects by itself, as EventSource does, not to wait long.
	_, _ = v.send(context.Background(), st, retry, []byte("retry: 10\n\n"))
}

// send writes to an event stream, as sse.Streamed.Emit does.
func (v *server) send(ctx context.Context, st *sse.Streamed, label string, body []byte) (int, error) {
	var to driver.Conn
	v.set(func() { to = v.lines[st] })
	if to == nil { // the stream is being opened
		return st.Emit(ctx, label, body)
	}
	return to.Send(ctx, driver.Message{Label: label, Body: body})
}

// line is the harness's side of an event stream.
type line struct{ st *sse.Streamed }

// Send implements driver.Conn.
func (l line) Send(ctx context.Context, m driver.Message) (int, error) {
	return l.st.Emit(ctx, m.Label, m.Body)
}

// Close implements driver.Conn.
func (l line) Close(how driver.CloseMode) error { l.st.End(how); return nil }

// answer answers a request of the page.
func (v *server) answer(in sse.Incoming) sse.Answer {
	kind, data, ok := v.asked(in.Request.Method, in.Request.URL.Path, in.Body)
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.settled(kind, data, ok)
	if v.hold && !a.Stream && in.Request.Method != http.MethodGet {
		later := make(chan sse.Answer, 1)
		v.held = append(v.held, func() { later <- a })
		return sse.Answer{After: later}
	}
	return a
}

func (v *server) settled(kind string, data fields, ok bool) sse.Answer {
	done := map[string]any{}
	v.Fields.Answer.Success.Put(done, true)
	switch {
	case !ok:
		return sse.Answer{Status: http.StatusNotFound, Body: []byte(`{"success":false,"error":"not found"}`)}
	case kind == askStream:
		return sse.Answer{Stream: true}
	case kind == askCreate && v.refuse:
		return sse.Answer{Status: http.StatusServiceUnavailable, Body: []byte(`{"success":false,"error":"no session now"}`)}
	case kind == askCreate:
		id := fmt.Sprintf("sess-%s-%s%d", v.nonce, strings.ToLower(v.party[:1]), len(v.sessions)+1)
		v.sessions = append(v.sessions, id)
		v.Fields.Answer.SessionID.Put(done, id)
	case kind == askLoad:
		id, _ := data["sessionId"].(string)
		v.Fields.Answer.SessionID.Put(done, id)
	case kind == askList:
		list := []any{}
		for _, id := range v.sessions {
			list = append(list, map[string]any{"id": id, "sessionId": id, "name": id, "title": id})
		}
		done["sessions"] = list
	case kind == askHealth:
		done["status"] = "ok"
	}
	return sse.Answer{Body: encode(done)}
}

// release answers the held requests and stops holding.
func (v *server) release() {
	v.mu.Lock()
	held := v.held
	v.held, v.hold = nil, false
	v.mu.Unlock()
	for _, answer := range held {
		answer()
	}
}

// set changes how the server behaves.
func (v *server) set(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
}

// stream returns the page's latest open event stream.
func (v *server) stream() *sse.Streamed {
	all := v.streams()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// streams returns the page's open event streams, the latest last.
func (v *server) streams() []*sse.Streamed { return v.l.Streams(v.party) }

// stands reports whether the named event stream is open.
func (v *server) stands(conn string) bool {
	for _, st := range v.streams() {
		if st.Conn() == conn {
			return true
		}
	}
	return false
}

// ofStreams reports whether a record belongs to an event stream of this server.
func (v *server) ofStreams(r *transcript.Record) bool { return strings.HasPrefix(r.Conn, v.party+" ") }

// close closes the server and drops what it holds.
func (v *server) close() {
	v.release()
	v.l.Close()
}
