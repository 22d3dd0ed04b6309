package packs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/internal/tier"
	"parley/steps"
	"parley/steps/pack"
)

// mcpServer answers MCP over HTTP with JSON, and calls in event streams. A fault breaks one rule.
type mcpServer struct {
	fault string
	mu    sync.Mutex
	pings int
	over  map[string]bool // sessions that exist; true: it has ended
}

type rpc struct {
	Method string
	ID     any
	Params struct {
		Name, URI, ProtocolVersion string
		Meta                       struct{ ProgressToken any } `json:"_meta"`
	}
}

func (s *mcpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := s.refusal(r); status != 0 {
		http.Error(w, "", status)
		return
	}
	if r.Method == http.MethodGet {
		http.Error(w, "", http.StatusMethodNotAllowed)
		return
	}
	if r.Method == http.MethodDelete {
		s.mu.Lock()
		s.over[r.Header.Get("Mcp-Session-Id")] = true
		s.mu.Unlock()
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m rpc
	switch err := json.Unmarshal(body, &m); {
	case err != nil:
		http.Error(w, "", http.StatusBadRequest)
	case m.ID == nil && s.fault == "a notification is answered":
		fmt.Fprint(w, "{}")
	case m.ID == nil || m.Method == "" || m.Method == "ping" && s.forgets():
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, r, m)
	}
}

// forgets reports whether a ping is forgotten.
func (s *mcpServer) forgets() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings++
	return s.fault == "every other ping is forgotten" && s.pings%2 == 0
}

// refusal returns the status with which a request is refused for its headers; 0: it is not.
func (s *mcpServer) refusal(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, version := r.Header.Get("Mcp-Session-Id"), r.Header.Get("MCP-Protocol-Version")
	over, known := s.over[id]
	switch {
	case r.Header.Get("Origin") != "" && s.fault != "any page may ask":
		return http.StatusForbidden
	case version != "" && version != "2025-11-25" && s.fault != "any version":
		return http.StatusBadRequest
	case over && s.fault == "an ended session is a bad request":
		return http.StatusBadRequest
	case over:
		return http.StatusNotFound
	case !known && id == "" && r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !strings.Contains(string(body), `"initialize"`) && s.fault != "no session is needed" {
			return http.StatusBadRequest
		}
	}
	return 0
}

// answer answers a request.
func (s *mcpServer) answer(w http.ResponseWriter, r *http.Request, m rpc) {
	text := map[string]any{"type": "text", "text": "x"}
	results := map[string]any{
		"initialize": map[string]any{"protocolVersion": "2025-11-25",
			"capabilities": json.RawMessage(`{"tools": {}, "resources": {}, "prompts": {}}`),
			"serverInfo":   map[string]any{"name": "s", "version": "1"}},
		"ping":           map[string]any{},
		"tools/list":     map[string]any{"tools": []any{json.RawMessage(tool)}},
		"tools/call":     map[string]any{"content": []any{text}},
		"resources/list": map[string]any{"resources": []any{map[string]any{"uri": "a:b", "name": "b"}}},
		"resources/read": map[string]any{"contents": []any{map[string]any{"uri": "a:b", "text": "x"}}},
		"prompts/list":   map[string]any{"prompts": []any{map[string]any{"name": "p"}}},
		"prompts/get":    map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}},
	}
	if broken, is := brokenResults[s.fault]; is {
		results[broken.method] = broken.result
	}
	out := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": results[m.Method]}
	fail := func(code int) {
		delete(out, "result")
		out["error"] = map[string]any{"code": code, "message": "no"}
	}
	switch {
	case results[m.Method] == nil:
		fail(-32601)
	case m.Method == "tools/call" && (m.Params.Name == "" || m.Params.Name == "no-such-tool"):
		fail(-32602)
	case m.Method == "initialize":
		s.mu.Lock()
		id := fmt.Sprintf("s-%d", len(s.over))
		s.over[id] = false
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
	}
	if s.fault == "an answer under another id" && m.Method == "ping" {
		out["id"] = "other"
	}
	if m.Method != "tools/call" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(id string, v any) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "id: %v-%s\ndata: %s\n\n", m.ID, id, data)
	}
	if s.fault != "a stream without a first id" {
		fmt.Fprintf(w, "id: %v-0\ndata:\n\n", m.ID)
	}
	if token := m.Params.Meta.ProgressToken; token != nil {
		for i := range 2 {
			progress := i
			if s.fault == "progress that stands still" {
				progress = 0
			}
			event(fmt.Sprint("p", i), map[string]any{"jsonrpc": "2.0", "method": "notifications/progress",
				"params": map[string]any{"progressToken": token, "progress": progress}})
		}
	}
	if s.fault != "a stream without its answer" {
		event("r", out)
	}
}

