package llm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var directivesRows = []struct {
	reason string
	text   string
	want   []Directive
}{
	{"plain text has none", "hello [there] {you}", nil},
	{"hold", "[[hold a1]]", []Directive{{Kind: KindHold, Nonce: "a1"}}},
	{"hold for a time", "[[hold a1 1.5s]]", []Directive{{Kind: KindHold, Nonce: "a1", For: 1500 * time.Millisecond}}},
	{"a time that is not one makes it text", "[[hold a1 soon]] [[hold a1 0s]] [[hold a1 2h]]", nil},
	{"echo amid text", "say [[echo a1]] please", []Directive{{Kind: KindEcho, Nonce: "a1"}}},
	{"recall", "[[recall a1]]", []Directive{{Kind: KindRecall, Nonce: "a1"}}},
	{"stream with its count", "[[stream a1 12]]", []Directive{{Kind: KindStream, Nonce: "a1", Count: 12}}},
	{"stream counts 1 without one", "[[stream a1]]", []Directive{{Kind: KindStream, Nonce: "a1", Count: 1}}},
	{"stream may be empty", "[[stream a1 0]]", []Directive{{Kind: KindStream, Nonce: "a1"}}},
	{"fail with its status", "[[fail a1 429]]", []Directive{{Kind: KindFail, Nonce: "a1", Status: 429}}},
	{"fail is 500 without one", "[[fail a1]]", []Directive{{Kind: KindFail, Nonce: "a1", Status: 500}}},
	{"tool without arguments", "[[tool a1 ls]]", []Directive{{Kind: KindTool, Nonce: "a1", Name: "ls", Args: "{}"}}},
	{
		"arguments stay as they are written", `[[tool a1 ls { "p": 1.0 }]]`,
		[]Directive{{Kind: KindTool, Nonce: "a1", Name: "ls", Args: `{ "p": 1.0 }`}},
	},
	{
		"arguments may contain the closing brackets", `[[tool a1 ls {"p":[["x]]"]]}]] [[echo b]]`,
		[]Directive{
			{Kind: KindTool, Nonce: "a1", Name: "ls", Args: `{"p":[["x]]"]]}`},
			{Kind: KindEcho, Nonce: "b"},
		},
	},
	{
		"a directive within arguments is not a directive", `[[tool a1 ls {"p":"[[echo b]]"}]]`,
		[]Directive{{Kind: KindTool, Nonce: "a1", Name: "ls", Args: `{"p":"[[echo b]]"}`}},
	},
	{
		"arguments may repeat a name", `[[tool a1 ls{"p":1,"p":2}]]`,
		[]Directive{{Kind: KindTool, Nonce: "a1", Name: "ls", Args: `{"p":1,"p":2}`}},
	},
	{
		"several, in order", "[[stream a 2]][[hold b]]\n[[echo c]]",
		[]Directive{{Kind: KindStream, Nonce: "a", Count: 2}, {Kind: KindHold, Nonce: "b"}, {Kind: KindEcho, Nonce: "c"}},
	},
	{"blanks and capitals do not matter", "[[ Hold\n a1\t]]", []Directive{{Kind: KindHold, Nonce: "a1"}}},
	{"a bracket too many does not matter", "[[[hold a1]]]", []Directive{{Kind: KindHold, Nonce: "a1"}}},
	{"an unknown kind is text", "[[wait a1]]", nil},
	{"a nonce is needed", "[[hold]] [[hold ]]", nil},
	{"a word too many makes it text", "[[hold a1 b2]]", nil},
	{"an open end makes it text", "[[hold a1] [[echo b", nil},
	{"an invalid count makes it text", "[[stream a1 many]]", nil},
	{"a negative count makes it text", "[[stream a1 -1]]", nil},
	{"an unbounded count makes it text", "[[stream a1 1000001]]", nil},
	{"a status that is not a failure makes it text", "[[fail a1 200]] [[fail a1 600]]", nil},
	{"tool needs a name", `[[tool a1 {"p":1}]]`, nil},
	{"arguments that are no JSON make it text", `[[tool a1 ls {p:1}]]`, nil},
	{"arguments that are no object make it text", `[[tool a1 ls "p"]] [[tool a1 ls [1]]]`, nil},
	{"a broken one does not hide the next", "[[tool a1 ls {p [[echo b]]", []Directive{{Kind: KindEcho, Nonce: "b"}}},
	{"the longest nonce", "[[hold " + strings.Repeat("n", MaxNonce) + "]]",
		[]Directive{{Kind: KindHold, Nonce: strings.Repeat("n", MaxNonce)}}},
	{"a longer one is text", "[[hold " + strings.Repeat("n", MaxNonce+1) + "]]", nil},
}

func TestDirectives(t *testing.T) {
	tests := directivesRows
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Directives(test.text)); diff != "" {
				t.Errorf("Directives(%q): (-want +got)\n%s", test.text, diff)
			}
		})
	}
}

// TestMalformed finds what its writer took for a directive, and nothing else.
func TestMalformed(t *testing.T) {
	for text, want := range map[string][]string{
		"hello [[1,2],[3,4]] [x] [[":                     nil,
		"[[hold a]] [[tool a ls {\"p\":[[\"bogus\"]]}]]": nil,
		"[[bogus]] and [[hold a]]":                       {"[[bogus]]"},
		"[[hold]] [[fail a 99]] [[hold a soon]]":         {"[[hold]]", "[[fail a 99]]", "[[hold a soon]]"},
	} {
		if diff := cmp.Diff(want, Malformed(text)); diff != "" {
			t.Errorf("Malformed(%q): (-want +got)\n%s", text, diff)
		}
	}
}

// TestHoldForATime: such a hold needs no release.
func TestHoldForATime(t *testing.T) {
	var said string
	err := New().Answer(t.Context(), Request{Messages: []Message{{Role: RoleUser, Text: "[[hold a 1ms]]"}}},
		func(p Part) error { said += p.Text; return nil })
	if err != nil || said != "holding a\nreleased a" {
		t.Errorf("said %q, %v", said, err)
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add(`[[hold a]] [[tool b ls {"p":"]]"}]] [[fail c 500`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range Directives(text) {
			if d.Nonce == "" || !strings.Contains(text, d.Nonce) || !strings.Contains(text, d.Name) {
				t.Errorf("Directives(%q): %+v is not in the text", text, d)
			}
		}
	})
}
