package model

import (
	"strings"
	"testing"

	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation/obligationtest"
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
	return obligationtest.Script(t, lines, func(r *transcript.Record) {
		r.Event = event(t, r.Dir, append(strings.SplitN(string(r.Bytes), " ", 2), ""))
	})
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
