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

// closesFormer is a server that ends a connection some time after another one has loaded its session.
type closesFormer struct {
	launch.Handler
	after time.Duration

	mu      sync.Mutex
	streams map[string]context.CancelFunc // by connection
	owners  map[string]string             // session → connection
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
	case !strings.HasPrefix(r.URL.Path, "/session/"):
		h.Handler.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	h.Handler.ServeHTTP(answer, r)
	var asked struct{ ConnectionID string }
	var given struct{ Session struct{ ID string } }
	_, _ = json.Unmarshal(body, &asked), json.Unmarshal(answer.Body.Bytes(), &given)
	if given.Session.ID != "" {
		h.mu.Lock()
		former := h.owners[given.Session.ID]
		h.owners[given.Session.ID] = asked.ConnectionID
		if end := h.streams[former]; end != nil && former != asked.ConnectionID {
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
	for _, after := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			suitetest.AwaitTurn(t)
			res := suitetest.JudgeAgentSelect(t, "@AS-094", func(o agentselect.Options) (launch.Handler, error) {
				h, err := agentselect.New(o)
				return &closesFormer{Handler: h, after: after, streams: map[string]context.CancelFunc{},
					owners: map[string]string{}}, err
			})
			if got := suitetest.Broken(res); len(got) > 0 {
				t.Errorf("broken %v\n%s", got, suitetest.Console(t, res))
			}
		})
	}
}
