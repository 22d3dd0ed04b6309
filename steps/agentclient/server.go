package agentclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/model"
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
	case kind == model.StreamType:
		return sse.Answer{Stream: true}
	case kind == model.CreateType && v.refuse:
		return sse.Answer{Status: http.StatusServiceUnavailable, Body: []byte(`{"success":false,"error":"no session now"}`)}
	case kind == model.CreateType:
		id := fmt.Sprintf("sess-%s-%s%d", v.nonce, strings.ToLower(v.party[:1]), len(v.sessions)+1)
		v.sessions = append(v.sessions, id)
		v.Fields.Answer.SessionID.Put(done, id)
	case kind == model.LoadType:
		id, _ := data[vocab.SessionID].(string)
		v.Fields.Answer.SessionID.Put(done, id)
	case kind == model.ListType:
		list := []any{}
		for _, id := range v.sessions {
			list = append(list, map[string]any{"id": id, vocab.SessionID: id, "name": id, "title": id})
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

func (s *suite) registerStreams(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server (ends the stream|resets the stream|goes away)$`, s.streamEnds)
	steps.Step(sc, `^the page closes the stream$`, s.closesStream)
	steps.Step(sc, `^the page reconnects$`, s.reconnects)
	steps.Step(sc, `^the server sends each event on all streams of the page, once a second one had time to open$`,
		s.usesAllStreams)
}

// stands waits for an open event stream of the page that was opened after a record, and reports whether there is one.
func (s *suite) stands(ctx context.Context, after int, within time.Duration) bool {
	v := s.now.server
	limited, cancel := deadline.WithLimit(ctx, s.Limit(within))
	defer cancel()
	limited, seen := s.UntilSevered(limited)
	defer seen()
	defer s.Idles()()
	_, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
		return v.ofStreams(r) && r.Dir == transcript.Sent && r.Kind == transcript.Stream && r.Label == retry &&
			v.stands(r.Conn)
	})
	return err == nil
}

// streamEnds ends the page's event stream.
func (s *suite) streamEnds(how string) error {
	p := s.now
	st := p.server.stream()
	if st == nil {
		return steps.NotTestedf("the page has no event stream open")
	}
	s.remember()
	p.word = s.T.Len()
	switch how {
	case "ends the stream":
		st.End(driver.Graceful)
	case "resets the stream":
		st.End(driver.Reset)
	case "goes away":
		p.away = true
		p.server.l.Pause()
	}
	return nil
}

func (s *suite) closesStream(ctx context.Context) error {
	_, err := s.settled(ctx, model.StreamEnd, true)
	return err
}

// reconnects waits until the page reconnects, by itself or else because the user connects.
func (s *suite) reconnects(ctx context.Context) error {
	p := s.now
	p.server.release()
	if p.away {
		if err := p.server.l.Resume(); err != nil {
			return err
		}
		p.away = false
	}
	limits := s.Env.Profile.Limits
	if p.returned = s.comesBack(ctx); !p.returned {
		if l, _ := s.latest(); usable(l, model.Connect) {
			if err := s.act(ctx, "the user connects", click(model.Connect)); err != nil {
				s.Note("the user could not connect again: %v", err)
			}
		}
		if !s.stands(ctx, p.word, max(limits.Open.Duration, limits.Event.Duration)) {
			return steps.NotTestedf("the page did not ask for the events again, neither by itself nor when the user connected")
		}
	}
	p.session = ""
	return s.greets(ctx)
}

// secondAttempt is how long a page may take to reconnect a second time, beside the browser, which has reconnected.
const secondAttempt = 3 * time.Second

// usesAllStreams waits whether a page that has reconnected opens another stream, which the server greets like any
// other. If it keeps the first, the server sends each event on both. A page whose user had to connect is not judged:
// the click may have crossed an attempt of its own.
func (s *suite) usesAllStreams(ctx context.Context) error {
	p := s.now
	mark, open := s.T.Len(), p.server.streams()
	if !p.returned || len(open) == 1 && !s.stands(ctx, mark, secondAttempt) {
		return nil
	}
	agents, current := p.agents, p.current
	if err := inOrder(ctx, s.greets, func(ctx context.Context) error {
		return s.lists(ctx, agents, current, "")
	}); err != nil {
		return err
	}
	p.doubled = len(p.server.streams()) > 1
	return nil
}

// returns is the key in Env.Learnt for whether the target reconnects by itself before a user would click.
type returns struct{}

// comesBack reports whether the page reconnects by itself. A user takes about a second to notice a loss and to click;
// a page that has once failed to reconnect in that time gets only the quiet window from then on. A click on connect
// between the attempts of a page that reconnects by itself may lead to two event streams, which no scenario covers.
func (s *suite) comesBack(ctx context.Context) bool {
	yes, learnt := s.learnt(returns{})
	within := s.Env.Profile.Limits.Quiet.Duration
	if !learnt || yes {
		within = max(within, lateness)
	}
	back := s.stands(ctx, s.now.word, within)
	if back || !learnt {
		s.Env.Learnt.Store(returns{}, back)
	}
	return back
}
