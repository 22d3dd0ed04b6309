package spans_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/simulator/spans"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// span is a span as OTLP JSON has it.
type span struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
	Start        string `json:"startTimeUnixNano"`
	End          string `json:"endTimeUnixNano"`
	Attributes   []struct {
		Key   string `json:"key"`
		Value struct {
			Text string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
	Links  []struct{} `json:"links"`
	Status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
}

func (s span) attribute(name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.Text
		}
	}
	return ""
}

// file is what a Collector writes for a session-chat server that began at second 1000.
type file struct {
	*spans.Collector
	t   *testing.T
	to  *spans.Exporter
	out bytes.Buffer
	n   int
}

func newFile(t *testing.T) *file {
	t.Helper()
	f := &file{t: t}
	var err error
	if f.to, err = spans.ToFile(&f.out, "1"); err != nil {
		t.Fatal(err)
	}
	w := spans.NewWriter(f.to, spans.About{Protocol: "session-chat", Role: "server", URL: "ws://127.0.0.1:9",
		Began: time.Unix(1000, 0)})
	f.Collector = spans.NewCollector(w, "session-chat", func(r *transcript.Record) {
		v, _, err := wjson.Decode(r.Bytes)
		o, _ := v.(map[string]any)
		if err == nil {
			typ, _ := o["type"].(string)
			r.Event = &transcript.Event{Type: typ, Envelope: v}
		}
	})
	return f
}

// pass passes a message, at the second of its number.
func (f *file) pass(dir transcript.Dir, text string) int {
	f.n++
	f.Record(transcript.Record{N: f.n, At: time.Duration(f.n) * time.Second, Conn: "C1", Dir: dir, Kind: transcript.Frame,
		Type: "text", Bytes: []byte(text)}, transcript.NewRedactor("hunter2pass"))
	return f.n
}

