package passive

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	A open
//	A > {"v":"mvp-0.2","type":"snapshot.get","id":"r2","payload":{}}
//	A < {…}
//	A < not JSON
//	A closed
//	+ 31s
//
// where > is sent and < received, and + lets time pass.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	var out []transcript.Record
	var now time.Duration
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) < 2 {
			continue
		}
		r := transcript.Record{N: len(out) + 1, At: now, Conn: words[0], Dir: transcript.Received, Kind: transcript.Frame,
			Type: "text"}
		switch words[1] {
		case "open":
			r.Kind = transcript.Open
		case "closed":
			r.Kind = transcript.Closed
		case ">", "<":
			if words[1] == ">" {
				r.Dir = transcript.Sent
			}
			r.Bytes = []byte(words[2])
			v, faults, err := wjson.Decode(r.Bytes)
			if env, ok := v.(object); err == nil && ok {
				r.Event = &transcript.Event{Data: env[vocab.Payload], RequestID: env[vocab.ID], Envelope: env}
				r.Event.Type, _ = env[vocab.Type].(string)
				if len(faults) > 0 {
					r.Event.Faults = []string{"a name twice"}
				}
			}
		default:
			d, err := time.ParseDuration(words[1])
			if err != nil || words[0] != "+" {
				t.Fatalf("%q is no line of a script: %v", line, err)
			}
			now += d
			continue
		}
		out = append(out, r)
	}
	return out
}

// flip exchanges sent and received messages, because the target is the agent.
func flip(lines string) string {
	return strings.NewReplacer("A > ", "A < ", "A < ", "A > ").Replace(lines)
}

// ask returns a request of the agent, hear a message to it.
func ask(kind, id, payload string) string {
	return `A > {"v":"mvp-0.2","type":"` + kind + `","id":"` + id + `","payload":` + payload + "}\n"
}

func hear(kind, to, payload string) string {
	if to != "" {
		to = `,"replyTo":"` + to + `"`
	}
	return `A < {"v":"mvp-0.2","type":"` + kind + `"` + to + `,"payload":` + payload + "}\n"
}

func refuse(to, code string) string {
	return hear("error", to, `{"code":"`+code+`","message":"m"}`)
}

// call returns a tool.call.
func call(id, tool, params string) string {
	return ask("tool.call", id, `{"toolName":"`+tool+`","params":`+params+`,"reason":"r"}`)
}

// shown returns the members of a state.
func shown(spec, history, tools string) string {
	return `"uiSpec":` + spec + `,"messageHistory":[` + history + `],"toolSchema":[` + tools + `]`
}

func updated(state string) string {
	return hear("state.updated", "", `{"source":"host",`+state+"}")
}

func snap(id, state string) string {
	return ask("snapshot.get", id, "{}") + hear("snapshot.state", id, `{"sessionId":"s-1",`+state+"}")
}
