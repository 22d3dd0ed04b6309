package mutants

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// How long a test waits for an expected event. Each wait that a mutant lets fail costs the whole time, so mutants get
// less.
const (
	patience          = time.Minute
	patienceWithFault = 2 * time.Second
)

// stage is a server whose clients are called in process. Events are written to a stream before the HTTP response to
// their message, so a client's received events can be read without waiting.
type stage struct {
	t      *testing.T
	server Server
	brain  *llm.Brain
	agents string // path of the agents file
	log    strings.Builder
	wait   time.Duration
	vain   bool // an awaited event did not arrive; later waits are skipped
}

const customAgents = `
[[agents]]
id = "code_reviewer"
name = "Code Reviewer"
description = "代码审查专家"
prompt = "REVIEW"
tools = ["read_diff", "run_command", "ask_user"]
`

func newStage(t *testing.T, make func(o agentselect.Options) (Server, error)) *stage {
	t.Helper()
	s := &stage{t: t, wait: patience, brain: llm.New(), agents: filepath.Join(t.TempDir(), "main-agents.toml")}
	s.configure(customAgents)
	server, err := make(agentselect.Options{Brain: s.brain, AgentsFile: s.agents})
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (s *stage) configure(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.agents, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// note writes to the transcript.
func (s *stage) note(format string, args ...any) { fmt.Fprintf(&s.log, format+"\n", args...) }

// party is a client with an open stream.
type party struct {
	*stage
	name string
	id   any
	sess string
	out  *stream
	left context.CancelFunc
	done chan struct{}
}

// stream is the response to GET /events, in memory.
type stream struct {
	mu     sync.Mutex
	header http.Header
	status int
	text   bytes.Buffer
	heard  chan struct{} // closed and replaced at each write
}

func (w *stream) Header() http.Header { return w.header }
func (w *stream) Flush()              {}

func (w *stream) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = status
}

func (w *stream) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.heard)
	w.heard = make(chan struct{})
	return w.text.Write(p)
}

func (w *stream) read() (text string, status int, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String(), w.status, w.heard
}

// join opens a stream and waits for the greeting, or as much of it as will arrive.
func (s *stage) join(name, query string) *party {
	s.t.Helper()
	p := s.open(name, query)
	p.await(func(events []object) bool {
		return countOf(events, "agent_list") > 0 && countOf(events, "connected") > 0
	}, 1500*time.Millisecond) // longer than list-late delays
	p.identify()
	return p
}

func (s *stage) open(name, query string) *party {
	ctx, cancel := context.WithCancel(s.t.Context())
	p := &party{stage: s, name: name, left: cancel, done: make(chan struct{}),
		out: &stream{header: http.Header{}, heard: make(chan struct{})}}
	s.t.Cleanup(p.leave)
	go func() {
		defer close(p.done)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events"+query, nil)
		s.server.ServeHTTP(p.out, r)
	}()
	return p
}

// identify takes the connection's id from the greeting.
func (p *party) identify() {
	for _, ev := range p.events() {
		if d, _ := ev["data"].(object); ev["type"] == "connected" {
			p.id = d["connectionId"]
		}
	}
}

func (p *party) leave() {
	p.left()
	<-p.done
}

// events returns the events received so far.
func (p *party) events() (all []object) {
	text, _, _ := p.out.read()
	for line := range strings.Lines(text) {
		if payload, ok := strings.CutPrefix(line, "data: "); ok {
			var ev object
			if err := json.Unmarshal([]byte(payload), &ev); err != nil {
				p.t.Fatal(err)
			}
			all = append(all, ev)
		}
	}
	return all
}

// await waits for a limited time until enough events were received.
func (p *party) await(enough func(events []object) bool, limit time.Duration) bool {
	if p.vain {
		limit = 0
	}
	expired := time.After(limit)
	for {
		_, _, more := p.out.read()
		if enough(p.events()) {
			return true
		}
		select {
		case <-more:
		case <-p.done:
			return enough(p.events())
		case <-expired:
			p.vain = p.vain || limit == p.wait
			return enough(p.events())
		}
	}
}

// count awaits the nth event of a type.
func (p *party) count(kind string, n int) bool {
	return p.await(func(events []object) bool { return countOf(events, kind) >= n }, p.wait)
}

func countOf(events []object, kind string) (n int) {
	for _, ev := range events {
		if ev["type"] == kind {
			n++
		}
	}
	return n
}