// read ends everything, and returns the spans in the order in which they were written.
func (f *file) read() (all []span) {
	f.t.Helper()
	f.Collector.End()
	if lost := f.to.Close(time.Minute); lost != nil {
		f.t.Fatal(lost)
	}
	for line := range bytes.Lines(f.out.Bytes()) {
		var of struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal(line, &of); err != nil {
			f.t.Fatalf("%v\n%s", err, line)
		}
		for _, r := range of.ResourceSpans {
			for _, s := range r.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	return all
}

func failure(clause string, at int, o verdict.Outcome) steps.Failure {
	return steps.Failure{Clause: clause, Monitor: "m", Outcome: o, Finding: verdict.Finding{At: at, Expected: "wanted",
		Observed: "seen of " + clause}}
}

// TestCollector: an exchange is written once it is judged, once, with the worst outcome of its records; a failure of no
// exchange, or of one that was written already, is a span of its own.
func TestCollector(t *testing.T) {
	f := newFile(t)
	chat := f.pass(transcript.Sent, `{"type":"chat","agent_id":"a","key":"hunter2pass"}`)
	f.pass(transcript.Received, `{"type":"stream","agent_id":"a","session_id":"s1"}`)
	broken := proxy.Broken{N: 2, Role: "server", Failure: failure("SC-002", 2, verdict.Failed)}
	warned := proxy.Broken{N: 2, Role: "server", Failure: failure("SC-003", 2, verdict.Warned)}
	f.Checked(proxy.Checked{Through: 2, Held: map[int][]string{1: {"SC-001"}}, Broken: []proxy.Broken{broken}})
	f.pass(transcript.Received, `{"type":"result","agent_id":"a"}`)
	f.Checked(proxy.Checked{Through: 2, Broken: []proxy.Broken{broken, warned}}) // the result is not judged yet
	ping := f.pass(transcript.Sent, `{"type":"ping"}`)
	f.pass(transcript.Received, `{"type":"pong"}`)
	f.Checked(proxy.Checked{Through: 5, Held: map[int][]string{1: {"SC-001"}, ping: {"SC-004"}},
		Broken: []proxy.Broken{broken, warned}})
	late := proxy.Broken{N: chat, Role: "server", Failure: failure("SC-005", chat, verdict.Failed)}
	nowhere := proxy.Broken{Role: "server", Failure: failure("SC-006", 0, verdict.Failed)}
	f.Checked(proxy.Checked{Through: 5, Broken: []proxy.Broken{broken, warned, late, nowhere,
		{N: 1, Role: "server", Failure: failure("SC-007", 1, verdict.NotApplicable)}}})

	all := f.read()
	var got []string
	for _, s := range all {
		got = append(got, strings.TrimSpace(s.Name+" "+s.attribute("parley.outcome")+" "+s.Status.Message))
	}
	want := []string{"chat failed SC-002: seen of SC-002", "ping passed", "SC-006 failed SC-006: seen of SC-006",
		"SC-005 failed SC-005: seen of SC-005", "session failed a clause is broken", "connection failed a clause is broken",
		"connection passed"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s := all[0]; s.Name != "chat" || s.Start != "1001000000000" || s.End != "1003000000000" ||
		s.attribute("session.id") != "s1" || s.attribute("server.address") != "127.0.0.1" ||
		s.attribute("network.transport") != "tcp" || s.attribute("network.protocol.name") != "websocket" {
		t.Errorf("the chat is %+v", s)
	}
	if text := f.out.String(); strings.Contains(text, "hunter2pass") || !strings.Contains(text, transcript.Blank) {
		t.Errorf("a secret is not redacted:\n%s", text)
	}
	again := newFile(t)
	again.pass(transcript.Sent, `{"type":"chat","agent_id":"a","session_id":"s1"}`)
	if got := again.read()[0]; got.TraceID != all[0].TraceID || got.SpanID != all[0].SpanID {
		t.Errorf("the same message is another span: %+v and %+v", got, all[0])
	}
}

// TestTraceOfMessage: a trace context in a message, or in an object of it, is the parent; what is none is not.
func TestTraceOfMessage(t *testing.T) {
	const of, by = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]bool{
		`{"type":"ping","traceparent":"00-` + of + "-" + by + `-00"}`:           true,
		`{"type":"ping","_meta":{"traceparent":"00-` + of + "-" + by + `-01"}}`: true,
		`{"type":"ping","traceparent":"00-` + of + `"}`:                         false,
		`{"type":"ping","traceparent":7}`:                                       false,
	} {
		f := newFile(t)
		f.pass(transcript.Sent, text)
		ping := f.read()[0]
		is := strings.EqualFold(ping.TraceID, of) && strings.EqualFold(ping.ParentSpanID, by) && len(ping.Links) == 1
		if is != want {
			t.Errorf("%s: %+v", text, ping)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullFile: what cannot be written is counted, with the reason.
func TestFullFile(t *testing.T) {
	to, err := spans.ToFile(full{}, "1")
	if err != nil {
		t.Fatal(err)
	}
	w := spans.NewWriter(to, spans.About{Protocol: "session-chat"})
	w.WriteLife("C1", []transcript.Record{{N: 1, Conn: "C1", Dir: transcript.Sent, Kind: transcript.Frame}}, nil, nil, nil)
	lost := to.Close(time.Minute)
	if lost == nil || lost.Spans != 2 || lost.Of != 2 || lost.Why == nil || lost.Why.Error() != "no space left" {
		t.Errorf("%v", lost)
	}
}

// TestEndpoint: the path of OTLP is added where it is missing, and a flag counts more than the environment.
func TestEndpoint(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	check := func(given, want string) {
		t.Helper()
		if got, err := spans.Endpoint(given); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", given, got, err, want)
		}
	}
	check("", "")
	check("http://h:4318", "http://h:4318/v1/traces")
	check("https://h/otlp/", "https://h/otlp/v1/traces")
	check("https://h/otlp/v1/traces", "https://h/otlp/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:1/")
	check("", "http://all:1/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:2/own")
	check("", "http://traces:2/own")
	check("http://h", "http://h/v1/traces")
}
