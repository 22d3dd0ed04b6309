package script

import (
	"strings"
	"testing"
	"time"

	"parley/internal/schematest"
)

func said(typ, body string) RecordedAction {
	return RecordedAction{Program: true, Message: Message{Party: "C1", Kind: "message", Type: typ, Body: []byte(body)}}
}

func sent(body string) RecordedAction {
	return RecordedAction{Action: Action{Do: Send, Body: []byte(body)}}
}

// recorded is a session with generated values, texts that look like holes, and repeated types.
var recorded = []RecordedAction{
	{Program: true, Message: Message{Party: "C1", Kind: "open", Path: "/ws?key=1"}},
	sent(`{"type":"welcome","text":"costs ${price}, $${price} or ${"}`),
	said("ask", `{"type":"ask","what":"b","id":"r1"}`),
	sent(`{"type":"told","id":"r1","text":"of b"}`),
	sent(`{"type":"done","id":"r1"}`),
	said("ask", `{"type":"ask","what":"a","id":"r2"}`),
	sent(`{"id":"r2","text":"of a: \"é\"\n"}`),
	said("ask", `{"type":"ask","what":"b","id":"r3"}`),
	sent(`{"text":"again"}`),
	said("call", `{"type":"call","callId":7}`),
	sent(`{"callId":7,"count":7}`),
}

// TestRecordPlays: the script of a recorded session gives the program equal answers, with its own ids.
func TestRecordPlays(t *testing.T) {
	text, err := Record(Script{Name: "recorded", Protocol: "p", As: "server"}, recorded)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s, err := Parse("recorded", text)
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.NewReplacer(`"r1"`, `"x9"`, `"r2"`, `"x8"`, `"callId":7`, `"callId":44`)
	e := s.Engine(EngineOptions{Now: func() time.Time { return time.Time{} }})
	var want, got []string
	for _, d := range recorded {
		if !d.Program {
			want = append(want, renamed.Replace(string(d.Action.Body)))
			continue
		}
		m := d.Message
		m.Body = []byte(renamed.Replace(string(m.Body)))
		actions, matched := e.On(m)
		if !matched || len(e.Trace().Failed) > 0 {
			t.Errorf("%s: %+v\n%s", m.Body, e.Trace(), text)
		}
		for _, a := range actions {
			got = append(got, string(a.Body))
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s\nby\n%s", g, w, text)
	}
	if _, matched := e.On(recorded[2].Message); matched {
		t.Error("a message that came once is answered twice")
	}
}

// TestRecordValid: the written script is valid by the published schema; a session without messages has no script.
func TestRecordValid(t *testing.T) {
	text, err := Record(Script{Name: "recorded", Title: "a: b", Protocol: "p", As: "server"}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.Compile(t, Schema()).YAML(text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := Record(Script{Name: "n", Protocol: "p", As: "server"}, recorded[1:2]); err == nil {
		t.Error("a session without messages of the program has a script")
	}
}

// at returns a deed at a time in milliseconds.
func (d RecordedAction) at(ms int, party string) RecordedAction {
	d.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	if d.Program {
		d.Message.Party = party
	} else {
		d.Action.Party = party
	}
	return d
}

// TestRecordRules checks the rules written for a session.
func TestRecordRules(t *testing.T) {
	open := func(ms int, party string) RecordedAction {
		return RecordedAction{Program: true, Message: Message{Kind: "open", Path: "/" + party}}.at(ms, party)
	}
	type acts = []RecordedAction
	cut := RecordedAction{Action: Action{Do: Cut}}
	for name, row := range map[string]struct {
		actions acts
		want    []string // in this order
		not     []string
	}{
		"the id of an earlier message": {acts{said("begin", `{"run":"run-77"}`).at(0, "C1"), said("next", `{}`).at(1, "C1"),
			sent(`{"of":"run-77"}`).at(2, "C1")},
			[]string{`type: "begin"`, `set: {kept1: "${/run}"}`, `type: "next"`, `{\"of\":\"${kept1}\"}`}, []string{"run-77"}},
		"the id of the peer stays": {acts{said("begin", `{}`).at(0, "C1"), sent(`{"run":"run-77"}`).at(1, "C1"),
			said("next", `{"run":"run-77"}`).at(2, "C1"), said("last", `{}`).at(3, "C1"), sent(`{"of":"run-77"}`).at(4, "C1")},
			[]string{`{\"run\":\"run-77\"}`, `type: "last"`, `{\"of\":\"run-77\"}`}, []string{"kept1"}},
		"delays": {acts{said("a", `{}`).at(0, "C1"), sent(`{"n":1}`).at(19, "C1"), sent(`{"n":2}`).at(262, "C1"),
			sent(`{"n":3}`).at(270, "C1")}, []string{`{\"n\":1}"}`, `{\"n\":2}", after: 240ms}`, `{\"n\":3}"}`}, nil},
		"the present time, and another": {acts{said("a", `{}`).at(0, "C1"),
			sent(`{"at":"2026-01-02T03:04:05.010Z","built":"2020-01-02T03:04:05.010Z"}`).at(10, "C1")},
			[]string{`\"at\":\"${now}\",\"built\":\"2020-01-02T03:04:05.010Z\"`}, nil},
		"an answer behind another's message": {acts{open(0, "C1"), open(1, "C2"), said("a", `{}`).at(2, "C1"),
			said("b", `{}`).at(3, "C2"), sent(`{"n":1}`).at(4, "C1"), sent(`{"n":2}`).at(5, "C2"),
			sent(`{"n":3}`).at(6, "C1")},
			[]string{`type: "a"`, `{\"n\":1}"}`, `{\"n\":3}"}`, `type: "b"`, `{\"n\":2}"}`}, []string{"to:"}},
		"a message to all": {acts{said("a", `{}`).at(0, "C1"), sent(`{}`).at(1, "C1"), said("b", `{}`).at(2, "C2"),
			sent(`{"news":1}`).at(3, "C2"), sent(`{"news":1}`).at(4, "C1")},
			[]string{`type: "a"`, `type: "b"`, `{\"news\":1}"}`, `{\"news\":1}", to: "C1"}`}, nil},
		"the answers to two questions, swapped": {acts{said("a", `{"id":"q1"}`).at(0, "C1"),
			said("b", `{"id":"q2"}`).at(1, "C1"), sent(`{"id":"q2"}`).at(2, "C1"), sent(`{"id":"q1"}`).at(3, "C1")},
			[]string{`type: "a"`, `{\"id\":\"${/id}\"}`, `type: "b"`, `{\"id\":\"${/id}\"}`}, []string{"kept"}},
		"a cut": {acts{said("a", `{}`).at(0, "C1"), cut.at(1, "C1")}, []string{`type: "a"`, `{cut: true}`},
			[]string{"close"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Record(Script{Name: "n", Protocol: "p", As: "server"}, row.actions)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			rest := string(text)
			for _, want := range row.want {
				_, after, there := strings.Cut(rest, want)
				if !there {
					t.Fatalf("no %s in\n%s\nof\n%s", want, rest, text)
				}
				rest = after
			}
			for _, not := range row.not {
				if strings.Contains(string(text), not) {
					t.Errorf("%s is in\n%s", not, text)
				}
			}
		})
	}
}
