package externalagent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/cut"
	"parley/steps"
	"parley/steps/externalagent/model"
	wjson "parley/transport/wire/json"
)

// value returns a JSON value as decoded from the wire.
func value(t testing.TB, text string) any {
	t.Helper()
	v, _, err := wjson.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestChanges checks that the places at which two values differ are as narrow as possible.
func TestChanges(t *testing.T) {
	for _, r := range []struct{ reason, a, b, want string }{
		{"the same", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, ""},
		{"the same, in another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ""},
		{"the same number in another notation", `{"a":1.0}`, `{"a":1}`, ""},
		{"a member", `{"a":1,"b":2}`, `{"a":1,"b":3}`, "/b"},
		{"two members", `{"a":1,"b":2}`, `{"a":0,"b":3}`, "/a /b"},
		{"a member of a member", `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, "/a/b/c"},
		{"a new member", `{}`, `{"a":1}`, "/a"},
		{"a new member that is null", `{}`, `{"a":null}`, "/a"},
		{"a member that is gone", `{"a":1}`, `{}`, "/a"},
		{"an item", `[1,2,3]`, `[1,9,3]`, "/1"},
		{"a member of an item", `{"l":[{"a":1},{"a":2}]}`, `{"l":[{"a":1},{"a":3}]}`, "/l/1/a"},
		{"a longer list", `{"l":[1]}`, `{"l":[1,2]}`, "/l"},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, "/a"},
		{"null in place of a value", `{"a":{"b":1}}`, `{"a":null}`, "/a"},
		{"everything", `1`, `2`, ""},
		{"a name that has to be escaped", `{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, "/a~1b/~0"},
		{"an empty name", `{"":1}`, `{"":2}`, "/"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got := model.Changes("uiSpec", value(t, r.a), value(t, r.b))
			want := []string(nil)
			for _, at := range strings.Fields(r.want) {
				want = append(want, "uiSpec"+at)
			}
			if r.reason == "everything" {
				want = []string{"uiSpec"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("places; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestSettled checks that what changes by itself is omitted in any context, and that the recorded value is not
// modified.
func TestSettled(t *testing.T) {
	for _, r := range []struct{ reason, drift, in, want string }{
		{"nothing", "", `{"a":1}`, `{"a":1}`},
		{"a member", "uiSpec/a", `{"a":1,"b":2}`, `{"b":2}`},
		{"a member that is not there", "uiSpec/c", `{"a":1}`, `{"a":1}`},
		{"a member of a member", "uiSpec/a/b", `{"a":{"b":1,"c":2}}`, `{"a":{"c":2}}`},
		{"a member of a value that is not an object", "uiSpec/a/b", `{"a":1}`, `{"a":1}`},
		{"items", "uiSpec/l/*", `{"l":[1,2]}`, `{"l":[null,null]}`},
		{"a member of every item", "uiSpec/l/*/at", `{"l":[{"at":1,"x":2},{"at":3}]}`, `{"l":[{"x":2},{}]}`},
		{"a member that is called by a number", "uiSpec/m/*", `{"m":{"7":1,"a":2}}`, `{"m":{"a":2}}`},
		{"of another member of the state", "messageHistory/*", `{"a":1}`, `{"a":1}`},
		{"of a member whose name begins like it", "uiSpecs/a", `{"a":1}`, `{"a":1}`},
		{"a name that has to be escaped", "uiSpec/a~1b", `{"a/b":1,"c":2}`, `{"c":2}`},
		{"items under a name that has to be escaped", "uiSpec/a~1b/*", `{"a/b":[1,2]}`, `{"a/b":[null,null]}`},
		{"two", "uiSpec/a uiSpec/b", `{"a":1,"b":2,"c":3}`, `{"c":3}`},
		{"a value that is not an object", "uiSpec/a", `null`, `null`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			d := &drift{places: strings.Fields(r.drift)}
			in := value(t, r.in)
			if got := wjson.Compact(d.settled("uiSpec", in)); got != r.want {
				t.Errorf("%s, want %s", got, r.want)
			}
			if got := wjson.Compact(in); got != r.in {
				t.Errorf("what was recorded has become %s", got)
			}
		})
	}
}

// TestLearn checks that what changes twice between looks is known to change by itself, anywhere in a list. What
// changed once may be late, and a whole member of a state is never omitted.
func TestLearn(t *testing.T) {
	d := &drift{}
	look := func(ui, history, tools string) state {
		return state{UI: value(t, ui), History: value(t, history), Tools: value(t, tools)}
	}
	a := look(`{"clock":1,"l":[{"s":1},{"s":2}],"k":"x"}`, `[]`, `[{"name":"a","e":1}]`)
	b := look(`{"clock":2,"l":[{"s":3},{"s":4}],"k":"x"}`, `["hello"]`, `[{"name":"a","e":2}]`)
	c := look(`{"clock":3,"l":[{"s":3},{"s":5}],"k":"y"}`, `["hello","you"]`, `[{"name":"a","e":2}]`)
	for _, r := range []struct {
		reason  string
		a, b    state
		want    string
		pending bool
	}{
		{"nothing", a, a, "", false},
		{"once is not often", a, b, "", true},
		{"nothing more", b, b, "", true},
		{"twice is", b, c, "uiSpec/clock uiSpec/l/*/s", true},
		{"what is known is no news", c, b, "uiSpec/k toolSchema/*/e", false},
	} {
		if r.reason == "what is known is no news" {
			r.b = look(`{"clock":4,"l":[{"s":0},{"s":0}],"k":"z"}`, `[]`, `[{"name":"a","e":3}]`)
		}
		if got := strings.Join(d.look(r.a, r.b), " "); got != r.want || d.pending() != r.pending {
			t.Errorf("%s: learnt %q, want %q; pending: %v", r.reason, got, r.want, d.pending())
		}
	}
	if one, other := d.settled("toolSchema", value(t, `[{"name":"b"},{"name":"a"}]`)),
		d.settled("toolSchema", value(t, `[{"name":"a"},{"name":"b"}]`)); !wjson.Equal(one, other) {
		t.Error("the order of tools counts")
	}
}

// TestDifference checks that states differ only in what does not change by itself, and that the difference names the
// member.
func TestDifference(t *testing.T) {
	base := state{UI: value(t, `{"a":1,"clock":1}`), History: value(t, `[]`), Tools: value(t, `[{"name":"next"}]`)}
	for _, r := range []struct {
		reason string
		change func(*state)
		want   string // the member; "" if none
	}{
		{"nothing", func(*state) {}, ""},
		{"what changes by itself", func(s *state) { s.UI = value(t, `{"a":1,"clock":2}`) }, ""},
		{"what changes by itself is not there", func(s *state) { s.UI = value(t, `{"a":1}`) }, ""},
		{"the number of the record", func(s *state) { s.N = 7 }, ""},
		{"uiSpec", func(s *state) { s.UI = value(t, `{"a":2,"clock":1}`) }, "uiSpec"},
		{"no uiSpec", func(s *state) { s.UI = nil }, "uiSpec"},
		{"messageHistory", func(s *state) { s.History = value(t, `[1]`) }, "messageHistory"},
		{"toolSchema", func(s *state) { s.Tools = value(t, `[]`) }, "toolSchema"},
		{"everything", func(s *state) { *s = state{} }, "uiSpec"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			s := &suite{World: &steps.World{Env: &steps.Env{}}}
			s.drift.places, s.Settled = []string{"uiSpec/clock"}, s.settled
			other := base
			r.change(&other)
			d := s.Difference(base, other)
			got, _, _ := strings.Cut(d, ":")
			if got != r.want || s.Same(base, other) != (r.want == "") {
				t.Errorf("they differ in %q, want %q:\n%s", got, r.want, d)
			}
			if d != "" && !strings.ContainsAny(d, "-+") {
				t.Errorf("it is no diff:\n%s", d)
			}
		})
	}
}

// TestContradiction checks that a quick uiSpec may have less or more than the next state, but nothing different.
func TestContradiction(t *testing.T) {
	for _, r := range []struct{ reason, quick, state, want string }{
		{"the same", `{"a":1,"b":[1]}`, `{"a":1,"b":[1]}`, ""},
		{"it says less", `{"a":1}`, `{"a":1,"b":2}`, ""},
		{"it says more", `{"a":1,"b":2}`, `{"a":1}`, ""},
		{"it says something else altogether", `{"a":1}`, `{"b":2}`, ""},
		{"less within a member", `{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, ""},
		{"nothing", `{}`, `{"a":1}`, ""},
		{"the same number in another notation", `{"a":1.0}`, `{"a":1}`, ""},
		{"another value", `{"a":1}`, `{"a":2}`, "/a/: 1, and then 2"},
		{"another value within a member", `{"a":{"b":"x"}}`, `{"a":{"b":"y"}}`, `/a/b/: "x", and then "y"`},
		{"a part of a list", `{"a":[1]}`, `{"a":[2,1]}`, ""},
		{"a list of more", `{"a":[1,2]}`, `{"a":[1]}`, "/a/: [1,2], and then [1]"},
		{"another list", `{"a":[1]}`, `{"a":[2,3]}`, "/a/: [1], and then [2,3]"},
		{"an empty list", `{"a":[]}`, `{"a":[1]}`, "/a/: [], and then [1]"},
		{"null", `{"a":null}`, `{"a":1}`, "/a/: null, and then 1"},
		{"another type", `{"a":{}}`, `{"a":[]}`, "/a/: {}, and then []"},
		{"no uiSpec is active any more", `{"a":1}`, `null`, `/: {"a":1}, and then null`},
		{"the first of two, by name", `{"b":1,"a":1}`, `{"a":2,"b":2}`, "/a/: 1, and then 2"},
	} {
		if got := model.Contradiction("", value(t, r.quick), value(t, r.state)); got != r.want {
			t.Errorf("%s: %q, want %q", r.reason, got, r.want)
		}
	}
	long := model.Contradiction("", strings.Repeat("很", 500), "")
	if len(long) > 500 || !utf8.ValidString(long) {
		t.Errorf("a long value is told as %q", long)
	}
}

func TestClip(t *testing.T) {
	for _, r := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"", 0, ""}, {"很长", 4, "很…"}, {"很长", 2, "…"}, {"很长", 6, "很长"}} {
		if got := cut.Head(r.in, r.n); got != r.want {
			t.Errorf("%q at %d: %q, want %q", r.in, r.n, got, r.want)
		}
	}
}

// TestShown checks that showing a message in uiSpec is not a change of the flow.
func TestShown(t *testing.T) {
	s := &suite{word: "word-n-1"}
	for _, r := range []struct {
		reason, at, a, b string
		want             bool
	}{
		{"its text", "/last", `{"last":""}`, `{"last":"Please note: word-n-1"}`, true},
		{"its text in a list", "/chat", `{"chat":[]}`, `{"chat":[{"text":"word-n-1"}]}`, true},
		{"a count", "/messages", `{"messages":1}`, `{"messages":2}`, true},
		{"a count that was not there", "/messages", `{}`, `{"messages":2}`, false},
		{"how it begins", "/last", `{"last":""}`, `{"last":"Please note…"}`, true},
		{"the beginning of its text, too short to tell", "/last", `{"last":""}`, `{"last":"Please"}`, false},
		{"a count in words", "/unread", `{"unread":"2 unread"}`, `{"unread":"3 unread"}`, true},
		{"the first of a count in words", "/unread", `{"unread":""}`, `{"unread":"1 unread"}`, true},
		{"a count in words that jumps", "/unread", `{"unread":"2 unread"}`, `{"unread":"4 unread"}`, false},
		{"a count that goes back", "/messages", `{"messages":2}`, `{"messages":1}`, false},
		{"a count that jumps", "/messages", `{"messages":1}`, `{"messages":3}`, false},
		{"a time", "/at", `{"at":"2026-01-01T00:00:00Z"}`, `{"at":"2026-01-01T00:00:01.5+08:00"}`, true},
		{"a time in milliseconds", "/at", `{"at":0}`, `{"at":1767225600000}`, true},
		{"a mark", "/new", `{"new":false}`, `{"new":true}`, true},
		{"null", "/last", `{"last":"x"}`, `{"last":null}`, false},
		{"another text", "/last", `{"last":"a"}`, `{"last":"word"}`, false},
		{"a choice", "/selected", `{"selected":""}`, `{"selected":"m1"}`, false},
		// Known gap: any boolean counts as a mark, even one that says that something is booked, as in
		// {"a state that is a boolean", "/booked", `{"booked":false}`, `{"booked":true}`, false},
		{"the stage", "/stage", `{"stage":"movie"}`, `{"stage":"ticket"}`, false},
		{"a text that is gone", "/last", `{"last":"word-n-1"}`, `{}`, false},
	} {
		if got := s.shown("uiSpec", "uiSpec"+r.at, value(t, r.a), value(t, r.b)); got != r.want {
			t.Errorf("%s: %v", r.reason, got)
		}
	}
}

// TestShows checks which change of state counts as the effect of a tool.
func TestShows(t *testing.T) {
	a := state{UI: value(t, `{"stage":1}`), History: value(t, `[]`), Tools: value(t, `[]`)}
	ui, history, tools := a, a, a
	ui.UI, history.History, tools.Tools = value(t, `{"stage":2}`), value(t, `[1]`), value(t, `[{"name":"x"}]`)
	for _, r := range []struct {
		tool                     string
		last                     bool
		none, ui, history, tools bool
	}{{"next", false, false, true, false, true}, {"next", true, false, true, true, true},
		{"prev", false, false, true, false, true},
		{"postMessage", false, false, false, true, false}, {"postMessage", true, false, false, true, false},
		{"select", false, false, true, true, true}} {
		s := &suite{World: &steps.World{Env: &steps.Env{}}}
		q := &request{tool: r.tool, last: r.last}
		got := []bool{s.shows(q, a, a), s.shows(q, a, ui), s.shows(q, a, history), s.shows(q, a, tools)}
		if diff := cmp.Diff([]bool{r.none, r.ui, r.history, r.tools}, got); diff != "" {
			t.Errorf("%s; nothing, uiSpec, messageHistory, toolSchema: want(-) got(+):\n%s", r.tool, diff)
		}
	}
}

// TestApart checks that a difference lists its places and shortens long values.
func TestApart(t *testing.T) {
	for _, r := range []struct{ reason, a, b, want string }{
		{"a member", `{"a":1}`, `{"a":2}`, "uiSpec:\n  at uiSpec/a\n  - 1\n  + 2"},
		{"a member that is gone", `{"a":1}`, `{}`, "uiSpec:\n  at uiSpec/a\n  - 1\n  + nothing"},
		{"a new one that is null", `{}`, `{"a":null}`, "uiSpec:\n  at uiSpec/a\n  - nothing\n  + null"},
		{"everything", `1`, `null`, "uiSpec:\n  at uiSpec\n  - 1\n  + null"},
	} {
		if got := model.Apart("uiSpec", value(t, r.a), value(t, r.b)); got != r.want {
			t.Errorf("%s:\n%s\nwant\n%s", r.reason, got, r.want)
		}
	}
	many, none := object{}, object{}
	for _, name := range strings.Split("abcdefghij", "") {
		many[name] = strings.Repeat("很", 1000)
	}
	if got := model.Apart("uiSpec", many, none); !strings.HasSuffix(got, "\n  and 2 places more") || len(got) > 4000 ||
		!utf8.ValidString(got) {
		t.Errorf("many long differences:\n%s", got)
	}
}
