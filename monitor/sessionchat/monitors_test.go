package sessionchat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/sessionchat"
	"parley/transcript"
	wjson "parley/wire/json"
)

// script reads a transcript from lines such as
//
//	A open
//	A > chat red: [[echo x-1]] Hello
//	A > interrupt {"agent_id":"red"}
//	A < stream red s-1: stream x-1 1/2
//	A < error {"message":{}}
//	A < - {"agent_id":"red"}
//	A closed
//	- a remark
//	+ 45s
//
// where > is sent and < received, - stands for a message without a type, and + lets time pass. A message is whole where its members are not
// given as JSON: an agent_id, a session_id (or null), and what it says.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	var out []transcript.Record
	var now time.Duration
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.SplitN(strings.TrimLeft(line, " \t"), " ", 4)
		if len(words) < 2 {
			continue
		}
		if words[0] == "+" {
			d, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			now += d
			continue
		}
		r := transcript.Record{N: len(out) + 1, At: now, Conn: words[0], Dir: transcript.Received}
		switch words[1] {
		case "open":
			r.Kind = transcript.Open
		case "closed":
			r.Kind = transcript.Closed
		case "junk":
			r.Kind, r.Type, r.Bytes = transcript.Frame, "text", []byte("junk")
		case "<", ">":
			r.Kind, r.Type, r.Bytes = transcript.Frame, "text", []byte(strings.Join(words[2:], " "))
			if words[1] == ">" {
				r.Dir = transcript.Sent
			}
			r.Event = event(t, r.Dir, append(words, "")[2:4])
		default:
			r.Conn, r.Dir, r.Kind, r.Label = "", transcript.Noted, transcript.Remark, strings.Join(words[1:], " ")
		}
		out = append(out, r)
	}
	return out
}

// event reads a type, and the members of the message as JSON or in short.
func event(t testing.TB, dir transcript.Dir, words []string) *transcript.Event {
	t.Helper()
	ev := &transcript.Event{Type: strings.TrimPrefix(words[0], "-")}
	switch head, said, _ := strings.Cut(words[1], ": "); {
	case words[1] == "":
	case words[1][0] == '{' || words[1][0] == '[':
		data, _, err := wjson.Decode([]byte(words[1]))
		if err != nil {
			t.Fatalf("%q: %v", words[1], err)
		}
		ev.Data = data
	case dir == transcript.Sent:
		ev.Data = map[string]any{"agent_id": head, "content": said}
	default:
		agent, session, _ := strings.Cut(head, " ")
		data := whole(ev.Type)
		data["agent_id"], data["text"], data["session_id"] = agent, said, any(session)
		if session == "null" {
			data["session_id"] = nil
		}
		ev.Data = data
	}
	return ev
}

// whole is a message that has everything.
func whole(kind string) map[string]any {
	return map[string]any{"agent_id": "red", "session_id": "s-1", "message_type": kind, "message": map[string]any{}, "timestamp": "t", "text": ""}
}

const (
	ask1  = "A > chat red: [[echo x-1]]\n"
	ask2  = "A > chat red: [[echo x-2]]\n"
	blue  = "A > chat blue: [[echo x-3]]\n"
	three = "A > chat red: Hi\nA > chat Red: Hi\nA > chat blue: Hi\n"
	rests = "- " + Resumes + ": the target was stopped and started again\n"
	idle  = "- " + Idle + "1m0s\n"

	interrupted = `A < result {"agent_id":"red","session_id":"s-1","subtype":"interrupted"}` + "\n"
)

