package pack

import (
	"strings"
	"testing"
	"testing/fstest"

	"parley/target"
	"parley/transport/transcript"
)

// TestCorrelatePosts: a request belongs to the client that keeps the value of its header; one without is that of a new
// client if it begins one, else of the only one there is. Without a header that tells, each has its own.
func TestCorrelatePosts(t *testing.T) {
	told := strings.Replace(posting, "    headers: ", "    client: {header: session, begins: ping}\n    headers: ", 1)
	request := func(kind, headers string) transcript.Record {
		return transcript.Record{Kind: transcript.Request, Dir: transcript.Sent, Label: "POST /rpc", Headers: headers,
			Event: &transcript.Event{Type: kind, Data: map[string]any{}}}
	}
	answer := func(to int, conn, headers string) transcript.Record {
		return transcript.Record{Kind: transcript.Response, Dir: transcript.Received, Conn: conn, Status: 200, Reply: to,
			Headers: headers}
	}
	for _, c := range []struct {
		reason, text string
		records      []transcript.Record
		want         string
	}{
		{"each its own", posting, []transcript.Record{request("ping", ""), request("ping", "")}, "P1 P2"},
		{"by the header", told, []transcript.Record{request("ping", ""), request("ping", ""),
			answer(1, "P1", "session: a\n"), answer(2, "P2", "session: b\n"), request("ping", "session: b\n"),
			request("ping", "session: a\n"), request("ping", "session: c\n"), request("other", "")}, "P1 P2 - - P2 P1 - -"},
		{"the only one", told, []transcript.Record{request("other", ""), request("ping", ""), request("other", "")},
			"- P1 P1"},
	} {
		p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(c.text)}, "clauses.yaml": {Data: []byte(ledger)}}, "pp")
		if err != nil {
			t.Fatal(err)
		}
		profile, err := p.Kind().ForURL("http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		partyOf := p.Correlate(profile)
		var got []string
		for i := range c.records {
			c.records[i].N = i + 1
			party := partyOf(&c.records[i], nil)
			if party == "" {
				party = "-"
			}
			got = append(got, party)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.reason, got, c.want)
		}
		if is, reads := p.Posts(profile); is == nil || len(reads) == 0 {
			t.Errorf("no request is of the driver %s", target.Post)
		}
	}
	told = strings.Replace(told, "header: session", "header: other", 1)
	_, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(told)}, "clauses.yaml": {Data: []byte(ledger)}}, "pp")
	if err == nil || !strings.Contains(err.Error(), "post.client: no request has the header Other") {
		t.Errorf("a header that no request has: %v", err)
	}
}
