package pack

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"parley/internal/schematest"
	"parley/transport/transcript"
)

// sketchOf sketches the protocol of lines such as "1 POST /session {}", in the order of a recording: a request of A,
// "1< {}" is its answer, "A GET /events" and "B WS /ws" open connections, and "A< {}" and "A> {}" are messages.
func sketchOf(t *testing.T, lines ...string) *Sketch {
	t.Helper()
	var all []transcript.Record
	asked := map[string]int{}
	for i, line := range lines {
		who, rest, _ := strings.Cut(line, " ")
		method, body, _ := strings.Cut(rest, " ")
		r := transcript.Record{N: i + 1, Conn: strings.Trim(who, "<>0123456789"), Dir: transcript.Sent}
		switch {
		case strings.HasSuffix(who, "<"):
			r.Dir, r.Kind, r.Bytes, r.Reply = transcript.Received, transcript.Stream, []byte(rest), asked[who[:1]]
			if r.Reply > 0 {
				r.Kind = transcript.Response
			}
		case strings.HasSuffix(who, ">"):
			r.Kind, r.Bytes = transcript.Frame, []byte(rest)
		case method == "WS":
			r.Kind, r.Label = transcript.Open, "GET ws://h"+body+" (upgrade)"
		case method == "GET":
			r.Kind, r.Label = transcript.Open, rest
		default:
			path, text, _ := strings.Cut(body, " ")
			r.Kind, r.Label, r.Bytes, asked[who] = transcript.Request, method+" "+path, []byte(text), r.N
		}
		all = append(all, r)
		if r.Kind == transcript.Open {
			all = append(all, transcript.Record{Conn: r.Conn, Dir: transcript.Received, Kind: transcript.Open, Label: "stream"})
		}
	}
	s, err := FromRecords("r.jsonl", func() (transcript.Record, error) {
		if len(all) == 0 {
			return transcript.Record{}, io.EOF
		}
		r := all[0]
		all = all[1:]
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestIDs: an id that the server told becomes a hole that its telling fills, one that the client drew a text of its
// own; what is none stays.
func TestIDs(t *testing.T) {
	for _, c := range []struct {
		reason string
		lines  []string
		want   string // the places, the request before, what fills the holes, and what is sent
	}{
		{"told by an event", []string{"A GET /events", `A< {"type":"hi","data":{"client-id":"c_19ab"}}`,
			`1 POST /to/c_19ab {"type":"ask"}`},
			"/events POST /to/${client_id}|{ map[]}|[{hi client_id it?.data?.[\"client-id\"]}]|map[]"},
		{"told by an answer", []string{`1 POST /session {"user":{"name":"x"}}`, `1< {"session":{"id":"3f2"}}`,
			"A GET /session/3f2/events?tab=7", `A< {"type":"hi"}`, `2 PUT /session/3f2/say {"type":"ask"}`},
			"/session/${session}/events PUT /session/${session}/say|{POST /session map[user:map[name:x]]}|" +
				"[{http session it?.session?.id}]|map[]"},
		{"drawn by the client", []string{"A GET /session/0e6c2a9b/events", `A< {"type":"hi","session_id":"0e6c2a9b"}`,
			`1 POST /session/0e6c2a9b/say {"type":"ask","session":"0e6c2a9b","n":"q-1234567"}`,
			`A< {"type":"told","n":"q-1234567"}`},
			"/session/${nonce}/events POST /session/${nonce}/say|{ map[]}|[]|map[n:${new} session:${nonce}]"},
		{"in a query", []string{"A GET /sse", `A< {"type":"hi","session":"ab12cd34"}`,
			`1 POST /say?v=1&session=ab12cd34 {"type":"ask"}`},
			"/sse POST /say?session=${session}|{ map[]}|[{hi session it?.session}]|map[]"},
		{"of several clients", []string{"A GET /events", "B GET /events", `A< {"type":"hi","id":"a1b2c3d4"}`,
			`B< {"type":"hi","id":"e5f6a7b8"}`, `1 POST /to/a1b2c3d4 {"type":"ask"}`, `2 POST /to/e5f6a7b8 {"type":"ask"}`},
			"/events POST /to/${id}|{ map[]}|[{hi id it?.id}]|map[]"},
		{"two of one name", []string{"A GET /events", `A< {"type":"hi","id":"a1b2c3d4"}`,
			`A< {"type":"made","id":"e5f6a7b8"}`, `1 POST /to/a1b2c3d4 {"type":"ask","of":{"ids":["e5f6a7b8"]}}`},
			"/events POST /to/${id}|{ map[]}|[{hi id it?.id} {made id2 it?.id}]|map[of:map[ids:[${id2}]]]"},
		{"none", []string{"A GET /news/v1", `A< {"type":"news","is":"v1","n":7}`,
			`1 POST /news {"type":"ask","n":7,"role":"user"}`, `2 POST /news {"type":"ask","n":7,"role":"user"}`},
			"/news/v1 POST /news|{ map[]}|[]|map[n:7 role:user]"},
	} {
		s := sketchOf(t, c.lines...)
		got := fmt.Sprintf("%s|%v|%v|%v", s.SSE+s.WS+" "+s.Send, s.Before, s.Keeps, s.Sends[0].Sent)
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.reason, got, c.want)
		}
		p, files := drafted(t, s)
		if err := schematest.Compile(t, ProtocolSchema()).YAML(files["protocol.yaml"]); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		if c.reason != "told by an answer" {
			continue
		}
		_, send, _ := strings.Cut(p.doc.send, " ")
		for label, want := range map[string]bool{"POST /session": true, "PUT /session": false, "POST /session/3f2": false} {
			r := transcript.Record{Kind: transcript.Request, Label: label}
			if p.doc.before.is(r) != want || want && p.doc.read(r).kind != "" {
				t.Errorf("%s: %t (%s)", label, !want, send)
			}
		}
	}
}

// TestWaitsBeforeItSends: before a client sends what the server must have told, the drafted scenario waits for that.
func TestWaitsBeforeItSends(t *testing.T) {
	s := sketchOf(t, "A WS /ws", `A< {"type":"hi"}`, `A> {"type":"open","room":"red"}`,
		`A< {"type":"opened","key":"k-77"}`, `A> {"type":"say","key":"k-77"}`, `A< {"type":"said"}`)
	_, files := drafted(t, s)
	const want = "And client A receives \"hi\"\n    And client A sends \"open\"\n    And client A receives \"opened\"\n" +
		"    When client A sends \"say\"\n    Then client A receives \"said\"\n"
	if text := string(files["1_first.feature"]); !strings.Contains(text, want) {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// TestBeforeMistakes: a request before a client connects that cannot be one is told.
func TestBeforeMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"before: {request: session}\n":        "before.request is a method and a path",
		"before: {request: POST /rpc}\n":      "before.request goes where messages go",
		"before: {requests: POST /session}\n": `before has no "requests" (did you mean "request"?)`,
	} {
		files := fstest.MapFS{"protocol.yaml": {Data: []byte(posting + text)}, "clauses.yaml": {Data: []byte(ledger)}}
		if _, err := LoadFS(files, "pp"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestCorrelateStreams: a request is that of the stream whose path has the same values, unless several open ones have.
func TestCorrelateStreams(t *testing.T) {
	s := sketchOf(t, `1 POST /session {}`, `1< {"session":{"id":"3f2"}}`, "A GET /session/3f2/events", `A< {"type":"hi"}`,
		`2 POST /session/3f2/say {"type":"ask"}`)
	p, _ := drafted(t, s)
	profile, err := p.Kind().ForURL("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	partyOf := p.Correlate(profile)
	opens := func(conn, session string) {
		r := transcript.Record{Conn: conn, Kind: transcript.Open, Dir: transcript.Sent,
			Label: "GET /session/" + session + "/events"}
		partyOf(&r, nil)
		r.Dir = transcript.Received
		partyOf(&r, nil)
	}
	asks := func(session, want string) {
		t.Helper()
		r := transcript.Record{Kind: transcript.Request, Dir: transcript.Sent, Label: "POST /session/" + session + "/say"}
		if got := partyOf(&r, nil); got != want {
			t.Errorf("a request of the session %s is that of %q, want %q", session, got, want)
		}
	}
	for _, want := range []string{"B1", "B2"} {
		r := transcript.Record{Kind: transcript.Request, Dir: transcript.Sent, Label: "POST /session"}
		if got := partyOf(&r, nil); got != want {
			t.Errorf("the request before is that of %q, want %q", got, want)
		}
	}
	opens("C1", "a")
	opens("C2", "b%20c")
	asks("a", "C1")
	asks("b%20c", "C2")
	asks("d", "")
	opens("C3", "a")
	asks("a", "")
	partyOf(&transcript.Record{Conn: "C1", Kind: transcript.Closed}, nil)
	partyOf(&transcript.Record{Conn: "C3", Kind: transcript.Closed}, nil)
	asks("x", "C2")
}
