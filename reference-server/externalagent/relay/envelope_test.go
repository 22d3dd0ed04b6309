package relay

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// nested returns an envelope of the given depth.
func nested(kind string, depth int) string {
	depth -= 2
	return `{"v":"mvp-0.2","type":"` + kind + `","payload":{"x":` + strings.Repeat("[", depth) + strings.Repeat("]",
		depth) + `},"id":"i"}`
}

// badEnvelopes are refused from any sender; TYPE stands for a type that the sender may send.
var badEnvelopes = []struct {
	reason, text string
	replyTo      any
}{
	{"nothing", ``, nil},
	{"not JSON", `{"v":`, nil},
	{"not JSON but JavaScript", `{v:'mvp-0.2'}`, nil},
	{"cut after its id", `{"id":"i","v":"mvp-0.2","type":"TYPE","payload":{`, "i"},
	{"two texts", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":{}} {}`, "i"},
	{"an array", `[{"v":"mvp-0.2","type":"TYPE","id":"i","payload":{}}]`, nil},
	{"a string", `"TYPE"`, nil},
	{"a number", `1`, nil},
	{"null", `null`, nil},
	{"invalid UTF-8", "{\"v\":\"mvp-0.2\",\"type\":\"TYPE\",\"id\":\"i\",\"payload\":{\"text\":\"\xff\"}}", "i"},
	{"invalid UTF-8 in the id", "{\"v\":\"mvp-0.2\",\"type\":\"TYPE\",\"id\":\"\xff\",\"payload\":{}}", nil},
	{"an unpaired surrogate", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":{"text":"\ud800"}}`, "i"},
	{"a repeated name", `{"v":"mvp-0.2","type":"TYPE","type":"TYPE","id":"i","payload":{}}`, "i"},
	{"a repeated name inside", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":{"a":[{"b":1,"b":1}]}}`, "i"},
	{"the id twice", `{"v":"mvp-0.2","type":"TYPE","id":"h","id":"i","payload":{}}`, "i"},
	{"too deep", nested("TYPE", MaxDepth+1), "i"},
	{"much too deep", `{"id":"i","payload":{"x":` + strings.Repeat("[", 200_000), "i"},
	{"no v", `{"type":"TYPE","id":"i","payload":{}}`, "i"},
	{"another v", `{"v":"mvp-0.1","type":"TYPE","id":"i","payload":{}}`, "i"},
	{"v in capitals", `{"v":"MVP-0.2","type":"TYPE","id":"i","payload":{}}`, "i"},
	{"v a number", `{"v":0.2,"type":"TYPE","id":"i","payload":{}}`, "i"},
	{"V", `{"V":"mvp-0.2","type":"TYPE","id":"i","payload":{}}`, "i"},
	{"no type", `{"v":"mvp-0.2","id":"i","payload":{}}`, "i"},
	{"type null", `{"v":"mvp-0.2","type":null,"id":"i","payload":{}}`, "i"},
	{"type a number", `{"v":"mvp-0.2","type":7,"id":"i","payload":{}}`, "i"},
	{"type empty", `{"v":"mvp-0.2","type":"","id":"i","payload":{}}`, "i"},
	{"type with a blank", `{"v":"mvp-0.2","type":"TYPE ","id":"i","payload":{}}`, "i"},
	{"type unknown", `{"v":"mvp-0.2","type":"session.pause","id":"i","payload":{}}`, "i"},
	{"type of the relay", `{"v":"mvp-0.2","type":"relay.joined","id":"i","payload":{}}`, "i"},
	{"type of the other side", `{"v":"mvp-0.2","type":"OTHER","id":"i","payload":{}}`, "i"},
	{"id a number", `{"v":"mvp-0.2","type":"TYPE","id":7,"payload":{}}`, nil},
	{"id null", `{"v":"mvp-0.2","type":"TYPE","id":null,"payload":{}}`, nil},
	{"id an object", `{"v":"mvp-0.2","type":"TYPE","id":{},"payload":{}}`, nil},
	{"replyTo a number", `{"v":"mvp-0.2","type":"TYPE","id":"i","replyTo":7,"payload":{}}`, "i"},
	{"replyTo null", `{"v":"mvp-0.2","type":"TYPE","id":"i","replyTo":null,"payload":{}}`, "i"},
	{"no payload", `{"v":"mvp-0.2","type":"TYPE","id":"i"}`, "i"},
	{"payload null", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":null}`, "i"},
	{"payload an array", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":[]}`, "i"},
	{"payload a string", `{"v":"mvp-0.2","type":"TYPE","id":"i","payload":"{}"}`, "i"},
	{"id with an escape", `{"v":"","id":"\u00e9\n"}`, "é\n"},
	{"id empty", `{"v":"","id":""}`, ""},
}

// The relay refuses invalid envelopes in both directions and passes them on to no one; the connection stays open
// (EA-018 to EA-024).
func TestBadEnvelopes(t *testing.T) {
	for way, join := range ways {
		t.Run(way, func(t *testing.T) {
			b := startServer(t, Options{})
			host, agent := join(b, "host", "s"), join(b, "agent", "s")
			for _, side := range []struct {
				name, kind, other string
				from, to          *party
			}{{"agent", "tool.call", "user.message", agent, host}, {"host", "user.message", "tool.call", host, agent}} {
				for _, row := range badEnvelopes {
					t.Run(side.name+"/"+row.reason, func(t *testing.T) {
						side.from.t, side.to.t = t, t
						side.from.send(strings.NewReplacer("TYPE", side.kind, "OTHER", side.other).Replace(row.text))
						side.from.wantRefusal(row.replyTo, proto.InvalidMessage)
						side.to.wantNothing()
					})
				}
			}
		})
	}
}

func TestBinaryFrame(t *testing.T) {
	b := startServer(t, Options{})
	host, agent := b.join("host", "s"), b.join("agent", "s")
	if err := agent.ws.Write(t.Context(), websocket.MessageBinary, []byte(agentRequest("i"))); err != nil {
		t.Fatal(err)
	}
	agent.wantRefusal("i", proto.InvalidMessage)
	host.wantNothing()
}

// A valid envelope arrives byte for byte, whatever else it contains.
func TestGoodEnvelopes(t *testing.T) {
	for way, join := range ways {
		t.Run(way, func(t *testing.T) {
			b := startServer(t, Options{})
			host, agent := join(b, "frontend", "s"), join(b, "agent", "s")
			for _, side := range []struct {
				from, to *party
				kinds    []string
			}{
				{agent, host, []string{"session.start", "snapshot.get", "tool.call", "agent.message", "session.end"}},
				{host, agent, []string{"session.started", "snapshot.state", "tool.result", "state.updated", "user.message",
					"session.ended", "error"}},
			} {
				for _, kind := range side.kinds {
					for _, text := range []string{
						`{"v":"mvp-0.2","type":"TYPE","payload":{}}`,
						` { "payload" : {"b":1,"a":1.0e3,"n":12345678901234567890.10,"e":"\u00e9\/é😀\u2028\u0000"} ,` + "\n\t" +
							`"type":"TYPE","v":"mvp-0.2","more":[null]} `,
						`{"\u0076":"mvp\u002d0.2","type":"TYPE","id":"","replyTo":"","payload":{"":{"":{}}}}`,
						`{"v":"mvp-0.2","V":1,"type":"TYPE","Type":2,"payload":{"a":"]}[{\"\\","A":0,"` + strings.Repeat(`x`, 10_000) +
							`":1}}`,
						nested("TYPE", MaxDepth),
					} {
						text := strings.ReplaceAll(text, "TYPE", kind)
						side.from.send(text)
						side.to.wantMessage(text)
					}
				}
			}
			agent.wantNothing()
			host.wantNothing()
		})
	}
}

// judged returns the checks' verdict on a frame.
func judged(from Party, text string) *Refusal {
	return right.checkEnvelope(from, Read(Frame{Data: []byte(text)}))
}

// The check fails only by refusing; another parser reads what it accepts in the same way, and each refusal can be put
// into an error that is itself a valid envelope.
func FuzzCheck(f *testing.F) {
	for _, row := range badEnvelopes {
		f.Add(strings.ReplaceAll(row.text, "TYPE", "tool.call"))
	}
	f.Add(agentRequest("i"))
	f.Add(nested("tool.call", MaxDepth))
	f.Add(`{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"s"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		e := Read(Frame{Data: []byte(text)})
		id, identified := e.ID()
		why := judged(Party{Role: proto.AgentRole}, text)
		if why != nil {
			msg := errorMessage(Request{ID: id, Identified: identified}, *why)
			if why := judged(Party{Role: proto.HostRole}, string(wire.Encode(msg))); why != nil {
				t.Errorf("the error is refused: %v", why)
			}
		}
		_, _ = readJoin(e)
		var other map[string]any
		if err := stdjson.Unmarshal([]byte(text), &other); err != nil {
			if why == nil {
				t.Errorf("accepted, although %v", err)
			}
			return
		}
		if why != nil {
			return
		}
		_, isObject := other["payload"].(map[string]any)
		known := typesOf[proto.AgentRole]
		if !utf8.ValidString(text) || !isObject || other["v"] != proto.Version || !strings.Contains(strings.Join(known,
			" "), e.Type()) ||
			other["type"] != e.Type() || identified && other["id"] != id || !identified && other["id"] != nil {
			t.Errorf("accepted: %v", other)
		}
	})
}