// brokenResults are results that are broken by a fault.
var brokenResults = map[string]struct {
	method string
	result any
}{
	"ping has a result":      {"ping", map[string]any{"pong": true}},
	"two tools of one name":  {"tools/list", json.RawMessage(`{"tools": [` + tool + `, ` + tool + `]}`)},
	"a tool without schema":  {"tools/list", json.RawMessage(`{"tools": [{"name": "t"}]}`)},
	"content without a type": {"tools/call", json.RawMessage(`{"content": [{"text": "x"}]}`)},
	"resource without a uri": {"resources/list", json.RawMessage(`{"resources": [{"name": "x"}]}`)},
	"message without a role": {"prompts/get", json.RawMessage(`{"messages": [{"content": {"type": "text"}}]}`)},
	"server without a name":  {"initialize", json.RawMessage(`{"protocolVersion": "2025-11-25", "serverInfo": {}}`)},
}

const tool = `{"name": "t", "inputSchema": {"type": "object"}}`

// mcpFaults are the faults of the server, with the clauses that they break.
var mcpFaults = map[string]string{
	"": "", "any page may ask": "MC-027", "any version": "MC-025", "no session is needed": "MC-007 MC-022",
	"an ended session is a bad request": "MC-023", "a notification is answered": "MC-003 MC-006",
	"an answer under another id":    "MC-028 MC-036",
	"every other ping is forgotten": "MC-008 MC-036", "a stream without a first id": "MC-009",
	"progress that stands still": "MC-033", "a stream without its answer": "MC-010 MC-029 MC-032",
	"ping has a result":     "MC-030",
	"two tools of one name": "MC-031", "a tool without schema": "MC-031", "content without a type": "MC-032",
	"resource without a uri": "MC-037", "message without a role": "MC-039", "server without a name": "MC-001",
}

// TestMCP: the pack of MCP finds nothing broken in a server that answers in JSON and in streams, and blames each of its
// faults on its clauses. What only the real server does is TestMCPServer's.
func TestMCP(t *testing.T) {
	for fault, clauses := range mcpFaults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(&mcpServer{fault: fault, over: map[string]bool{}})
			defer srv.Close()
			_, text, broken := judge(t, "mcp", srv.URL)
			if strings.Join(broken, " ") != clauses {
				t.Errorf("%s: broken are %q, want %s", text, broken, clauses)
			}
		})
	}
}

// TestMCPServer: what the pack finds in the real server is what README.md says.
func TestMCPServer(t *testing.T) {
	tier.Night(t)
	dir := installed(t, "mcp")
	url := start(t, dir, "", "--require", "./loopback.cjs",
		"node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp").URL
	_, text, broken := judge(t, "mcp", url)
	p, err := pack.Load("mcp")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	b := "`mcp-server-everything` is " + text + ". Broken are\n\n"
	for _, id := range broken {
		row, _ := ledger.Row(id)
		b += fmt.Sprintf("- %s %s: %s\n", id, row.Level, row.Text)
	}
	compareMeasured(t, filepath.Join("mcp", "README.md"), b)
}
