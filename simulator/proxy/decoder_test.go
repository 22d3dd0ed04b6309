package proxy_test

import (
	"testing"

	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// TestDecoderOfFramesKnowsConnections: of a protocol over event streams and WebSockets, the decoder of frames learns
// when a connection begins anew, as in a run: what its predecessor had received does not come again on it.
func TestDecoderOfFramesKnowsConnections(t *testing.T) {
	p, err := protocols.All.Find("agent-select")
	if err != nil {
		t.Fatal(err)
	}
	codec, err := proxy.NewCodec(p, p.Kind().Roles[0], "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	decode, n := codec.Decoder(), 0
	comes := func(dir transcript.Dir, kind transcript.Kind, text string) bool {
		n++
		r := transcript.Record{N: n, Conn: "A", Dir: dir, Kind: kind, Type: "text", Bytes: []byte(text)}
		decode(&r)
		return r.Event != nil && r.Event.Again
	}
	const answer = `{"type":"agent_switched","data":{"currentAgentId":"debugger"}}`
	comes(transcript.Sent, transcript.Open, "")
	comes(transcript.Sent, transcript.Frame, `{"type":"switch_agent","agentId":"debugger"}`)
	if comes(transcript.Received, transcript.Frame, answer) {
		t.Error("the answer is a repeat")
	}
	if !comes(transcript.Received, transcript.Frame, answer) {
		t.Error("the same once more is no repeat")
	}
	comes(transcript.Received, transcript.Closed, "")
	comes(transcript.Sent, transcript.Open, "")
	if comes(transcript.Received, transcript.Frame, answer) {
		t.Error("on a new connection it is a repeat")
	}
}
