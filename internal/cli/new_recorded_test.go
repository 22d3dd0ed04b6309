package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// roomServer is the server of testdata/har: it makes rooms, and each is reached over a WebSocket, over an event stream
// with messages by POST, and by runs that are answered by event streams. What is no room of its own has no place there.
type roomServer struct {
	mu      sync.Mutex
	rooms   map[string]bool
	clients map[string]chan string // events, by client
	faulty  bool                   // a run that is done does not say which
}

func (s *roomServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/rooms", s.makeRoom)
	mux.HandleFunc("GET /rooms/{room}/ws", s.inRoom(s.socket))
	mux.HandleFunc("GET /rooms/{room}/events", s.inRoom(s.events))
	mux.HandleFunc("POST /rooms/{room}/messages", s.inRoom(s.message))
	mux.HandleFunc("POST /rooms/{room}/runs", s.inRoom(s.run))
	return mux
}

func (s *roomServer) makeRoom(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Name string }
	if json.NewDecoder(r.Body).Decode(&asked) != nil || asked.Name == "" {
		http.Error(w, "no name", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	id := fmt.Sprintf("room-%06d", len(s.rooms))
	s.rooms[id] = true
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"room":{"id":%q}}`, id)
}

func (s *roomServer) inRoom(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		known := s.rooms[r.PathValue("room")]
		s.mu.Unlock()
		if !known {
			http.Error(w, "no such room", http.StatusNotFound)
			return
		}
		do(w, r)
	}
}

// enter returns a new client of a room.
func (s *roomServer) enter() (string, chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("c-%06d", len(s.clients))
	s.clients[id] = make(chan string, 10)
	return id, s.clients[id]
}

type say struct{ Type, From, N, Text string }

func (s *roomServer) socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow() //nolint:errcheck // it may have ended
	id, _ := s.enter()
	write := func(text string) { _ = c.Write(r.Context(), websocket.MessageText, []byte(text)) }
	write(fmt.Sprintf(`{"type":"hello","client":%q}`, id))
	for {
		_, text, err := c.Read(r.Context())
		if err != nil {
			return
		}
		var m say
		if json.Unmarshal(text, &m) == nil && m.From == id && m.Type == "say" {
			write(fmt.Sprintf(`{"type":"said","n":%q,"text":%q}`, m.N, m.Text))
		}
	}
}

func (s *roomServer) events(w http.ResponseWriter, r *http.Request) {
	id, events := s.enter()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"hello\",\"client\":%q}\n\n", id)
	for {
		w.(http.Flusher).Flush()
		select {
		case text := <-events:
			fmt.Fprintf(w, "event: said\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

func (s *roomServer) message(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	to := s.clients[r.URL.Query().Get("client")]
	s.mu.Unlock()
	var m say
	if to == nil || json.NewDecoder(r.Body).Decode(&m) != nil || m.Type != "say" {
		http.Error(w, "no client", http.StatusBadRequest)
		return
	}
	to <- fmt.Sprintf(`{"n":%q,"text":%q}`, m.N, m.Text)
	w.WriteHeader(http.StatusAccepted)
}

func (s *roomServer) run(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Messages) == 0 || asked.Messages[0].Role != "user" {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := []string{`run.started {"run":"r1"}`, `delta {"text":"x"}`, `run.done {"run":"r1"}`}
	if s.faulty {
		events[2] = `run.done {}`
	}
	for _, event := range events {
		name, data, _ := strings.Cut(event, " ")
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	}
}

// TestNewFromHAR: what the developer tools of a browser have exported becomes a folder with which the server of that
// traffic is judged: ids of one client have become holes, and what it asked before it connected is asked.
func TestNewFromHAR(t *testing.T) {
	files, err := filepath.Abs("testdata/har")
	if err != nil {
		t.Fatal(err)
	}
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	s := &roomServer{rooms: map[string]bool{}, clients: map[string]chan string{}}
	srv := httptest.NewServer(s.handler())
	t.Cleanup(srv.Close)
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		"socket": `{"from":"${client}","n":"${new}","text":"${new}"}`,
		"events": `sse: {open: "/rooms/${room}/events", send: "POST /rooms/${room}/messages?client=${client}"}`,
		"fetch":  `post: {path: "/rooms/${room}/runs"}`,
	} {
		args := []string{"new", name, "--from", filepath.Join(files, name+".har")}
		if _, said, code := invoke(t, args...); code != 0 && name != "events" ||
			name == "events" && !strings.Contains(said, "choose one (--origin): http://localhost:3000 (3)") {
			t.Fatalf("%s: exit %d: %s", name, code, said)
		}
		if name == "events" {
			if _, said, code := invoke(t, append(args, "--origin", "http://localhost:3000")...); code != 0 {
				t.Fatalf("%s: exit %d: %s", name, code, said)
			}
		}
		text, err := os.ReadFile(filepath.Join(name, "protocol.yaml"))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "83af21") ||
			!strings.Contains(string(text), `before: {request: "POST /api/rooms", body: {"name":"red"}}`) {
			t.Errorf("%s: %v, want %s in\n%s", name, err, want, text)
		}
		for _, args := range [][]string{
			{"run", "--target", srv.URL},
			{"run", "--target", srv.URL, "--explore", "5"},
			{"doctor", srv.URL},
			{"init", srv.URL, "-o", name + ".yaml"},
			{"run", "--target", name + ".yaml"},
			{"recording", "judge", filepath.Join(files, name+".har"), "--origin", "http://localhost:3000"},
		} {
			suite, bundle = before, bundled
			var out strings.Builder
			code := runParley(append(args, "--protocol", "./"+name),
				&streams{In: strings.NewReader(""), Out: &out, Err: &out})
			if said := out.String(); code != 0 || strings.Contains(said, "single records") ||
				strings.Contains(said, "explored-001") && name != "socket" {
				t.Errorf("%s: %q: exit %d: %s", name, args, code, said)
			}
		}
	}
}

// TestRecordingOfAnswersAsHAR: a recording of requests that are answered by event streams is judged the same when it
// was written as HAR.
func TestRecordingOfAnswersAsHAR(t *testing.T) {
	file, err := filepath.Abs("testdata/har/fetch.har")
	if err != nil {
		t.Fatal(err)
	}
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	s := &roomServer{rooms: map[string]bool{}, faulty: true}
	srv := httptest.NewServer(s.handler())
	t.Cleanup(srv.Close)
	t.Chdir(t.TempDir())
	do := func(want int, args ...string) {
		t.Helper()
		suite, bundle = before, bundled
		var out, errs strings.Builder
		if code := runParley(args, &streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != want {
			t.Fatalf("%q: exit %d: %s%s", args, code, out.String(), errs.String())
		}
	}
	do(0, "new", "rooms", "--from", file)
	do(1, "run", "--protocol", "./rooms", "--target", srv.URL, "--out", "live")
	files, err := filepath.Glob("live/transcripts/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	broken := false
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "run.done") {
			continue
		}
		broken = true
		do(0, "recording", name, "--to", "har", "-o", "it.har")
		do(1, "recording", "judge", name, "--protocol", "./rooms", "--out", "direct")
		do(1, "recording", "judge", "it.har", "--protocol", "./rooms", "--out", "again")
		sameJudged(t, resultsIn(t, "direct"), resultsIn(t, "again"))
	}
	if !broken {
		t.Errorf("no recording of %q has the fault", files)
	}
}
