package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP endpoint over HTTP that keeps what it gets.
type collector struct {
	url   string
	mu    sync.Mutex
	spans []*tracepb.Span
	auth  string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var all coltracepb.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &all)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.auth = r.Header.Get("Authorization")
		for _, of := range all.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

// all returns the spans of a name.
func (c *collector) all(name string) (out []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// one returns the only span of a name.
func (c *collector) one(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	all := c.all(name)
	if len(all) != 1 {
		t.Fatalf("there are %d spans %s, want 1", len(all), name)
	}
	return all[0]
}

// attributeOf returns an attribute as text; a list is joined by blanks.
func attributeOf(list []*commonpb.KeyValue, name string) string {
	for _, a := range list {
		if a.Key != name {
			continue
		}
		var words []string
		for _, v := range a.Value.GetArrayValue().GetValues() {
			words = append(words, v.GetStringValue())
		}
		return a.Value.GetStringValue() + strings.Join(words, " ")
	}
	return ""
}

// withTrace adds a trace context to requests.
type withTrace struct{ http.RoundTripper }

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

func (w withTrace) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	return w.RoundTripper.RoundTrip(r)
}

// TestProxySpans: a proxied session is spans, with the clauses that its exchanges keep or break, in the trace of its
// client where that names one.
func TestProxySpans(t *testing.T) {
	for _, row := range []struct {
		name, fault, outcome string
		exit                 int
	}{{"conforming", "", "passed", 0}, {"broken", "no-timestamp", "failed", 1}} {
		t.Run(row.name, func(t *testing.T) {
			to, out := startCollector(t), t.TempDir()
			file := filepath.Join(out, "passed.jsonl")
			p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, row.fault), "--out", out,
				"--otlp-endpoint", to.url, "--record", file)
			client := quickClient(t)
			client.Transport = withTrace{client.Transport}
			runChatTurn(t, client, p.url())
			p.stop()
			if text, code := p.awaitEnd(); code != row.exit || strings.Contains(p.stderrText(), "did not reach") {
				t.Fatalf("exit %d\n%s\n%s", code, text, p.stderrText())
			}
			connect, chat, session := to.one(t, "connect"), to.one(t, "chat"), to.one(t, "session")
			if hex.EncodeToString(connect.TraceId) != callersTrace || hex.EncodeToString(connect.ParentSpanId) != callersSpan ||
				len(connect.Links) != 1 || attributeOf(connect.Attributes, "url.path") != "/chat/ws" {
				t.Errorf("the connection is not in the trace of its client: %v", connect)
			}
			if !bytes.Equal(chat.ParentSpanId, session.SpanId) || !bytes.Equal(chat.TraceId, session.TraceId) ||
				len(session.ParentSpanId) > 0 {
				t.Errorf("the turn is not in the trace of its session: %v", chat)
			}
			id := attributeOf(chat.Attributes, "session.id")
			if id == "" || id != attributeOf(session.Attributes, "session.id") {
				t.Errorf("the session is %q", id)
			}
			if chat.EndTimeUnixNano <= chat.StartTimeUnixNano || chat.Kind != tracepb.Span_SPAN_KIND_CLIENT ||
				attributeOf(chat.Attributes, "parley.answer.type") != "result" ||
				attributeOf(chat.Attributes, "parley.protocol") != "session-chat" {
				t.Errorf("the turn is %v", chat)
			}
			if got := attributeOf(session.Attributes, "parley.outcome"); got != row.outcome {
				t.Errorf("the session is %q, want %q", got, row.outcome)
			}
			checkFailedSpans(t, to, row.fault != "")
			checkSameSpans(t, to, file, out)
		})
	}
}

// checkFailedSpans checks the status of spans, and that failures say what was observed.
func checkFailedSpans(t *testing.T, to *collector, broken bool) {
	t.Helper()
	to.mu.Lock()
	defer to.mu.Unlock()
	failed := 0
	for _, s := range to.spans {
		if s.Name == "session" || s.Name == "connection" || s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			continue
		}
		failed++
		i := slices.IndexFunc(s.Events, func(e *tracepb.Span_Event) bool { return e.Name == "clause failed" })
		if i < 0 || !strings.HasPrefix(s.Status.Message, "SC-") ||
			!strings.Contains(s.Status.Message, attributeOf(s.Events[i].Attributes, "parley.observed")) ||
			!strings.Contains(attributeOf(s.Attributes, "parley.clause.failed"), "SC-044") {
			t.Errorf("%v", s)
		}
	}
	if (failed > 0) != broken {
		t.Errorf("%d spans have failed; a clause is broken: %v", failed, broken)
	}
}

