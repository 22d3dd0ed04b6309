package agentselect

import (
	"net/http"
	"strings"
	"testing"

	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// TestCorrelate: the party of a request is the stream that it names, or the only one that it can be about. Lines open
// (+), end (-) a stream, bring an event on it (<), or are a request (>) with a header and the party expected.
func TestCorrelate(t *testing.T) {
	const (
		first  = `< C1 connected {"connectionId":"conn-1"}`
		second = `< C2 connected {"connectionId":"conn-2"}`
		named1 = `< C1 session_created {"sessionId":"s-1"}`
		named2 = `< C2 session_created {"sessionId":"s-2"}`
	)
	for _, one := range []struct {
		name  string
		lines []string
	}{
		{"it names its stream", []string{"+ C1", "+ C2", first, second, `> C2 - {"type":"abort","connectionId":"conn-2"}`}},
		{"an unknown stream is nobody's", []string{"+ C1", first, `> nobody - {"type":"abort","connectionId":"conn-9"}`}},
		{"only one stream is open", []string{"+ C1", first, `> C1 - {"type":"abort"}`}},
		{"only one stream is left", []string{"+ C1", "+ C2", first, second, "- C1", `> C2 - {"type":"abort"}`}},
		{"several are open", []string{"+ C1", "+ C2", first, second, `> ? - {"type":"abort"}`}},
		{"a header names it", []string{"+ C1", "+ C2", first, second, `> C2 conn-2 {"type":"abort"}`}},
		{"another member names it", []string{"+ C1", "+ C2", first, second, `> C1 - {"type":"abort","client":"conn-1"}`}},
		{"the session names it", []string{"+ C1", "+ C2", named1, named2, `> C2 - {"type":"chat","sessionId":"s-2"}`}},
		{"a session of two streams", []string{"+ C1", "+ C2", named1, strings.Replace(named1, "C1", "C2", 1),
			`> ? - {"type":"chat","sessionId":"s-1"}`}},
		{"the session's earlier stream is over", []string{"+ C1", named1, "- C1", "+ C2",
			strings.Replace(named1, "C1", "C2", 1), "+ C3", `> C2 - {"type":"chat","sessionId":"s-1"}`}},
		{"no stream is open", []string{`> ? - {"type":"abort"}`}},
		{"no message of the protocol", []string{"+ C1", first, `> ? - [1]`}},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := Protocol{}.Kind().New()
			correlate := Protocol{}.Correlate(p)
			for _, line := range one.lines {
				act, rest, _ := strings.Cut(line, " ")
				conn, rest, _ := strings.Cut(rest, " ")
				r := transcript.Record{Conn: conn, Dir: transcript.Received}
				switch word, data, _ := strings.Cut(rest, " "); act {
				case "+":
					r.Kind = transcript.Open
				case "-":
					r.Kind = transcript.Closed
				case "<":
					r.Kind, r.Event = transcript.Stream, &transcript.Event{Type: word, Data: decoded(data)}
				case ">":
					r = transcript.Record{Dir: transcript.Sent, Kind: transcript.Request, Bytes: []byte(data)}
					if _, ok := decoded(data).(map[string]any); ok {
						r.Event = &transcript.Event{Type: "abort"}
					}
					if got := correlate(&r, http.Header{"X-Page": {word}}); got != strings.Trim(conn, "?") {
						t.Errorf("%s: the party is %q", line, got)
					}
					continue
				}
				correlate(&r, nil)
			}
		})
	}
}

func decoded(data string) any {
	v, _, _ := wjson.Decode([]byte(data))
	return v
}
