package pack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"parley/target"
	"parley/transport/transcript"
)

const posting = `
protocol: ping-pong
prefix: PP
transports:
  post:
    path: /rpc
    headers: {session: "${session}"}
    requests: {listen: {method: GET}, resume: {method: GET, headers: {Last-Event-ID: "${last}"}}}
message: {type: /method, untyped: {result: "'result' in it"}}
sends: {ping: {id: 1}, result: {id: 1, result: {}}}
receives: [result, note]
keeps: [{on: http, session: http.header.session}, {on: note, last: event.id}]
rules:
  - {on: result, require: it.id > 0, clauses: PP-001}
`

// TestPosting: requests have the headers that can be filled, those without a body are told by method and headers, and
// an answer in JSON is a message, too.
func TestPosting(t *testing.T) {
	p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(posting)}, "clauses.yaml": {Data: []byte(ledger)}}, "pp")
	if err != nil {
		t.Fatal(err)
	}
	c := codec{binding: p.doc.binding(), doc: p.doc, driver: target.Post}
	find := func(name string) (any, error) {
		if name == "last" {
			return "e7", nil
		}
		return nil, errors.New("unknown")
	}
	for kind, want := range map[string]string{
		"ping": `POST /rpc {"id":1,"method":"ping"} map[]`, "result": `POST /rpc {"id":1,"result":{}} map[]`,
		"listen": `GET /rpc  map[]`, "resume": `GET /rpc  map[Last-Event-Id:[e7]]`,
	} {
		m, err := c.encode(kind, p.doc.sends[kind].(map[string]any), find)
		got := fmt.Sprintf("%s %s %s %v", m.Method, m.URL, m.Body, m.Header)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
	request := transcript.Record{N: 3, Kind: transcript.Request, Dir: transcript.Sent}
	for _, r := range []struct {
		reason, label, headers string
		r                      transcript.Record
		want                   string
	}{
		{"without a body", "GET /rpc", "session: s\n", request, "listen 3 map[header:map[session:s] method:GET]"},
		{"by its header", "GET /rpc", "last-event-id: e7\n", request,
			"resume 3 map[header:map[last-event-id:e7] method:GET]"},
		{"neither", "DELETE /rpc", "", request, "malformed 3 map[header:map[] method:DELETE]"},
		{"an answer and its message", "200 OK", "session: a: b\n", transcript.Record{Kind: transcript.Response, Status: 200,
			Reply: 3, Type: "application/json; charset=utf-8", Dir: transcript.Received, Bytes: []byte(`{"id":1,"result":{}}`)},
			"http 3 map[header:map[session:a: b] media:application/json size:20 status:200 " +
				"type:application/json; charset=utf-8], result 3"},
		{"an answer without a message", "404", "", transcript.Record{Kind: transcript.Response, Status: 404, Reply: 3,
			Type: "application/json", Dir: transcript.Received, Bytes: []byte(`{}`)},
			"http 3 map[header:map[] media:application/json size:2 status:404 type:application/json]"},
		{"an event without data", "", "", transcript.Record{Kind: transcript.Stream, Reply: 3, ID: "e1", Type: "message",
			Dir: transcript.Received}, "empty 3 e1"},
	} {
		r.r.Label, r.r.Headers = r.label, r.headers
		c.decode(&r.r)
		var got []string
		for _, m := range p.doc.messages(r.r) {
			in := scopeOf(m)
			text := fmt.Sprintf("%s %v", m.kind, in["request"])
			if event, is := in["event"].(map[string]any); is {
				text += fmt.Sprintf(" %v", event["id"])
			} else if m.kind != "result" {
				text += fmt.Sprintf(" %v", in["http"])
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(r.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", r.reason, diff)
		}
	}
}
