package sessionchat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

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
//
// where > is sent and < received, and - stands for a message without a type. A message is whole where its members are not
// given as JSON: an agent_id, a session_id (or null), and what it says.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	var out []transcript.Record
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.SplitN(strings.TrimLeft(line, " \t"), " ", 4)
		if len(words) < 2 {
			continue
		}
		r := transcript.Record{N: len(out) + 1, Conn: words[0], Dir: transcript.Received}
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
)

// rows: for every clause of a monitor transcripts that keep it and transcripts that break it.
var rows = []struct {
	monitor string
	reason  string
	in      string
	kept    string // clauses
	broken  string
	open    string // what is known to be wrong with it
}{
	{monitor: "session-message-shape", reason: "a whole turn", kept: "SC-038 SC-039 SC-040 SC-043 SC-044",
		in: ask1 + "A < system red s-1: \nA < stream red s-1: a\nA < assistant red s-1: a\nA < result red s-1: "},
	{monitor: "session-message-shape", reason: "a session_id that is not known yet", kept: "SC-038 SC-039 SC-040 SC-043 SC-044", in: ask1 + "A < system red null: "},
	{monitor: "session-message-shape", reason: "an agent_id that nobody has used is somebody else's", in: ask1 + `A < stream {"agent_id":"green"}` + "\n" + `A < result {"agent_id":"Red"}`},
	{monitor: "session-message-shape", reason: "an agent_id that is used later", in: `A < system {"agent_id":"red"}` + "\n" + ask1},
	{monitor: "session-message-shape", reason: "an agent_id that is null, in the answer to a chat", kept: "SC-039 SC-040 SC-043 SC-044", broken: "SC-038",
		in: ask1 + `A < assistant {"agent_id":null,"session_id":"s","message_type":"assistant","message":{},"timestamp":"t"}`},
	{monitor: "session-message-shape", reason: "a greeting belongs to no session",
		in:   `A < system {"agent_id":null,"session_id":null,"message_type":"system","message":{"subtype":"hello"},"timestamp":"t"}` + "\n" + ask1,
		open: "a system message before the first chat is taken for a session's"},
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
	{monitor: "session-id-stays", reason: "two restarts", kept: "SC-042 SC-056", in: three + "A < result red s-1: \n" + rests + "A < result red s-2: \n" + rests + "A < system red s-3: \nA < result red s-3: "},

	{monitor: "session-ids-differ", reason: "one session differs from none", in: three + "A < system red s-1: \nA < result red s-1: "},
	{monitor: "session-ids-differ", reason: "two sessions", kept: "SC-027", in: three + "A < system red s-1: \nA < system blue s-2: \nA < result red s-1: \nA < result blue s-2: "},
	{monitor: "session-ids-differ", reason: "two agent_ids with one session_id", broken: "SC-027", in: three + "A < system red s-1: \nA < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "over two connections", broken: "SC-027", in: three + "A < system red s-1: \nB < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "after a restart", broken: "SC-027", in: three + "A < system red s-1: \n" + rests + "A < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "after its owner has got another one", broken: "SC-027", in: three + "A < system red s-1: \nA closed\nA < system red s-2: \nA < system blue s-1: "},
	{monitor: "session-ids-differ", reason: "agent_ids in other capitals are others", broken: "SC-027", in: three + "A < system red s-1: \nA < system Red s-1: "},
	{monitor: "session-ids-differ", reason: "in a message without a type", broken: "SC-027", in: three + "A < system red s-1: \n" + `A < - {"agent_id":"blue","session_id":"s-1"}`},
	{monitor: "session-ids-differ", reason: "a session may have several ids in its life", kept: "SC-027", in: three + "A < system red s-1: \nA < system red s-2: \nA < system blue s-3: \nA < system red s-1: "},
	{monitor: "session-ids-differ", reason: "one session that has several ids differs from none", in: three + "A < system red s-1: \nA < system red s-2: ",
		open: "a second id of the same session is taken for a second session"},
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
	{monitor: "own-agent-id", reason: "over another connection", kept: "SC-021 SC-041", in: ask1 + "B < stream red s-1: x-1"},
	{monitor: "own-agent-id", reason: "each chat has its own", kept: "SC-021 SC-041", in: ask1 + blue + "A < stream blue s-2: x-3\nA < stream red s-1: x-1"},
	{monitor: "own-agent-id", reason: "two that are exchanged", broken: "SC-021 SC-041", in: ask1 + blue + "A < stream blue s-2: x-1\nA < stream red s-1: x-3"},
	{monitor: "own-agent-id", reason: "a chat of two directives", kept: "SC-021 SC-041", in: "A > chat red: [[echo x-1]] [[recall x-2]]\nA < stream red s-1: x-2"},
	{monitor: "own-agent-id", reason: "a nonce that begins another one is not mentioned", kept: "SC-021 SC-041", in: ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream blue s-2: stream x-11 1/2 "},
	{monitor: "own-agent-id", reason: "nor one within a longer word", in: ask1 + "A < stream blue s-2: red-x-1 x-1-red x-1.5"},
	{monitor: "own-agent-id", reason: "words of nobody's chat", in: ask1 + "A < stream blue s-2: stream y-1 1/2 "},
	{monitor: "own-agent-id", reason: "no words", in: ask1 + "A < system blue s-2: \nA < stream blue s-2: \n" + `A < result {"agent_id":"blue"}`},
	{monitor: "own-agent-id", reason: "what belongs to no turn is not judged", in: ask1 + "A < error blue s-2: x-1\nA < pong blue s-2: x-1\nA < usage blue s-2: x-1\nA < - blue s-2: x-1\nA junk"},
	{monitor: "own-agent-id", reason: "only a chat is answered", in: `A > interrupt {"agent_id":"red","content":"[[echo x-1]]"}` + "\nA < stream blue s-2: x-1"},
	{monitor: "own-agent-id", reason: "earlier nonces of its own", kept: "SC-021 SC-041", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < stream red s-1: x-1 (1)"},
	{monitor: "own-agent-id", reason: "a nonce that is cut where another one ends", kept: "SC-021 SC-041",
		in:   ask1 + "A > chat blue: [[stream x-11 2]]\nA < stream blue s-2: stream x-1\nA < stream blue s-2: 1 1/2 stream x-11 2/2 ",
		open: "a portion that ends in the middle of x-11 is taken for the words of x-1, which is another session's"},
	{monitor: "own-agent-id", reason: "the user's words of another session in a list of sessions", kept: "SC-021 SC-041",
		in:   ask1 + "A < assistant red s-1: x-1\n" + blue + "A < system blue s-2: red [[echo x-1]] blue [[echo x-3]]\nA < stream blue s-2: x-3",
		open: "what a system message quotes is taken for the model's words"},

	{monitor: "nothing-behind-the-end", reason: "words, and then the result", kept: "SC-020", in: ask1 + "A < system red s-1: \nA < stream red s-1: x-1\nA < assistant red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a result that sums up", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "a piece behind it", broken: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < stream red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "the whole behind it", broken: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < assistant red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "a piece behind it, in the next turn", broken: "SC-020",
		in: ask1 + "A < stream red s-1: stream x-1 1/2 \nA < result red s-1: \n" + ask2 + "A < stream red s-1: stream x-1 2/2 \nA < stream red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "two turns", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < stream red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "two turns that were asked for at once", kept: "SC-020", in: ask1 + ask2 + "A < stream red s-1: x-1\nA < result red s-1: \nA < stream red s-1: x-2\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a nonce that begins another one has not gone on", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA > chat red: [[stream x-11 2]]\nA < stream red s-1: stream x-11 1/2 \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "the end of one session is not the end of another", kept: "SC-020",
		in: ask1 + blue + "A < stream red s-1: x-1\nA < stream blue s-2: x-3\nA < result blue s-2: \nA < stream red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a piece behind the end of one session, where another has ended before it", broken: "SC-020",
		in: ask1 + blue + "A < stream red s-1: x-1\nA < stream blue s-2: x-3\nA < result blue s-2: \nA < result red s-1: \nA < stream red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "words that went astray are ended by their own session alone", kept: "SC-020",
		in: ask1 + blue + "A < stream blue s-2: x-3\nA < stream blue s-2: x-1\nA < result blue s-2: \nA < stream red s-1: x-1\nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a result without words before it ends nothing that is known", in: ask1 + "A < system red s-1: \nA < result red s-1: "},
	{monitor: "nothing-behind-the-end", reason: "a second result is no word of the model", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < result red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "what belongs to no turn may come behind it", kept: "SC-020",
		in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < usage red s-1: x-1\nA < error red s-1: x-1\nA < pong red s-1: x-1\nA < - red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "messages of the session without words may come behind it", kept: "SC-020", in: ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < system red s-1: idle"},
	{monitor: "nothing-behind-the-end", reason: "a turn that does not end", in: ask1 + "A < stream red s-1: x-1\nA < stream red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "nothing was asked", in: "A < stream red s-1: x-1\nA < result red s-1: \nA < stream red s-1: x-1"},
	{monitor: "nothing-behind-the-end", reason: "an answer that recalls the turn before", kept: "SC-020",
		in:   ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA > chat red: [[recall x-2]]\nA < stream red s-1: x-1 (1)\nA < result red s-1: ",
		open: "a turn that mentions an earlier one is taken for the earlier one's words"},
	{monitor: "nothing-behind-the-end", reason: "an answer that recalls the turn before, and names its own", kept: "SC-020",
		in:   ask1 + "A < stream red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < assistant red s-1: first x-1, now x-2\nA < result red s-1: ",
		open: "a turn that mentions an earlier one is taken for the earlier one's words"},
	{monitor: "nothing-behind-the-end", reason: "a title made of the user's first words", kept: "SC-020",
		in:   ask1 + "A < system red s-1: \nA < stream red s-1: x-1\nA < result red s-1: \n" + ask2 + "A < system red s-1: [[echo x-1]] Hello\nA < stream red s-1: x-2\nA < result red s-1: ",
		open: "what a system message quotes is taken for the model's words"},
	{monitor: "nothing-behind-the-end", reason: "a nonce that is cut where another one ends", kept: "SC-020",
		in:   ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA > chat red: [[stream x-11 1]]\nA < stream red s-1: stream x-1\nA < stream red s-1: 1 1/1 \nA < result red s-1: ",
		open: "a portion that ends in the middle of x-11 is taken for the words of x-1, which have ended"},
	{monitor: "nothing-behind-the-end", reason: "order between two connections says nothing", kept: "SC-020",
		in:   ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nB < stream red s-1: x-1\nB < result red s-1: ",
		open: "a session that is told over two connections: what is read off the slower one comes behind the end on the faster one"},
	{monitor: "nothing-behind-the-end", reason: "words behind a result that had all of them", broken: "SC-020",
		in:   ask1 + "A < result red s-1: [[echo x-1]]\nA < assistant red s-1: [[echo x-1]]",
		open: "words that stand in the result do not tell whose end it is"},
	{monitor: "nothing-behind-the-end", reason: "the whole behind a result whose words came in small pieces", broken: "SC-020",
		in:   ask1 + "A < stream red s-1: x\nA < stream red s-1: -\nA < stream red s-1: 1\nA < result red s-1: \nA < assistant red s-1: x-1",
		open: "a nonce that comes in pieces is not seen, so that nobody knows whose end the result is"},

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

// settle reports a difference. A known mistake is passed over, and reported once it is none, so that no mark outlives it.
func settle(t *testing.T, open, diff string) {
	t.Helper()
	switch {
	case open == "" && diff != "":
		t.Error(diff)
	case open != "" && diff == "":
		t.Errorf("this is right now; take the mark away: %s", open)
	case open != "":
		t.Skipf("known mistake: %s\n%s", open, diff)
	}
}

func TestMonitors(t *testing.T) {
	for _, r := range rows {
		t.Run(r.monitor+"/"+r.reason, func(t *testing.T) {
			kept, broken := judged(r.monitor, script(t, r.in))
			var diff string
			if d := cmp.Diff(set(r.kept), kept); d != "" {
				diff += "kept; want(-) got(+):\n" + d
			}
			if d := cmp.Diff(set(r.broken), broken); d != "" {
				diff += "broken; want(-) got(+):\n" + d
			}
			settle(t, r.open, diff)
		})
	}
}

// TestForms: every member of a message in every form, for each of the types that a turn has.
func TestForms(t *testing.T) {
	members := []struct{ clause, name, fine string }{
		{"SC-038", "agent_id", `"text" ""`},
		{"SC-039", "session_id", `"text" null`},
		{"SC-040", "message_type", `"text"`},
		{"SC-043", "message", `{} {"a":null}`},
		{"SC-044", "timestamp", `"text"`},
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
	var soFar []string
	for i := range all {
		soFar = append(soFar, all[:i+1])
	}
	for _, r := range []struct{ reason, in string }{
		{"one by one", ask + each("stream", words) + end},
		{"and the whole", ask + each("stream", words) + each("assistant", []string{all}) + end},
		{"character by character", ask + each("stream", chars) + each("assistant", []string{all}) + end},
		{"the text so far", ask + each("stream", soFar) + each("assistant", []string{all}) + end},
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
		{"own-agent-id", "the words that went astray", ask1 + "A < stream red s-1: x-1\nA < stream blue s-1: x-1", 3},
		{"nothing-behind-the-end", "the words behind the end", ask1 + "A < stream red s-1: x-1\nA < result red s-1: \nA < stream red s-1: x-1", 4},
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