// checkSameSpans checks that the recording of the proxy is the same spans in OTLP JSON, in one file for collectors.
func checkSameSpans(t *testing.T, to *collector, file, dir string) {
	t.Helper()
	out := filepath.Join(dir, "traces.jsonl")
	if _, said, code := invoke(t, "recording", file, "--to", "otlp", "-o", out); code != 0 || said != "" {
		t.Fatalf("exit %d: %s", code, said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `{"resourceSpans":[`) {
			t.Errorf("a line is %.80s", line)
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, s := range to.spans {
		if s.Name != "connect" && !strings.Contains(string(text), `"name":"`+s.Name+`"`) {
			t.Errorf("the file has no span %s", s.Name)
		}
	}
	ids := regexp.MustCompile(`"spanId":"[0-9A-Fa-f]{16}"`).FindAllString(string(text), -1)
	slices.Sort(ids)
	if got := len(slices.Compact(ids)); got < len(to.spans) {
		t.Errorf("the file has %d spans, want %d", got, len(to.spans))
	}
	if !strings.Contains(strings.ToLower(string(text)), callersTrace) {
		t.Error("the file does not name the trace of the client")
	}
}

// TestSpansOfEnvironment: the variables of OpenTelemetry name the endpoint, and what it needs to know.
func TestSpansOfEnvironment(t *testing.T) {
	to := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.url)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20key")
	p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, ""), "--out", t.TempDir())
	runChatTurn(t, quickClient(t), p.url())
	p.stop()
	if _, code := p.awaitEnd(); code != 0 || !strings.Contains(p.stderrText(), "spans go to "+to.url+"/v1/traces\n") {
		t.Errorf("exit %d: %s", code, p.stderrText())
	}
	to.one(t, "chat")
	if to.auth != "Bearer key" {
		t.Errorf("the header is %q", to.auth)
	}
}

// TestSpansLost: an endpoint that is down, or that never answers, changes nothing but one line at the end.
func TestSpansLost(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, endpoint := range []string{gone.URL, "http://" + silent.Addr().String()} {
		p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, ""), "--out", t.TempDir(),
			"--otlp-endpoint", endpoint)
		runChatTurn(t, quickClient(t), p.url())
		p.stop()
		text, code := p.awaitEnd()
		lost := regexp.MustCompile(`(?m)^parley: ([1-9]\d*) of ([1-9]\d*) spans did not reach `+
			regexp.QuoteMeta(endpoint)+`/v1/traces: .+$`).FindAllStringSubmatch(p.stderrText(), -1)
		if code != 0 || !strings.Contains(text, "only traffic between others was judged") || len(lost) != 1 ||
			lost[0][1] != lost[0][2] {
			t.Errorf("%s: exit %d\n%s\n%s", endpoint, code, text, p.stderrText())
		}
	}
	_ = silent.Close()
	for given, want := range map[string]string{"localhost:4318": "is not the URL of an endpoint",
		"grpc://a": "is not the URL of an endpoint", "http://u:p@h": "OTEL_EXPORTER_OTLP_HEADERS"} {
		if _, said, code := invoke(t, "proxy", "http://127.0.0.1:1", "--protocol", "session-chat", "--otlp-endpoint",
			given); code != 2 || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d: %s", given, code, said)
		}
	}
}

// TestLoadSpans: the exchanges of a load are spans.
func TestLoadSpans(t *testing.T) {
	to := startCollector(t)
	var out, said strings.Builder
	s := &streams{In: strings.NewReader(""), Out: &out, Err: &said}
	root := rootCommand(s)
	root.SetArgs([]string{"load", "--target", chatServer(t, ""), "--protocol", "session-chat", "--sessions", "2",
		"--duration", "300ms", "--rate", "20", "--out", t.TempDir(), "--otlp-endpoint", to.url})
	if code := s.exitWith(root.ExecuteContext(context.WithoutCancel(t.Context()))); code != 0 ||
		strings.Contains(said.String(), "did not reach") {
		t.Fatalf("exit %d\n%s\n%s", code, &out, &said)
	}
	pings := to.all("ping")
	if len(to.all("connect")) < 2 || len(pings) == 0 {
		t.Fatalf("%d connections and %d pings", len(to.all("connect")), len(pings))
	}
	for _, ping := range pings {
		if attributeOf(ping.Attributes, "parley.answer.type") != "pong" || len(ping.ParentSpanId) == 0 ||
			!strings.HasPrefix(attributeOf(ping.Attributes, "parley.connection"), "S") ||
			attributeOf(ping.Attributes, "parley.outcome") != "passed" {
			t.Errorf("%v", ping)
		}
	}
}

