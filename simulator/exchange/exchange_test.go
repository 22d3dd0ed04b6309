package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/simulator/exchange"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// paired returns the exchanges of records of the client's end, each in a line.
func paired(t *testing.T, protocol string, records ...transcript.Record) (lines []string) {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := proxy.NewCodec(p, steps.Roles(p)[0], "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	decode := codec.Decoder()
	pair := exchange.New(protocol, func(x *exchange.Exchange) {
		var n []string
		for _, r := range x.Records() {
			n = append(n, fmt.Sprint(r.N))
		}
		how := "alone"
		if x.Answer != nil {
			how = "answered"
		} else if x.Awaited {
			how = "unanswered"
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %v %s", strings.Join(n, "+"),
			exchange.Type(x.Request), how, x.Until, x.Session)))
	})
	for i := range records {
		records[i].N, records[i].At = i+1, time.Duration(i+1)*time.Millisecond
		if records[i].Conn == "" && records[i].Kind != transcript.Remark {
			records[i].Conn = "A"
		}
		decode(&records[i])
		pair.Add(records[i])
	}
	pair.End()
	return lines
}

func frame(dir transcript.Dir, text string) transcript.Record {
	return transcript.Record{Dir: dir, Kind: transcript.Frame, Type: "text", Bytes: []byte(text)}
}

func sent(text string) transcript.Record     { return frame(transcript.Sent, text) }
func received(text string) transcript.Record { return frame(transcript.Received, text) }

// TestSocket: messages of a socket are paired within their conversations, in the order of their answers.
func TestSocket(t *testing.T) {
	turn := func(agent, kind string) transcript.Record {
		return received(fmt.Sprintf(`{"message_type":%q,"agent_id":%q,"session_id":"s-%[2]s","message":{}}`, kind, agent))
	}
	got := paired(t, "session-chat",
		transcript.Record{Dir: transcript.Sent, Kind: transcript.Open, Label: "GET /chat/ws (upgrade)"},
		transcript.Record{Dir: transcript.Received, Kind: transcript.Open, Status: 101, Reply: 1},
		sent(`{"type":"chat","agent_id":"a","content":"x"}`),
		sent(`{"type":"chat","agent_id":"b","content":"y"}`),
		turn("b", "system"), turn("a", "system"), turn("b", "result"),
		sent(`{"type":"ping"}`), received(`{"message_type":"pong"}`), turn("a", "result"), turn("a", "stream"),
		sent(`{"type":"interrupt","agent_id":"a"}`), sent(`{"type":"chat","agent_id":"a","content":"z"}`),
		transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: "a note"},
		transcript.Record{Dir: transcript.Received, Kind: transcript.Closed},
		transcript.Record{Dir: transcript.Received, Kind: transcript.Frame, Late: true})
	want := []string{"1+2  answered 2ms", "4+5+7 chat answered 7ms s-b", "8+9 ping answered 9ms",
		"3+6+10 chat answered 10ms s-a", "11 stream alone 11ms s-a", "12 interrupt alone 12ms s-a",
		"13 chat unanswered 13ms s-a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStream: a request is answered by HTTP, and if its message has an answer on the event stream, by that; a refusal
// ends it. A request of the server is answered by one of the client.
func TestStream(t *testing.T) {
	request := func(label, body string) transcript.Record {
		return transcript.Record{Dir: transcript.Sent, Kind: transcript.Request, Label: label, Bytes: []byte(body)}
	}
	reply := func(to, status int, body string) transcript.Record {
		return transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Status: status, Reply: to,
			Bytes: []byte(body)}
	}
	event := func(body string) transcript.Record {
		return transcript.Record{Dir: transcript.Received, Kind: transcript.Stream, Type: "message", Bytes: []byte(body)}
	}
	got := paired(t, "agent-select",
		request("POST /session/create", `{"connectionId":"c"}`), reply(1, 200, `{"session":{"id":"s1"}}`),
		request("POST /message", `{"type":"switch_agent","agentId":"plan","connectionId":"c"}`), reply(3, 200, `{}`),
		event(`{"type":"agent_switched","data":{"previousAgentId":"a","currentAgentId":"plan","agentName":"Plan"}}`),
		request("POST /message", `{"type":"switch_agent","agentId":"plan"}`), reply(6, 403, `{}`),
		event(`{"type":"tool_confirmation_request","requestId":"r2","data":{}}`),
		event(`{"type":"tool_confirmation_request","requestId":"r1","data":{}}`),
		request("POST /message", `{"type":"tool_confirmation_response","requestId":"r1"}`), reply(10, 200, `{}`),
		request("GET /health", ""), transcript.Record{Dir: transcript.Noted, Kind: transcript.Failure, Reply: 12,
			Label: "reset"})
	want := []string{"1+2 session_create answered 2ms s1", "3+4+5 switch_agent answered 5ms s1",
		"6+7 switch_agent answered 7ms s1", "9+10 tool_confirmation_request answered 10ms s1",
		"10+11 tool_confirmation_response answered 11ms s1", "12+13  answered 13ms s1",
		"8 tool_confirmation_request unanswered 8ms s1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownProtocol: without schemas, requests are paired with the answers of HTTP, and messages stand alone.
func TestUnknownProtocol(t *testing.T) {
	var got []int
	pair := exchange.New("mine", func(x *exchange.Exchange) { got = append(got, x.Last) })
	for i, r := range []transcript.Record{{Dir: transcript.Sent, Kind: transcript.Request}, sent(`{"type":"x"}`),
		{Dir: transcript.Received, Kind: transcript.Response, Status: 200, Reply: 1}} {
		r.N = i + 1
		pair.Add(r)
	}
	if !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the exchanges end with records %v", got)
	}
}