// rows: for every clause of a monitor transcripts that keep it and transcripts that break it.
var rows = []struct {
	monitor string
	reason  string
	in      string
	kept    string // clauses
	broken  string
}{
	{monitor: "session-message-shape", reason: "a whole turn", kept: "SC-038 SC-039 SC-040 SC-043 SC-044",
		in: ask1 + "A < system red s-1: \nA < stream red s-1: a\nA < assistant red s-1: a\nA < result red s-1: "},
	{monitor: "session-message-shape", reason: "a session_id that is not known yet", kept: "SC-038 SC-039 SC-040 SC-043 SC-044", in: ask1 + "A < system red null: "},
	{monitor: "session-message-shape", reason: "an agent_id that nobody has used is somebody else's", in: ask1 + `A < stream {"agent_id":"green"}` + "\n" + `A < result {"agent_id":"Red"}`},
	{monitor: "session-message-shape", reason: "an agent_id that is used later", in: `A < system {"agent_id":"red"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "an agent_id that is null, in the answer to a chat", kept: "SC-039 SC-040 SC-043 SC-044", broken: "SC-038",
		in: ask1 + `A < assistant {"agent_id":null,"session_id":"s","message_type":"assistant","message":{},"timestamp":"t"}`},
	{monitor: "session-message-shape", reason: "a greeting belongs to no session",
		in: `A < system {"agent_id":null,"session_id":null,"message_type":"system","message":{"subtype":"hello"},"timestamp":"t"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "a greeting over another connection, behind a chat", in: ask1 + `B < system {"agent_id":null,"session_id":null,"message":{"subtype":"hello"}}`},
	{monitor: "session-message-shape", reason: "a greeting that has nothing but its type", in: `A < system {"message_type":"system"}` + "\n" + "A < system\n" + ask1},
	{monitor: "session-message-shape", reason: "a greeting under an agent_id that nobody has used", in: `A < system {"agent_id":"","session_id":null}` + "\n" + `A < system {"agent_id":"server","session_id":"s-0"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "what greets and tells of a session", kept: "SC-039 SC-040 SC-043 SC-044", broken: "SC-038",
		in: `A < system {"agent_id":null,"session_id":"s-1","message_type":"system","message":{},"timestamp":"t"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "a session_id of a greeting that is no string", kept: "SC-040 SC-043 SC-044", broken: "SC-038 SC-039",
		in: `A < system {"session_id":7,"message_type":"system","message":{},"timestamp":"t"}`},
	{monitor: "session-message-shape", reason: "a type other than system does not greet", kept: "SC-039 SC-040 SC-043 SC-044", broken: "SC-038",
		in: `A < stream {"agent_id":null,"session_id":null,"message_type":"stream","message":{},"timestamp":"t"}`},
	{monitor: "session-message-shape", reason: "texts that are empty", kept: "SC-038 SC-039 SC-043 SC-044", broken: "SC-040",
		in: `A > chat {"agent_id":"","content":""}` + "\n" + `A < result {"agent_id":"","session_id":"","message_type":"","message":{},"timestamp":""}`},
	{monitor: "session-message-shape", reason: "members that no clause names", kept: "SC-038 SC-039 SC-040 SC-043 SC-044",
		in: ask1 + `A < stream {"agent_id":"red","session_id":"s","message_type":"stream","message":{},"timestamp":"t","type":"x","seq":1}`},
	{monitor: "session-message-shape", reason: "an empty message", broken: "SC-038 SC-039 SC-040 SC-043 SC-044", in: `A < result {}`},
	{monitor: "session-message-shape", reason: "no data", broken: "SC-038 SC-039 SC-040 SC-043 SC-044", in: `A < result`},
	{monitor: "session-message-shape", reason: "data that is no object", broken: "SC-038 SC-039 SC-040 SC-043 SC-044", in: `A < result [1]`},
	{monitor: "session-message-shape", reason: "one bad message breaks what a good one kept", kept: "SC-038 SC-039 SC-040 SC-043", broken: "SC-044",
		in: ask1 + "A < stream red s-1: a\n" + `A < result {"agent_id":"red","session_id":"s","message_type":"result","message":{}}`},
	{monitor: "session-message-shape", reason: "an error belongs to no session", in: ask1 + `A < error {"message":{"code":"c"}}` + "\n" + `A < error {"agent_id":"red"}`},
	{monitor: "session-message-shape", reason: "a pong belongs to none", in: ask1 + `A < pong {}` + "\n" + `A < pong {"agent_id":"red"}`},
	{monitor: "session-message-shape", reason: "what no clause speaks of is not judged", in: ask1 + `A < usage {"agent_id":"red","tokens":7}` + "\n" + `A < hello {}`},
	{monitor: "session-message-shape", reason: "without a type, and about an agent_id that was asked for", kept: "SC-038 SC-039 SC-043 SC-044", broken: "SC-040",
		in: ask1 + `A < - {"agent_id":"red","session_id":null,"message":{},"timestamp":"t"}`},
	{monitor: "session-message-shape", reason: "a type that is no string", kept: "SC-038", broken: "SC-039 SC-040 SC-043 SC-044", in: ask1 + `A < - {"agent_id":"red","message_type":7}`},
	{monitor: "session-message-shape", reason: "without a type, over another connection", kept: "SC-038", broken: "SC-039 SC-040 SC-043 SC-044", in: ask1 + `B < - {"agent_id":"red"}`},
	{monitor: "session-message-shape", reason: "without a type, and about nobody's agent_id", in: ask1 + `A < - {"agent_id":"green"}`},
	{monitor: "session-message-shape", reason: "without a type, and about an agent_id in other capitals", in: ask1 + `A < - {"agent_id":"Red"}`},
	{monitor: "session-message-shape", reason: "without a type, before its agent_id was asked for", in: `A < - {"agent_id":"red"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "without a type, about an agent_id that was interrupted only", in: `A > interrupt {"agent_id":"red"}` + "\n" + `A < - {"agent_id":"red"}`},
	{monitor: "session-message-shape", reason: "without a type and an agent_id", in: ask1 + `A < - {"hello":1}` + "\n" + `A < - {"agent_id":["red"]}` + "\nA < -"},
	{monitor: "session-message-shape", reason: "a chat without an agent_id uses none", in: `A > chat {"content":"x"}` + "\n" + `A > chat {"agent_id":7}` + "\n" + `A < - {"agent_id":7}` + "\n" + `A < - {"agent_id":""}`},
	{monitor: "session-message-shape", reason: "what the harness sent is not judged", in: `A > result {}` + "\n" + `A > stream`},
	{monitor: "session-message-shape", reason: "what is no message is not judged", in: "A open\nA junk\nA closed\n- a remark"},

	{monitor: "session-id-stays", reason: "one id in every message", kept: "SC-042 SC-056", in: three + "A < system red s-1: \nA < stream red s-1: a\nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "the first id proves nothing", in: three + "A < system red null: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "null, and known from then on", kept: "SC-042 SC-056", in: three + "A < system red null: \nA < system red null: \nA < stream red s-1: a\nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "no member, and known from then on", kept: "SC-042 SC-056", in: three + `A < system {"agent_id":"red"}` + "\nA < stream red s-1: a\nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "never known: other judgements speak of that", in: three + "A < system red null: \nA < result red null: "},
	{monitor: "session-id-stays", reason: "another id", kept: "SC-056", broken: "SC-042", in: three + "A < system red s-1: \nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id for one message", kept: "SC-056", broken: "SC-042", in: three + "A < system red s-1: \nA < stream red s-2: a\nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "another id in a later turn", kept: "SC-056", broken: "SC-042", in: three + "A < result red s-1: \n" + ask2 + "A < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id over another connection", kept: "SC-056", broken: "SC-042", in: three + "A < result red s-1: \nB open\nB < result red s-2: "},
	{monitor: "session-id-stays", reason: "an id in other capitals", kept: "SC-056", broken: "SC-042", in: three + "A < system red s-1: \nA < result red S-1: "},
	{monitor: "session-id-stays", reason: "null again", broken: "SC-056", in: three + "A < system red s-1: \nA < result red null: "},
	{monitor: "session-id-stays", reason: "null again, in a later turn", kept: "SC-042", broken: "SC-056", in: three + "A < result red s-1: \n" + ask2 + "A < system red null: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "no member again", broken: "SC-056", in: three + "A < system red s-1: \n" + `A < result {"agent_id":"red"}`},
	{monitor: "session-id-stays", reason: "a number again", broken: "SC-056", in: three + "A < system red s-1: \n" + `A < result {"agent_id":"red","session_id":7}`},
	{monitor: "session-id-stays", reason: "the empty text again", broken: "SC-056", in: three + "A < system red s-1: \n" + `A < result {"agent_id":"red","session_id":""}`},
	{monitor: "session-id-stays", reason: "without a type, and about an agent_id that was asked for", kept: "SC-056", broken: "SC-042", in: three + "A < system red s-1: \n" + `A < - {"agent_id":"red","session_id":"s-2"}`},
	{monitor: "session-id-stays", reason: "each agent_id has its own", kept: "SC-042 SC-056", in: three + "A < system red s-1: \nA < system blue s-2: \nA < system Red s-3: \nA < result red s-1: \nA < result blue s-2: "},
	{monitor: "session-id-stays", reason: "one is known, the other is not yet", kept: "SC-042 SC-056", in: three + "A < system red s-1: \nA < system blue null: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "an error is not judged", kept: "SC-042 SC-056", in: three + "A < system red s-1: \n" + `A < error {"agent_id":"red","session_id":null}` + "\n" + `A < pong {"agent_id":"red","session_id":"s-2"}` + "\nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "an agent_id that nobody has used is somebody else's", in: three + "A < system green s-1: \nA < result green s-2: \nA < result green null: "},
	{monitor: "session-id-stays", reason: "messages without an agent_id are nobody's", in: three + `A < system {"session_id":"s-1"}` + "\n" + `A < system {"agent_id":null,"session_id":"s-2"}` + "\nA < system"},
	{monitor: "session-id-stays", reason: "another id after a restart", in: three + "A < result red s-1: \n" + rests + "A < result red s-2: "},
	{monitor: "session-id-stays", reason: "the same id after a restart, which another clause speaks of", in: three + "A < result red s-1: \n" + rests + "A < result red s-1: "},
	{monitor: "session-id-stays", reason: "null after a restart, until it is known again", in: three + "A < result red s-1: \n" + rests + "A < system red null: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "another id after a rest", in: three + "A < result red s-1: \n- " + Resumes + ": red may have left the target's memory\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after a connection has ended", in: three + "A < result red s-1: \nA closed\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "null after a connection has ended", in: three + "A < result red s-1: \nA closed\nA < system red null: \nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id within the life after a restart", kept: "SC-056", broken: "SC-042", in: three + "A < result red s-1: \n" + rests + "A < system red s-2: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "null again within the life after a close", broken: "SC-056", in: three + "A < result red s-1: \nA closed\nA < system red s-2: \nA < result red null: "},
	{monitor: "session-id-stays", reason: "another remark resumes nothing", kept: "SC-056", broken: "SC-042", in: three + "A < result red s-1: \n- interop: none\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after another client's connection has ended", in: three + "A < result red s-1: \nB closed\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after nobody has used it for long", in: idle + three + "A < result red s-1: \n+ 45s\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "null after nobody has used it for long", in: idle + three + "A < result red s-1: \n+ 60s\nA < system red null: \nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id within the life after that", kept: "SC-056", broken: "SC-042", in: idle + three + "A < result red s-1: \n+ 60s\nA < system red s-2: \nA < result red s-1: "},
	{monitor: "session-id-stays", reason: "another id after nobody has used it for a while", kept: "SC-056", broken: "SC-042", in: idle + three + "A < result red s-1: \n+ 44s\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after it was used again and again", kept: "SC-056", broken: "SC-042",
		in: idle + three + "A < system red s-1: \n+ 30s\nA < stream red s-1: \n+ 30s\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after another session has rested", kept: "SC-056", broken: "SC-042",
		in: idle + three + "A < system blue s-7: \nA < system red s-1: \n+ 30s\nA < stream red s-1: \n+ 30s\nA < system blue s-8: \nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "another id after long, and how long it is kept is not known", kept: "SC-056", broken: "SC-042", in: three + "A < result red s-1: \n+ 24h\nA < result red s-2: "},
	{monitor: "session-id-stays", reason: "two restarts", kept: "SC-042 SC-056", in: three + "A < result red s-1: \n" + rests + "A < result red s-2: \n" + rests + "A < system red s-3: \nA < result red s-3: "},

	{monitor: "session-id-stays", reason: "the agent_id in its place", broken: "SC-042", in: three + "A < system red red: \n"},
	{monitor: "session-id-stays", reason: "another agent_id of the client in its place", broken: "SC-042", in: three + "A < result red blue: \n"},
	{monitor: "session-id-stays", reason: "the agent_id in its place, in an error", broken: "SC-042", in: three + "A < error red red: no\n"},
	{monitor: "session-id-stays", reason: "the agent_id in its place, in an error that names no agent_id", broken: "SC-042", in: three + `A < error {"agent_id":null,"session_id":"red"}`},
	{monitor: "session-id-stays", reason: "the agent_id of an interrupt", broken: "SC-042", in: "A > interrupt red: \n" + `A < error {"agent_id":"red","session_id":"red"}`},
	{monitor: "session-id-stays", reason: "an error that knows it, or does not", in: three + "A < error red s-1: no\nA < error blue null: no\n" + `A < error {"agent_id":"red","session_id":""}`},
	{monitor: "session-id-stays", reason: "an agent_id that another client has sent", in: "B > chat s-1: Hi\n" + three + "A < system red s-1: \n"},
	{monitor: "session-ids-differ", reason: "one session differs from none", in: three + "A < system red s-1: \nA < result red s-1: "},
	{monitor: "session-ids-differ", reason: "two sessions", kept: "SC-027", in: three + "A < system red s-1: \nA < system blue s-2: \nA < result red s-1: \nA < result blue s-2: "},
	{monitor: "session-ids-differ", reason: "the first session differs from none, however often it is told", kept: "SC-027", in: three + "A < system red s-1: \nA < system red s-1: \nA < system blue s-2: "},
	{monitor: "session-ids-differ", reason: "two agent_ids with one session_id", broken: "SC-027", in: three + "A < system red s-1: \nA < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "over two connections", broken: "SC-027", in: three + "A < system red s-1: \nB < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "after a restart", broken: "SC-027", in: three + "A < system red s-1: \n" + rests + "A < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "after its owner has got another one", broken: "SC-027", in: three + "A < system red s-1: \nA closed\nA < system red s-2: \nA < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "agent_ids in other capitals are others", broken: "SC-027", in: three + "A < system red s-1: \nA < system Red s-1: "},
	{monitor: "session-ids-differ", reason: "in a message without a type", broken: "SC-027", in: three + "A < system red s-1: \n" + `A < - {"agent_id":"blue","session_id":"s-1"}`},
	{monitor: "session-ids-differ", reason: "a session may have several ids in its life", kept: "SC-027", in: three + "A < system red s-1: \nA < system red s-2: \nA < system blue s-3: \nA < system red s-1: "},
	{monitor: "session-ids-differ", reason: "one session that has several ids differs from none", in: three + "A < system red s-1: \nA < system red s-2: "},
	{monitor: "session-ids-differ", reason: "what is not known is no id", in: three + "A < system red null: \nA < system blue null: \n" + `A < system {"agent_id":"red","session_id":""}` + "\n" + `A < system {"agent_id":"blue","session_id":""}`},
	{monitor: "session-ids-differ", reason: "what is no string is no id", in: three + `A < system {"agent_id":"red","session_id":7}` + "\n" + `A < system {"agent_id":"blue","session_id":7}` + "\n" + `A < system {"agent_id":"blue"}`},
	{monitor: "session-ids-differ", reason: "an agent_id that nobody has used is somebody else's", in: three + "A < system red s-1: \nA < system green s-1: "},
	{monitor: "session-ids-differ", reason: "errors are not judged", in: three + "A < system red s-1: \n" + `A < error {"agent_id":"blue","session_id":"s-1"}`},
	{monitor: "session-ids-differ", reason: "messages of nobody are not judged", in: three + "A < system red s-1: \n" + `A < system {"session_id":"s-1"}`},

	{monitor: "own-agent-id", reason: "the model's words under their agent_id", kept: "SC-021 SC-041", in: ask1 + "A < stream red s-1: [[echo x-1]]\nA < assistant red s-1: [[echo x-1]]\nA < result red s-1: [[echo x-1]]"},
	{monitor: "own-agent-id", reason: "under another", broken: "SC-021 SC-041", in: ask1 + "A < stream blue s-1: stream x-1 1/2"},
	{monitor: "own-agent-id", reason: "under another in one of many messages", broken: "SC-021 SC-041", in: ask1 + blue + "A < stream red s-1: stream x-1 1/2\nA < stream blue s-2: stream x-1 2/2\nA < result red s-1: "},
	{monitor: "own-agent-id", reason: "in other capitals", broken: "SC-021 SC-041", in: ask1 + "A < stream Red s-1: stream x-1 1/2"},
	{monitor: "own-agent-id", reason: "under none", broken: "SC-021 SC-041", in: ask1 + `A < assistant {"text":"x-1"}`},
	{monitor: "own-agent-id", reason: "under null", broken: "SC-021 SC-041", in: ask1 + `A < assistant {"agent_id":null,"text":"x-1"}`},
	{monitor: "own-agent-id", reason: "under an object", broken: "SC-021 SC-041", in: ask1 + `A < assistant {"agent_id":{"red":1},"text":"x-1"}`},
	{monitor: "own-agent-id", reason: "with a blank behind it", broken: "SC-021 SC-041", in: ask1 + `A < assistant {"agent_id":"red ","text":"x-1"}`},
	{monitor: "own-agent-id", reason: "over another connection", kept: "SC-021 SC-041", in: ask1 + "B < stream red s-1: x-1 "},
	{monitor: "own-agent-id", reason: "each chat has its own", kept: "SC-021 SC-041", in: ask1 + blue + "A < stream blue s-2: x-3 \nA < stream red s-1: x-1 "},
	{monitor: "own-agent-id", reason: "two that are exchanged", broken: "SC-021 SC-041", in: ask1 + blue + "A < stream blue s-2: x-1 \nA < stream red s-1: x-3 "},
	{monitor: "own-agent-id", reason: "a chat of two directives", kept: "SC-021 SC-041", in: "A > chat red: [[echo x-1]] [[recall x-2]]\nA < stream red s-1: x-2 "},
	{monitor: "own-agent-id", reason: "a nonce that begins another one is not mentioned", kept: "SC-021 SC-041", in: ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream blue s-2: stream x-11 1/2 "},
	{monitor: "own-agent-id", reason: "nor one that goes on", in: ask1 + "A < stream blue s-2: x-1-red x-12 \nA < assistant blue s-2: x-1-red x-12"},
	{monitor: "own-agent-id", reason: "one with a full stop behind it is", broken: "SC-021 SC-041", in: ask1 + "A < assistant blue s-2: This is x-1."},
	{monitor: "own-agent-id", reason: "one in quotes is", broken: "SC-021 SC-041", in: ask1 + "A < assistant blue s-2: {\"said\":\"x-1\"}"},
	{monitor: "own-agent-id", reason: "one in brackets is, in a portion too", broken: "SC-021 SC-041", in: ask1 + "A < stream blue s-2: [[echo x-1]]"},
	{monitor: "own-agent-id", reason: "one that ends a whole message is", broken: "SC-021 SC-041", in: ask1 + "A < assistant blue s-2: x-1"},
	{monitor: "own-agent-id", reason: "one that ends a result is", broken: "SC-021 SC-041", in: ask1 + "A < result blue s-2: x-1"},
	{monitor: "own-agent-id", reason: "one that ends a portion is not yet", in: ask1 + "A < stream blue s-2: stream x-1"},
	{monitor: "own-agent-id", reason: "one before the last word of a portion is", broken: "SC-021 SC-041", in: ask1 + "A < stream blue s-2: stream x-1 1/2"},
	{monitor: "own-agent-id", reason: "words of nobody's chat", in: ask1 + "A < stream blue s-2: stream y-1 1/2 "},
	{monitor: "own-agent-id", reason: "no words", in: ask1 + "A < system blue s-2: \nA < stream blue s-2: \n" + `A < result {"agent_id":"blue"}`},
	{monitor: "own-agent-id", reason: "what belongs to no turn is not judged", in: ask1 + "A < error blue s-2: x-1\nA < pong blue s-2: x-1\nA < usage blue s-2: x-1\nA < - blue s-2: x-1\nA junk"},
	{monitor: "own-agent-id", reason: "only a chat is answered", in: `A > interrupt {"agent_id":"red","content":"[[echo x-1]]"}` + "\nA < stream blue s-2: x-1 "},
	{monitor: "own-agent-id", reason: "earlier nonces of its own", kept: "SC-021 SC-041", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \n" + ask2 + "A < stream red s-1: x-1 (1)"},
	{monitor: "own-agent-id", reason: "a nonce that is cut where another one ends", kept: "SC-021 SC-041",
		in: ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream blue s-2: stream x-1\nA < stream blue s-2: 1 1/2 stream x-11 2/2 "},
	{monitor: "own-agent-id", reason: "a nonce that is cut anywhere else",
		in: ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream blue s-2: stream x\nA < stream blue s-2: -11 1/2 stream x-\nA < stream blue s-2: 11 2/2 "},
	{monitor: "own-agent-id", reason: "the text so far, cut where another nonce ends", kept: "SC-021 SC-041",
		in: ask1 + "A > chat blue: [[echo x-11]]\nA < stream blue s-2: [[echo x-1\nA < stream blue s-2: [[echo x-11\nA < stream blue s-2: [[echo x-11]]"},
	{monitor: "own-agent-id", reason: "the longer one under the agent_id of the one that it begins with", broken: "SC-021 SC-041",
		in: ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream red s-1: stream x-1\nA < stream red s-1: 1 1/2 stream x-11 2/2 "},
	{monitor: "own-agent-id", reason: "a recall of its own turns", kept: "SC-021 SC-041",
		in: ask1 + "A < result red s-1: \n" + ask2 + "A < result red s-1: \nA > chat red: [[recall x-4]]\nA < stream red s-1: x-1 x-2 (2)\nA < assistant red s-1: x-1 x-2 (2)\nA < result red s-1: "},
	{monitor: "own-agent-id", reason: "a recall of another session's turn", broken: "SC-021 SC-041",
		in: ask1 + "A < result red s-1: \nA > chat blue: [[recall x-4]]\nA < stream blue s-2: x-1 (1)\nA < result blue s-2: "},
	{monitor: "own-agent-id", reason: "a recall of nothing", in: "A > chat blue: [[recall x-4]]\nA < stream blue s-2: (0)\nA < assistant blue s-2: (0)\nA < result blue s-2: "},
	{monitor: "own-agent-id", reason: "a system message that quotes another session", in: ask1 + "A < system blue s-2: [[echo x-1]] Hello\nA < system green s-3: x-1"},
	{monitor: "own-agent-id", reason: "the user's words of another session in a list of sessions", kept: "SC-021 SC-041",
		in: ask1 + "A < assistant red s-1: x-1\n" + blue + "A < system blue s-2: red [[echo x-1]] blue [[echo x-3]]\nA < stream blue s-2: x-3 "},

	{monitor: "nothing-behind-the-end", reason: "words, and then the result", kept: "SC-020", in: ask1 + "A < system red s-1: \nA < stream red s-1: x-1 \nA < assistant red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a result that sums up", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "a result without words before it", kept: "SC-020", in: ask1 + "A < system red s-1: \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a piece behind it", broken: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-1 "},
	{monitor: "nothing-behind-the-end", reason: "the whole behind it", broken: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < assistant red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "words behind a result that had all of them", broken: "SC-020", in: ask1 + "A < result red s-1: [[echo x-1]]\nA < assistant red s-1: [[echo x-1]]"},
	{monitor: "nothing-behind-the-end", reason: "the whole behind a result whose words came in small pieces", broken: "SC-020",
		in: ask1 + "A < stream red s-1: x\nA < stream red s-1: -\nA < stream red s-1: 1\nA < result red s-1: \nA < assistant red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "the whole behind the end of one of several turns", broken: "SC-020",
		in: ask1 + "A < result red s-1: \nA < assistant red s-1: x-1\n" + ask2 + "A < assistant red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a portion behind it that ends in a nonce", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "words behind it that name no chat", kept: "SC-020", in: ask1 + "A < result red s-1: \nA < stream red s-1: Bye \nA < assistant red s-1: Anything else?"},
	{monitor: "nothing-behind-the-end", reason: "words behind it, while the next chat is open, may be its answer", kept: "SC-020",
		in: ask1 + "A < stream red s-1: stream x-1 1/2 \nA < result red s-1: \n" + ask2 + "A < stream red s-1: stream x-1 2/2 \nA < stream red s-1: x-2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "so may they while a chat without a directive is open", kept: "SC-020",
		in: ask1 + "A < result red s-1: \nA > chat red: What did I say?\nA < assistant red s-1: [[echo x-1]]\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "but not behind its end", broken: "SC-020",
		in: ask1 + "A < result red s-1: \nA > chat red: What did I say?\nA < result red s-1: \nA < assistant red s-1: [[echo x-1]]"},
	{monitor: "nothing-behind-the-end", reason: "two turns", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \n" + ask2 + "A < stream red s-1: x-2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "two turns that were asked for at once", kept: "SC-020", in: ask1 + ask2 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "words behind the end of both", broken: "SC-020", in: ask1 + ask2 + "A < result red s-1: \nA < result red s-1: \nA < assistant red s-1: x-2"},
	{monitor: "nothing-behind-the-end", reason: "two chats and one result leave one open", kept: "SC-020", in: ask1 + ask2 + "A < result red s-1: \nA < assistant red s-1: x-2\nA < assistant red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "a nonce that begins another one has not gone on", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA > chat red: [[stream x-11 2]]\nA < stream red s-1: stream x-11 1/2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a nonce that is cut where another one ends", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA > chat red: [[stream x-11 1]]\nA < stream red s-1: stream x-1\nA < stream red s-1: 1 1/1 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "an answer that recalls the turn before", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA > chat red: [[recall x-2]]\nA < stream red s-1: x-1 (1)\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a recall behind its end", broken: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA > chat red: [[recall x-2]]\nA < result red s-1: \nA < stream red s-1: x-1 (1)"},
	{monitor: "nothing-behind-the-end", reason: "an answer that recalls the turn before, and names its own", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \n" + ask2 + "A < assistant red s-1: first x-1, now x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "the end of one session is not the end of another", kept: "SC-020",
		in: ask1 + blue + "A < stream red s-1: x-1 \nA < stream blue s-2: x-3 \nA < result blue s-2: \nA < stream red s-1: x-1 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a piece behind the end of one session, where another has ended before it", broken: "SC-020",
		in: ask1 + blue + "A < stream red s-1: x-1 \nA < stream blue s-2: x-3 \nA < result blue s-2: \nA < result red s-1: \nA < stream red s-1: x-1 "},
	{monitor: "nothing-behind-the-end", reason: "a piece behind the end of one session, where another runs", broken: "SC-020",
		in: ask1 + blue + "A < result red s-1: \nA < stream red s-1: x-1 \nA < stream blue s-2: x-3 \nA < result blue s-2: "},
	{monitor: "nothing-behind-the-end", reason: "words that went astray are ended by their own session alone", kept: "SC-020",
		in: ask1 + blue + "A < stream blue s-2: x-3 \nA < stream blue s-2: x-1 \nA < result blue s-2: \nA < stream red s-1: x-1 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "an agent_id in other capitals is another", kept: "SC-020", in: ask1 + "A < result red s-1: \nA < assistant Red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "order between two connections says nothing", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nB < stream red s-1: x-1 \nB < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a result over another connection is not the end", kept: "SC-020", in: ask1 + "B < result red s-1: \nA < assistant red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "what comes over a connection that was not the last to ask", kept: "SC-020",
		in: ask1 + "A < result red s-1: \nB > chat red: [[echo x-2]]\nA < assistant red s-1: x-1\nA < assistant red s-1: x-2\nB < result red s-1: \nA < assistant red s-1: x-2"},
	{monitor: "nothing-behind-the-end", reason: "where two connections have asked, nobody knows whose result is whose", kept: "SC-020",
		in: ask1 + "A < result red s-1: \nB > chat red: [[echo x-2]]\nB < result red s-1: \nB < assistant red s-1: x-2"},
	{monitor: "nothing-behind-the-end", reason: "an interrupt of a session that rests may be answered by a result",
		in: "A > interrupt red: \n" + ask1 + "A < result red s-1: \nA < assistant red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "words of another session's chat are that monitor's matter", kept: "SC-020",
		in: ask1 + "A > chat blue: [[echo x-3]]\nA < result red s-1: \nA < assistant red s-1: x-3"},
	{monitor: "nothing-behind-the-end", reason: "the same, where a chat of another connection has had no result",
		in: ask1 + "B > chat red: [[echo x-2]]\nB < result red s-1: \nB < assistant red s-1: x-2"},
	{monitor: "nothing-behind-the-end", reason: "a turn that another connection has taken over",
		in: ask1 + "B > chat red: [[echo x-2]]\nA < result red s-1: \nA < assistant red s-1: x-1\nB < assistant red s-1: x-2\nB < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a second result", broken: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < result red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "before the next chat", broken: "SC-020", in: ask1 + "A < result red s-1: \nA < result red s-1: \n" + ask2 + "A < assistant red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "behind the next chat", broken: "SC-020", in: ask1 + "A < assistant red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < result red s-1: \nA < assistant red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "in the middle of the next answer", broken: "SC-020", in: ask1 + "A < assistant red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < stream red s-1: x-2 \nA < result red s-1: \nA < assistant red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "of an interrupted turn", broken: "SC-020",
		in: "A > chat red: [[hold x-1]]\nA > interrupt red: \n" + interrupted + interrupted},
	{monitor: "nothing-behind-the-end", reason: "of one that may have ended before it was interrupted", kept: "SC-020",
		in: ask1 + "A > interrupt red: \n" + interrupted + interrupted},
	{monitor: "nothing-behind-the-end", reason: "of one that was held no longer", kept: "SC-020",
		in: "A > chat red: [[hold x-1]]\nA > interrupt red: \nA < assistant red s-1: x-1\nA < result red s-1: \n" + interrupted},
	{monitor: "nothing-behind-the-end", reason: "of one that was interrupted twice", kept: "SC-020",
		in: "A > chat red: [[hold x-1]]\nA > interrupt red: \nA > interrupt red: \n" + interrupted + interrupted},
	{monitor: "nothing-behind-the-end", reason: "an error, and then the result", kept: "SC-020", in: ask1 + "A < error red s-1: no\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "an error, and behind the next chat the result", kept: "SC-020",
		in: ask1 + "A < error red s-1: no\n" + ask2 + "A < result red s-1: \nA < assistant red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "an error, and two results", broken: "SC-020", in: ask1 + "A < error red s-1: no\nA < result red s-1: \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a result may answer what is no message", kept: "SC-020", in: ask1 + "A < result red s-1: \nA > nonsense red: x\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "what belongs to no turn may come behind it", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < usage red s-1: x-1\nA < error red s-1: x-1\nA < pong red s-1: x-1\nA < - red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "messages of the session without words may come behind it", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < system red s-1: idle"},
	{monitor: "nothing-behind-the-end", reason: "so may a title made of the user's first words", kept: "SC-020", in: ask1 + "A < result red s-1: \nA < system red s-1: [[echo x-1]] Hello"},
	{monitor: "nothing-behind-the-end", reason: "or in the next turn", kept: "SC-020",
		in: ask1 + "A < system red s-1: \nA < stream red s-1: x-1 \nA < result red s-1: \n" + ask2 + "A < system red s-1: [[echo x-1]] Hello\nA < stream red s-1: x-2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a turn that does not end", in: ask1 + "A < stream red s-1: x-1 \nA < stream red s-1: x-1 "},
	{monitor: "nothing-behind-the-end", reason: "nothing was asked", in: "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-1 "},
	{monitor: "nothing-behind-the-end", reason: "only a chat is answered", in: `A > interrupt {"agent_id":"red"}` + "\nA < result red s-1: \nA < stream red s-1: x-1 "},

	{monitor: "session-message-shape", reason: "nothing"},
	{monitor: "session-id-stays", reason: "nothing"},
	{monitor: "session-ids-differ", reason: "nothing"},
	{monitor: "own-agent-id", reason: "nothing"},
	{monitor: "nothing-behind-the-end", reason: "nothing"},
}

// judged sums up what a monitor says, as a scenario's result does; monitor "" stands for all of them.
func judged(monitor string, records []transcript.Record) (kept, broken map[string]bool) {
	kept, broken = map[string]bool{}, map[string]bool{}
	for _, m := range All() {
		if monitor != "" && m.Name != monitor {
			continue
		}
		for _, f := range m.Check(records) {
			for _, id := range f.Clauses {
				if f.OK {
					kept[id] = true
				} else {
					broken[id] = true
				}
			}
		}
	}
	for id := range broken {
		delete(kept, id)
	}
	return kept, broken
}

func set(ids string) map[string]bool {
	out := map[string]bool{}
	for _, id := range strings.Fields(ids) {
		out[id] = true
	}
	return out
}

func TestMonitors(t *testing.T) {
	for _, r := range rows {
		t.Run(r.monitor+"/"+r.reason, func(t *testing.T) {
			kept, broken := judged(r.monitor, script(t, r.in))
			if diff := cmp.Diff(set(r.kept), kept); diff != "" {
				t.Errorf("kept; want(-) got(+):\n%s", diff)
			}
			if diff := cmp.Diff(set(r.broken), broken); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestForms: every member of a message in every form, for each of the types that a turn has.
func TestForms(t *testing.T) {
	members := []struct{ clause, name, fine string }{
		{"SC-038", "agent_id", `"text" ""`},
		{"SC-039", "session_id", `"text" "" null`},
		{"SC-040", "message_type", `"text"`},
		{"SC-043", "message", `{} {"a":null}`},
		{"SC-044", "timestamp", `"text" ""`},
	}
	forms := strings.Fields(`missing null "text" "" 7 true [] ["text"] {} {"a":null}`)
	for _, kind := range []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		for _, m := range members {
			for _, form := range forms {
				data := whole(kind)
				delete(data, m.name)
				if form != "missing" {
					v, _, err := wjson.Decode([]byte(form))
					if err != nil {
						t.Fatal(err)
					}
					data[m.name] = v
				}
				records := script(t, ask1+"A < "+kind+" "+wjson.Compact(data))
				want := ""
				if !slices.Contains(strings.Fields(m.fine), form) {
					want = m.clause
				}
				if _, broken := judged("session-message-shape", records); !cmp.Equal(set(want), broken) {
					t.Errorf("%s of a %s is %s: broken %v, want %q", m.name, kind, form, broken, want)
				}
			}
		}
	}
}

// TestLegalStreams: whatever a server makes of the model's words, as long as it is legal no monitor has anything against it.
func TestLegalStreams(t *testing.T) {
	const end = "A < result red s-1: \n"
	ask := "A > chat red: [[stream x-1 3]]\n"
	words := []string{"stream x-1 1/3 ", "stream x-1 2/3 ", "stream x-1 3/3 "}
	all := strings.Join(words, "")
	each := func(kind string, list []string) string {
		var b strings.Builder
		for _, w := range list {
			b.WriteString("A < " + kind + " red s-1: " + w + "\n")
		}
		return b.String()
	}
	chars := strings.Split(all, "")
	grown := func(text string) []string {
		var out []string
		for i := range text {
			out = append(out, text[:i+1])
		}
		return out
	}
	soFar := grown(all)
	longer := strings.ReplaceAll(all, "x-1", "x-11")
	blueSays := func(list []string) string {
		return strings.ReplaceAll(each("stream", list), " red s-1: ", " blue s-2: ")
	}
	for _, r := range []struct{ reason, in string }{
		{"one by one", ask + each("stream", words) + end},
		{"and the whole", ask + each("stream", words) + each("assistant", []string{all}) + end},
		{"character by character", ask + each("stream", chars) + each("assistant", []string{all}) + end},
		{"the text so far", ask + each("stream", soFar) + each("assistant", []string{all}) + end},
		{"assistant messages with the text so far", ask + each("assistant", soFar) + end},
		{"the whole only", ask + each("assistant", []string{all}) + end},
		{"several assistant messages", ask + each("assistant", words) + end},
		{"in the result only", ask + "A < result red s-1: " + all},
		{"nothing but a result", ask + end},
		{"interrupted", ask + each("stream", words[:1]) + "A > interrupt {\"agent_id\":\"red\"}\n" + end},
		{"the model fails", ask + "A < error red s-1: failing x-1 as asked\n" + end},
		{"the id comes with the second message", ask + "A < system red null: \n" + each("stream", words) + end},
		{"messages of other types anywhere", "A < hello {}\n" + ask + "A < usage {}\n" + each("stream", words[:2]) + "A < ping red null: x-1\n" + each("stream", words[2:]) + end + "A < usage red null: x-1\n"},
		{"another client's session is told to everybody", ask + "A < system green s-7: \n" + `A < result {"agent_id":"green"}` + "\n" + each("stream", words) + "A < stream green s-8: hm\n" + end},
		{"two sessions at once", ask + blue + each("stream", words[:1]) + "A < stream blue s-2: x-3\n" + each("stream", words[1:]) + end + "A < result blue s-2: \n"},
		{"two sessions at once, character by character, of which one's nonce begins the other's",
			ask + "A > chat blue: [[stream x-11 3]]\n" + each("stream", chars) + blueSays(strings.Split(longer, "")) + end + "A < result blue s-2: \n"},
		{"the same as the text so far", ask + "A > chat blue: [[stream x-11 3]]\n" + each("stream", soFar) + blueSays(grown(longer)) + end + "A < result blue s-2: \n"},
		{"a greeting, and another one over the next connection", "A < system {}\n" + ask + each("stream", words) + end + `B < system {"agent_id":null,"session_id":null,"message":{}}` + "\n"},
		{"system messages that quote the user", ask + "A < system red s-1: [[stream x-1 3]]\n" + each("stream", words) + end + "A < system red s-1: title: [[stream x-1 3]]\n" + blue + "A < system blue s-2: red: x-1, blue: x-3\nA < assistant blue s-2: x-3\nA < result blue s-2: \n"},
		{"a recall", ask + each("stream", words) + end + "A > chat red: [[recall x-2]]\nA < stream red s-1: x-1 (1)\nA < assistant red s-1: x-1 (1)\n" + end},
		{"a rest, and a new id", idle + ask + each("stream", words) + end + "+ 50s\n" + ask2 + "A < system red null: \nA < stream red s-9: x-2 \nA < result red s-9: \n"},
		{"two turns", ask + each("stream", words) + end + ask2 + "A < stream red s-1: x-2\n" + end},
		{"a second connection takes over", ask + each("stream", words) + end + "A closed\nB open\nB > chat red: [[echo x-2]]\nB < stream red s-9: x-2\nB < result red s-9: \n"},
		{"a lost connection, whose turn is not heard of any more", ask + each("stream", words[:1]) + "A closed\nB open\nB > chat red: [[echo x-2]]\nB < stream red s-1: x-2\nB < result red s-1: \n"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if _, broken := judged("", script(t, r.in)); len(broken) > 0 {
				t.Errorf("broken: %v\n%s", broken, r.in)
			}
		})
	}
}

// TestEveryClauseIsKeptAndBroken: a monitor that cannot fail proves nothing.
func TestEveryClauseIsKeptAndBroken(t *testing.T) {
	for _, m := range All() {
		kept, broken := map[string]bool{}, map[string]bool{}
		for _, r := range rows {
			if r.monitor != m.Name {
				continue
			}
			for id := range set(r.kept) {
				kept[id] = true
			}
			for id := range set(r.broken) {
				broken[id] = true
			}
		}
		want := set(strings.Join(m.Clauses, " "))
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%s: clauses that no transcript keeps(-), or that are not its own(+):\n%s", m.Name, diff)
		}
		if diff := cmp.Diff(want, broken); diff != "" {
			t.Errorf("%s: clauses that no transcript breaks(-), or that are not its own(+):\n%s", m.Name, diff)
		}
	}
}

func TestMonitorsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.Name] || !regexp.MustCompile(`\A[a-z]+(-[a-z]+)*\z`).MatchString(m.Name) {
			t.Errorf("%q is no name, or not the only one", m.Name)
		}
		seen[m.Name] = true
		if len(m.Clauses) == 0 || m.Text == "" || m.Check == nil {
			t.Errorf("%s lacks clauses, a text or a check", m.Name)
		}
	}
	for _, r := range rows {
		if !seen[r.monitor] {
			t.Errorf("%s: there is no monitor %q", r.reason, r.monitor)
		}
	}
}

// TestFindingsTell: a broken clause is told with what was expected, what was seen, and where; no finding is about a clause
// that its monitor does not declare.
func TestFindingsTell(t *testing.T) {
	for _, r := range rows {
		records := script(t, r.in)
		for _, m := range All() {
			for _, f := range m.Check(records) {
				if len(f.Clauses) == 0 || f.At < 1 || f.At > len(records) || !f.OK && (f.Expected == "" || f.Observed == "") || f.OK && f.Observed != "" {
					t.Errorf("%s: %s says %+v", r.reason, m.Name, f)
				}
				for _, id := range f.Clauses {
					if !slices.Contains(m.Clauses, id) {
						t.Errorf("%s: %s judges %s", r.reason, m.Name, id)
					}
				}
			}
		}
	}
}

// TestWhere: a finding names the record that breaks the clause.
func TestWhere(t *testing.T) {
	for _, r := range []struct {
		monitor, reason, in string
		at                  int
	}{
		{"session-message-shape", "the second message", ask1 + "A < system red s-1: \nA < stream {}", 3},
		{"session-id-stays", "the message with the other id", ask1 + "A < system red s-1: \nA < stream red s-1: \nA < result red s-2: ", 4},
		{"session-id-stays", "the message without it", ask1 + "A < system red s-1: \nA < stream red null: \nA < result red s-1: ", 3},
		{"session-ids-differ", "the later owner", ask1 + blue + "A < system red s-1: \nA < system blue s-1: \nA < result red s-1: ", 4},
		{"own-agent-id", "the words that went astray", ask1 + "A < stream red s-1: x-1 \nA < stream blue s-1: x-1 ", 3},
		{"nothing-behind-the-end", "the words behind the end", ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-1 ", 4},
	} {
		t.Run(r.monitor+"/"+r.reason, func(t *testing.T) {
			var at []int
			for _, m := range All() {
				for _, f := range m.Check(script(t, r.in)) {
					if m.Name == r.monitor && !f.OK && !slices.Contains(at, f.At) {
						at = append(at, f.At)
					}
				}
			}
			if diff := cmp.Diff([]int{r.at}, at); diff != "" {
				t.Errorf("records; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestLives: how often the session "red" may have left memory, as each record of a transcript sees it.
func TestLives(t *testing.T) {
	const red, other = "A > chat red: Hi\n", "A > chat blue: Hi\n"
	for _, r := range []struct{ reason, in, want string }{
		{"a turn", "A open\n" + red + "A < result red s-1: ", "0 0 0"},
		{"a restart", red + rests + red, "0 0 1"},
		{"two restarts", rests + rests + red, "0 1 2"},
		{"a rest", red + "- " + Resumes + ": red may have left the target's memory\n" + red, "0 0 1"},
		{"any other remark", red + "- interop: none\n" + red, "0 0 0"},
		{"a remark that has the words within", red + "- it is open whether " + Resumes + "\n" + red, "0 0 0"},
		{"what is sent is no remark", red + "A > chat red: " + Resumes + "\n" + red, "0 0 0"},
		{"the end of a connection", red + "A closed\n" + red, "0 0 1"},
		{"the end of another client's connection", red + "B closed\n" + red, "0 0 1"},
		{"two ends", red + "A closed\nB closed\n" + red, "0 0 1 2"},

		{"idle for as long as it is kept", idle + red + "+ 60s\n" + red + red, "0 0 1 1"},
		{"idle for longer", idle + red + "+ 24h\n" + red, "0 0 1"},
		{"idle for three quarters of that", idle + red + "+ 45s\n" + red, "0 0 1"},
		{"idle for a little less", idle + red + "+ 44999ms\n" + red, "0 0 0"},
		{"idle again", idle + red + "+ 60s\n" + red + "+ 60s\n" + red, "0 0 1 2"},
		{"idle until the target speaks of it", idle + red + "+ 60s\nA < result red s-1: \n" + red, "0 0 1 1"},
		{"idle over two connections", idle + red + "+ 60s\nB > chat red: Hi\n", "0 0 1"},
		{"for how long it is kept is not known", red + "+ 24h\n" + red, "0 0"},
		{"for how long it is kept is not to be read", "- " + Idle + "ever\n" + red + "+ 24h\n" + red, "0 0 0"},
		{"that it is kept for no time is not known", "- " + Idle + "0s\n" + red + red, "0 0 0"},
		{"before it was used for the first time", idle + "+ 24h\n" + red, "0 0"},
		{"used by its turn meanwhile", idle + red + "+ 30s\nA < stream red s-1: a\n+ 30s\n" + red, "0 0 0 0"},
		{"an interrupt meanwhile may be no use of it", idle + red + "+ 30s\n" + `A > interrupt {"agent_id":"red"}` + "\n+ 30s\n" + red, "0 0 0 1"},
		{"used over another connection meanwhile", idle + red + "+ 30s\nB > chat red: Hi\n+ 30s\n" + red, "0 0 0 0"},
		{"another session that was used meanwhile", idle + red + "+ 30s\n" + other + "+ 30s\n" + red, "0 0 0 1"},
		{"a session in other capitals that was used meanwhile", idle + red + "+ 30s\nA > chat Red: Hi\n+ 30s\n" + red, "0 0 0 1"},
		{"what belongs to no session does not use it", idle + red + "+ 30s\nA < pong {}\nA < system {\"agent_id\":null}\nA < usage [1]\nA junk\nA open\n- a remark\n+ 30s\n" + red, "0 0 0 0 0 0 0 0 1"},
		{"another session that was idle", idle + red + other + "+ 30s\n" + red + "+ 30s\n" + other + red, "0 0 0 0 0 0"},
		{"all of it", idle + red + rests + "+ 60s\n" + red + "A closed\n" + red + "+ 60s\nA < result red s-1: ", "0 0 0 2 2 3 4"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			records := script(t, r.in)
			life := Lives(records)
			var got []string
			for _, rec := range records {
				got = append(got, fmt.Sprint(life("red", rec.N)))
			}
			if diff := cmp.Diff(strings.Fields(r.want), got); diff != "" {
				t.Errorf("lives; want(-) got(+):\n%s", diff)
			}
		})
	}
	if got := Lives(nil)("red", 1); got != 0 {
		t.Errorf("where nothing has happened it has had %d lives", got)
	}
	if got := Lives(script(t, idle+red+rests+"+ 60s\n"+red))("green", 4); got != 1 {
		t.Errorf("a session that nobody has used has had %d lives, want one for the restart", got)
	}
}

// FuzzMonitors: whatever a target sends, a monitor judges and does not fall over, and leaves the transcript as it was.
func FuzzMonitors(f *testing.F) {
	f.Add(`{"agent_id":"red","session_id":"s","text":"x-1"}`, `{"agent_id":["red"],"session_id":{},"text":7}`, `{"agent_id":"red","content":"[[echo x-1]]"}`)
	f.Add(`[]`, `null`, `{"agent_id":{},"content":"[[echo x-1]] [[echo x-1]]"}`)
	f.Add(`{"agent_id":{},"text":"x-1"}`, `{"message":[],"session_id":""}`, `"chat"`)
	f.Fuzz(func(t *testing.T, one, other, chat string) {
		var data []any
		for _, text := range []string{one, other, chat} {
			v, _, err := wjson.Decode([]byte(text))
			if err != nil {
				return
			}
			data = append(data, v)
		}
		before := wjson.Compact(data)
		var records []transcript.Record
		add := func(dir transcript.Dir, kind string, v any) {
			records = append(records, transcript.Record{N: len(records) + 1, Conn: "A", Dir: dir, Kind: transcript.Frame, Event: &transcript.Event{Type: kind, Data: v}})
		}
		add(transcript.Sent, vocab.ChatType, data[2])
		for _, kind := range []string{"", vocab.SystemMessage, vocab.StreamMessage, vocab.ResultMessage, vocab.AssistantMessage, vocab.ErrorMessage, "x"} {
			add(transcript.Received, kind, data[0])
			add(transcript.Received, kind, data[1])
		}
		for _, m := range All() {
			for _, finding := range m.Check(records) {
				if finding.At < 1 || finding.At > len(records) || !finding.OK && finding.Observed == "" {
					t.Errorf("%s says %+v", m.Name, finding)
				}
			}
		}
		if after := wjson.Compact(data); after != before {
			t.Errorf("%s has become %s", before, after)
		}
	})
}

// BenchmarkMonitors judges the transcript of a long scenario.
func BenchmarkMonitors(b *testing.B) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "A > chat red: [[stream x-%[1]d 3]]\nA < system red s-1: \n%[2]sA < result red s-1: \n", i,
			strings.Repeat(fmt.Sprintf("A < stream red s-1: stream x-%d 1/3 \n", i), 3))
	}
	records := script(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range All() {
			m.Check(records)
		}
	}
}