// post sends a request for the party and records the response.
func (p *party) post(path string, body object) object {
	p.t.Helper()
	if _, given := body["connectionId"]; !given {
		body["connectionId"] = p.id
	}
	status, decoded := p.ask(path, body)
	p.note("%s POST %s %v -> %d %v", p.name, path, body, status, decoded["success"])
	return decoded
}

// ask sends a request and returns the response. It may be called concurrently.
func (p *party) ask(path string, body object) (status int, decoded object) {
	p.t.Helper()
	payload, err := json.Marshal(body)
	if err != nil {
		p.t.Error(err)
	}
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodPost, path, bytes.NewReader(payload))
	p.server.ServeHTTP(answer, r)
	_ = json.Unmarshal(answer.Body.Bytes(), &decoded)
	return answer.Code, decoded
}

func (p *party) send(body object) { p.t.Helper(); p.post("/message", body) }

func (p *party) create() *party {
	p.t.Helper()
	if session, ok := p.post("/session/create", object{})["session"].(object); ok {
		p.sess, _ = session["id"].(string)
	}
	return p
}

func (p *party) switchTo(id any) { p.t.Helper(); p.send(object{"type": "switch_agent", "agentId": id}) }

var volatile = regexp.MustCompile(`"timestamp":"[^"]*"`)

// transcript returns what was sent and received, without what differs from run to run.
func (s *stage) transcript(parties ...*party) string {
	text := fmt.Sprintf("waited in vain: %v\n%s", s.vain, s.log.String())
	for _, p := range parties {
		heard, status, _ := p.out.read()
		text += fmt.Sprintf("%s heard, status %d, type %s:\n%s\n", p.name, status, p.out.header.Get("Content-Type"), heard)
	}
	for i, r := range s.brain.Find(func(llm.Request) bool { return true }) {
		text += fmt.Sprintf("model call %d: %q %v %q\n", i, r.System, r.Tools, r.Messages[len(r.Messages)-1].Text)
	}
	text = volatile.ReplaceAllString(text, "")
	names := map[string]string{}
	return regexp.MustCompile(`\b(conn|sess|SESS|req)_[A-Z2-7]{26}\b`).ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("%s#%d", id[:4], len(names))
		}
		return names[id]
	})
}

func (p *party) chat(text string) {
	p.t.Helper()
	p.send(object{"type": "chat", "content": text, "sessionId": p.sess})
}

// begun waits until the latest turn sends output or a request.
func (p *party) begun() {
	p.await(func(events []object) bool {
		speaks := false
		for _, ev := range events {
			switch ev["type"] {
			case "complete":
				speaks = false
			case "message", "tool_confirmation_request", "user_question_request":
				speaks = true
			}
		}
		return speaks
	}, p.wait)
}

// held waits until a turn has sent all that comes before its hold of that name, and says that it holds.
func (p *party) held(name string) {
	p.await(func(events []object) bool {
		return slices.ContainsFunc(events, func(ev object) bool {
			data, _ := ev["data"].(object)
			text, _ := data["content"].(string)
			return strings.HasSuffix(text, "holding "+name)
		})
	}, p.wait)
}

// release lets a held turn continue, and answers the last request.
func (p *party) release() {
	p.t.Helper()
	p.brain.Release("b1")
	events := p.events()
	for i := len(events) - 1; i >= 0; i-- {
		id := events[i]["requestId"]
		switch events[i]["type"] {
		case "complete":
			return
		case "tool_confirmation_request":
			p.send(object{"type": "tool_confirmation_response", "requestId": id, "response": true})
			return
		case "user_question_request":
			p.send(object{"type": "user_question_response", "requestId": id, "response": "yes"})
			return
		}
	}
}

func (s *stage) noteConfig() {
	s.t.Helper()
	text, err := os.ReadFile(s.agents)
	if err != nil {
		s.t.Fatal(err)
	}
	s.note("agents file %q", text)
}

// joinEarly sends a message as soon as the connection has an id.
func (s *stage) joinEarly(name string) *party {
	s.t.Helper()
	p := s.open(name, "")
	p.await(func(events []object) bool { return countOf(events, "connected") > 0 }, p.wait)
	p.identify()
	p.switchTo(proto.Debugger)
	p.await(func(events []object) bool { return countOf(events, "agent_list") > 0 }, p.wait)
	return p
}

// statusOf sends a message and returns the status of its HTTP response.
func (p *party) statusOf(body object) int {
	p.t.Helper()
	before := p.log.Len()
	p.send(body)
	line := p.log.String()[before:]
	var status int
	if _, err := fmt.Sscanf(line[strings.LastIndex(line, "->"):], "-> %d", &status); err != nil {
		p.t.Fatal(err)
	}
	return status
}
