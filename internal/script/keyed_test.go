package script_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/script"
)

// rooms is a script with variables for each room, expressions and numbers of messages.
const rooms = `
vars: {open: true}
posts: {request: POST /rooms/*/messages, status: 201}
per:
  room: {key: "${/room}", owner: "", said: []}
rules:
- on: make
  set: {room.key: "room-${id}", room.owner: "${party}"}
  answer: [{send: {type: made, n: "${sent}", room: "${room.key}"}}]
- on: say
  when: room.owner != party or not open
  answer: [{send: {type: refused, n: "${sent}", owner: "${room.owner}"}}]
- on: say
  set: {room.said: "${= concat(room.said, [it.text])}"}
  answer:
  - {send: {type: heard, n: "${sent}", said: "${room.said}"}}
  - {send: {type: loud, n: "${sent}", last: "${= upper(last(room.said))}"}, when: len(room.said) > 1}
- on: lose
  set: {room.owner: nobody}
`

// TestKeyed: variables exist once for each key, a rule may choose another key, expressions see them, and each message
// gets its number when it is sent.
func TestKeyed(t *testing.T) {
	e := parse(t, rooms).Engine(fixed())
	sent := map[string]int{}
	for _, step := range []struct{ party, typ, body, want string }{
		{"C1", "make", `{}`, `{"type":"made","n":1,"room":"room-id-1"}`},
		{"C2", "make", `{}`, `{"type":"made","n":1,"room":"room-id-2"}`},
		{"C1", "say", `{"room":"room-id-2","text":"a"}`, `{"type":"refused","n":2,"owner":"C2"}`},
		{"C1", "say", `{"room":"room-id-1","text":"a"}`, `{"type":"heard","n":3,"said":["a"]}`},
		{"C1", "say", `{"room":"room-id-1","text":"b"}`,
			`{"type":"heard","n":4,"said":["a","b"]}|{"type":"loud","n":5,"last":"B"}`},
		{"C2", "say", `{"room":"room-id-2","text":"c"}`, `{"type":"heard","n":2,"said":["c"]}`},
		{"C2", "say", `{"text":"no room"}`, `{"type":"refused","n":3,"owner":""}`},
		{"C2", "lose", `{}`, ``},
		{"C2", "say", `{"room":"none","text":"d"}`, `{"type":"refused","n":4,"owner":""}`},
	} {
		m := message(step.typ, step.body)
		m.Party = step.party
		actions, _ := e.On(m)
		var all []string
		for _, a := range actions {
			sent[step.party]++
			all = append(all, string(a.Numbered(sent[step.party])))
		}
		if got := strings.Join(all, "|"); got != step.want {
			t.Errorf("%s %s: %s, want %s (%+v)", step.typ, step.body, got, step.want, e.Trace())
		}
		if failed := e.Trace().Failed; (len(failed) > 0) != (step.typ == "lose") {
			t.Errorf("%s %s: %v", step.typ, step.body, failed)
		}
	}
}

// TestWith: other first values of variables are those of a copy, and a name that there is not is a mistake.
func TestWith(t *testing.T) {
	s := parse(t, rooms)
	shut, err := s.With(map[string]any{"open": false})
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*script.Script]string{s: "heard", shut: "refused"} {
		e := of.Engine(fixed())
		e.On(message("make", `{}`))
		if actions, _ := e.On(message("say", `{"room":"room-id-1","text":"a"}`)); !strings.Contains(
			string(actions[0].Numbered(1)), want) {
			t.Errorf("%s, want %s", actions[0].Numbered(1), want)
		}
	}
	_, err = s.With(map[string]any{"opn": false})
	if err == nil || !strings.Contains(err.Error(), `did you mean "open"?`) {
		t.Error(err)
	}
}

// TestPosted: requests carry messages by method and path, where * is one segment.
func TestPosted(t *testing.T) {
	s := parse(t, rooms)
	for request, want := range map[string]string{
		"POST /rooms/a/messages":      "201 true",
		"POST /rooms/a/messages?b=c":  "201 true",
		"PUT /rooms/a/messages":       "0 false",
		"POST /rooms/a/b/messages":    "201 false",
		"POST /rooms/a/messages/more": "201 false",
	} {
		method, path, _ := strings.Cut(request, " ")
		status, is := s.Posted(method, path)
		if got := fmt.Sprint(status, is); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	if _, is := (*script.Script)(nil).Posted("POST", "/"); is {
		t.Error("no script takes a message")
	}
}
