package odd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/reference-server/agentselect"
	"parley/reference-server/launch"
	"parley/test/suitetest"
)

// closesFormer is a server that ends a connection after another one has loaded its session: some time later, or, with
// a negative time, when that connection sends its next message.
type closesFormer struct {
	launch.Handler
	after time.Duration

	mu      sync.Mutex
	streams map[string]context.CancelFunc // by connection
	owners  map[string]string             // session → connection
	formers map[string]bool               // connections that their next message ends
}

var givenID = regexp.MustCompile(`"connectionId":"([^"]+)"`)

// stream is a response that tells the connection id in the first event.
type stream struct {
	http.ResponseWriter
	opened func(id string)
}

func (s *stream) Write(b []byte) (int, error) {
	if m := givenID.FindSubmatch(b); m != nil && s.opened != nil {
		s.opened(string(m[1]))
		s.opened = nil
	}
	return s.ResponseWriter.Write(b)
}

func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *stream) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

func (h *closesFormer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		ctx, end := context.WithCancel(r.Context())
		defer end()
		h.Handler.ServeHTTP(&stream{w, func(id string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.streams[id] = end
		}}, r.WithContext(ctx))
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct{ ConnectionID string }
	_ = json.Unmarshal(body, &asked)
	if !strings.HasPrefix(r.URL.Path, "/session/") {
		h.mu.Lock()
		if h.formers[asked.ConnectionID] {
			h.streams[asked.ConnectionID]()
		}
		h.mu.Unlock()
		h.Handler.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	h.Handler.ServeHTTP(answer, r)
	var given struct{ Session struct{ ID string } }
	_ = json.Unmarshal(answer.Body.Bytes(), &given)
	if given.Session.ID != "" {
		h.mu.Lock()
		former := h.owners[given.Session.ID]
		h.owners[given.Session.ID] = asked.ConnectionID
		switch end := h.streams[former]; {
		case end == nil, former == asked.ConnectionID:
		case h.after < 0:
			h.formers[former] = true
		default:
			time.AfterFunc(h.after, end)
		}
		h.mu.Unlock()
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// TestClosesFormer checks that a server which ends the former connection of a session, at once or later, breaks
// nothing: that connection has no session any more (AS-094).
func TestClosesFormer(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{-1, 0, 3 * time.Millisecond, 30 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			suitetest.AwaitTurn(t)
			res := suitetest.JudgeAgentSelect(t, "@AS-094", func(o agentselect.Options) (launch.Handler, error) {
				h, err := agentselect.New(o)
				return &closesFormer{Handler: h, after: after, streams: map[string]context.CancelFunc{},
					owners: map[string]string{}, formers: map[string]bool{}}, err
			})
			if got := suitetest.Broken(res); len(got) > 0 {
				t.Errorf("broken %v\n%s", got, suitetest.Console(t, res))
			}
		})
	}
}
