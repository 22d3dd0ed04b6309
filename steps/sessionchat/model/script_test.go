package model

import (
	"strconv"
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	A open
//	A > chat red: [[echo x-1]] Hello
//	A > interrupt {"agent_id":"red"}
//	A < stream red s-1: stream x-1 1/2
//	A < error {"message":{}}
//	A < - {"agent_id":"red"}
//	A closed 1008
//	- a remark
//	+ 45s
//
// where > is sent and < received, - stands for a message without a type, and + lets time pass. A message whose
// members are not given as JSON is complete: an agent_id, a session_id (or null), and its text.
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
			if len(words) > 2 {
				r.Status, _ = strconv.Atoi(words[2])
			}
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

// event parses a type, and the members of the message as JSON or in short form.
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
		ev.Data = map[string]any{vocab.AgentID: head, vocab.Content: said}
	default:
		agent, session, _ := strings.Cut(head, " ")
		data := whole(ev.Type)
		data[vocab.AgentID], data[vocab.Text], data[vocab.SessionID] = agent, said, any(session)
		if session == "null" {
			data[vocab.SessionID] = nil
		}
		ev.Data = data
	}
	return ev
}

// whole returns a message with all members.
func whole(kind string) map[string]any {
	return map[string]any{vocab.AgentID: "red", vocab.SessionID: "s-1", vocab.MessageType: kind,
		vocab.Body: map[string]any{}, vocab.Timestamp: "t", vocab.Text: ""}
}