// TestRecordingPage: a recording is the page of a report, with the failures and the messages.
func TestRecordingPage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "passed.jsonl")
	p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, "no-timestamp"), "--out", dir, "--record",
		file)
	runChatTurn(t, quickClient(t), p.url())
	p.stop()
	p.awaitEnd()
	page, said, code := invoke(t, "recording", file, "--to", "html")
	if code != 0 || said != "" || !strings.HasPrefix(strings.ToLower(page), "<!doctype html>") ||
		!strings.Contains(page, "SC-044") || !strings.Contains(page, "<title>non-conformant: session-chat server") ||
		!strings.Contains(page, `data-pack="0"`) || !strings.Contains(page, `data-broke="[{&#34;at&#34;:`) {
		t.Errorf("exit %d: %s\n%.2000s", code, said, page)
	}
}

// TestSpansOfRun: the recording of a scenario has the failures that the run has found, steps among them, and no others.
func TestSpansOfRun(t *testing.T) {
	dir := t.TempDir()
	if _, said, code := invoke(t, "run", chatServer(t, "ping-answered-once"), "--protocol", "session-chat", "--tags",
		"@SC-037a", "--strict", "--out", dir); code != 1 {
		t.Fatalf("exit %d: %s", code, said)
	}
	found := 0
	for _, sc := range resultsIn(t, dir).Runs[0].Scenarios {
		if sc.Recording == nil {
			continue
		}
		text, said, code := invoke(t, "recording", filepath.Join(dir, sc.Recording.Path), "--to", "otlp")
		if code != 0 || said != "" {
			t.Fatalf("exit %d: %s", code, said)
		}
		for _, f := range sc.Failures {
			found++
			if !strings.Contains(text, `"message":"`+f.Clause+`: `) {
				t.Errorf("%s: %s is not in the spans", sc.ID, f.Clause)
			}
		}
		if want := len(sc.Failures); strings.Count(text, `"name":"clause failed"`) != want {
			t.Errorf("%s: want %d failures: %+v in %s", sc.ID, want, sc.Failures, text)
		}
	}
	if found == 0 {
		t.Error("nothing was broken")
	}
}

// TestSpansOfOtherProxies: a proxy with a page sends the same spans, and one before a command those of its lines.
func TestSpansOfOtherProxies(t *testing.T) {
	to := startCollector(t)
	p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, "no-timestamp"), "--out", t.TempDir(),
		"--console", "127.0.0.1:0", "--otlp-endpoint", to.url)
	runChatTurn(t, quickClient(t), p.url())
	p.stop()
	if text, code := p.awaitEnd(); code != 1 {
		t.Fatalf("exit %d\n%s\n%s", code, text, p.stderrText())
	}
	to.one(t, "chat")
	checkFailedSpans(t, to, true)

	to = startCollector(t)
	lines := `{"parley":"fence","id":"f1"}` + "\n" + `{"event":"CONTROL","subtype":"INTERRUPT","session_id":"s1"}` + "\n"
	p = startProxyReading(t, strings.NewReader(lines), "--protocol", "session-runtime", "--out", t.TempDir(),
		"--otlp-endpoint", to.url, "--", "sh", "-c", `read -r line; echo '{"parley":"fenced","id":"f1"}'; read -r line`)
	p.awaitEnd()
	fence, interrupt := to.one(t, "fence"), to.one(t, "CONTROL INTERRUPT")
	if attributeOf(fence.Attributes, "parley.answer.type") != "fenced" ||
		attributeOf(fence.Attributes, "network.transport") != "pipe" ||
		attributeOf(interrupt.Attributes, "session.id") != "s1" || interrupt.Kind != tracepb.Span_SPAN_KIND_PRODUCER {
		t.Errorf("%v\n%v", fence, interrupt)
	}
}
