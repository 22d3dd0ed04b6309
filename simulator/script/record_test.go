package script

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func said(typ, body string) Deed {
	return Deed{Program: true, Message: Message{Party: "C1", Kind: "message", Type: typ, Body: []byte(body)}}
}

func sent(body string) Deed { return Deed{Action: Action{Do: Send, Body: []byte(body)}} }

// recorded is a session in which values are made up, texts look like holes, and types come again.
var recorded = []Deed{
	{Program: true, Message: Message{Party: "C1", Kind: "open", Path: "/ws?key=1"}},
	sent(`{"type":"welcome","text":"costs ${price}"}`),
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

// TestRecordPlays: a recorded session is a script by which the program gets equal answers, with its own ids.
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

// TestRecordValid: what is written is valid by the published schema; a session without messages has no script.
func TestRecordValid(t *testing.T) {
	text, err := Record(Script{Name: "recorded", Title: "a: b", Protocol: "p", As: "server"}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("script.json", doc); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("script.json").Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := Record(Script{Name: "n", Protocol: "p", As: "server"}, recorded[1:2]); err == nil {
		t.Error("a session without messages of the program has a script")
	}
}
