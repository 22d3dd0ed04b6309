package probe_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"parley/internal/probetest"
	vocab "parley/protocol/agentselect"
	server "parley/reference-server/agentselect"
	"parley/steps/agentselect"
	"parley/steps/agentselect/binding"
)

// particular is an agent-select server whose endpoints, by path, each identify their connection in their own way: by
// a header or a body field. Anything else is ignored.
type particular struct {
	http.Handler
	ways map[string]binding.Correlation
}

func (p particular) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	how, ok := p.ways[r.URL.Path]
	if !ok || r.Method != http.MethodPost {
		p.Handler.ServeHTTP(w, r)
		return
	}
	b, err := io.ReadAll(r.Body)
	body := map[string]any{}
	if err != nil || json.Unmarshal(b, &body) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	id, _ := how.Body.Get(body)
	if how.Header != "" {
		id = r.Header.Get(how.Header)
	}
	delete(body, "connectionId")
	if id != nil && id != "" {
		body[vocab.ConnectionID] = id
	}
	b, _ = json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	p.Handler.ServeHTTP(w, r)
}

// TestProbeOfLoading checks that loading a session may identify its connection differently from creation and
// messages.
func TestProbeOfLoading(t *testing.T) {
	field := binding.Correlation{Body: "/connectionId"}
	header := binding.Correlation{Header: "X-Connection-Id"}
	for _, tt := range []struct {
		name                  string
		create, load, message binding.Correlation
		want                  binding.Correlation
		says                  string
	}{
		{"all alike", field, field, field, field, "two connections each got a session"},
		{"by a header", header, header, header, header, "two connections each got a session"},
		{"loading alone otherwise", field, header, field, binding.Correlation{Body: field.Body, Load: &header},
			"POST /session/load names its connection by {header: X-Connection-Id}"},
		{"creating alone otherwise, which is for the user to say", header, field, field, field,
			"no way was found to create a session"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := server.New(server.Options{})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(particular{h, map[string]binding.Correlation{
				"/session/create": tt.create, "/session/load": tt.load, "/message": tt.message}})
			defer func() {
				srv.CloseClientConnections()
				_ = h.Close(context.Background())
				srv.Close()
			}()
			p, said := probetest.Profile(t, agentselect.Protocol{}, srv.URL)
			if diff := cmp.Diff(tt.want, binding.Of(p).Correlation); diff != "" || !strings.Contains(said, tt.says) {
				t.Errorf("- want + got\n%s\n%s", diff, said)
			}
		})
	}
}
