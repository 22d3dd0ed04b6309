package model

import (
	"fmt"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

// ui returns a state with a uiSpec.
func ui(spec object) State { return State{UI: spec, Tools: []any{}, History: []any{}} }

// TestBack checks what a state has in common with other ones in which it differs from the one at its place.
func TestBack(t *testing.T) {
	first, chosen := ui(object{"stage": "movie", "id": "s1"}), ui(object{"stage": "movie", "selected": "m1", "id": "s1"})
	gone := ui(object{"stage": "movie", "selected": nil, "id": "s1"})
	c := Comparison{}
	for _, r := range []struct{ reason, got, want string }{
		{"a choice of the session before", c.Left(chosen, nil, []State{first, chosen}, 0), "uiSpec/selected is unchanged"},
		{"nothing of it", c.Left(first, nil, []State{first, chosen}, 0), ""},
		{"null is nothing that is left", c.Left(gone, nil, []State{first, gone}, 0), ""},
		{"another id", c.Left(ui(object{"stage": "movie", "id": "s2"}), nil, []State{first, chosen}, 0), ""},
		{"a word of it", c.Left(ui(object{"title": "word-1"}), []string{"word-1"}, nil, 0), "it is still there: word-1"},
		{"the state before the last one", c.Fallen([]State{first, chosen}, first, true), "uiSpec is again as in record 0"},
		{"part of it", c.Fallen([]State{first, chosen}, ui(object{"stage": "movie", "id": "s3"}), false), "uiSpec/selected"},
		{"part of it, at first", c.Fallen([]State{first, chosen}, ui(object{"stage": "movie", "id": "s3"}), true), ""},
		{"the last one", c.Fallen([]State{first, chosen}, chosen, false), ""},
		{"a clock", Comparison{func(string, any) any { return nil }}.Fallen([]State{first, chosen}, first, false), ""},
	} {
		if !strings.HasPrefix(r.got, r.want) || r.want == "" && r.got != "" {
			t.Errorf("%s: %q, want %q", r.reason, r.got, r.want)
		}
	}
}

// TestSync checks how what an agent was told compares with its snapshot, by the last lines of a session.
func TestSync(t *testing.T) {
	const begun = "a open\na > relay.join #j {\"role\":\"agent\",\"sessionId\":\"r\"}\na < relay.joined @j {}\n" +
		"a > session.start #s {}\na < session.started @s {\"sessionId\":\"s\"}\n"
	shot := func(id, stage string) string {
		return fmt.Sprintf("a > snapshot.get #%s {}\na < snapshot.state @%[1]s {\"uiSpec\":{\"stage\":%q}}\n", id, stage)
	}
	update := func(stage string) string {
		return fmt.Sprintf("a < state.updated {\"uiSpec\":{\"stage\":%q}}\n", stage)
	}
	const call = "a > tool.call #c {\"toolName\":\"next\",\"params\":{}}\n"
	const refusal = "a < error @c {\"code\":\"UNKNOWN_TOOL\"}\n"
	for _, r := range []struct {
		reason, in string
		want       Sync
	}{
		{"nothing was done", shot("1", "x"), Idle},
		{"a call was refused", shot("1", "x") + call + refusal + shot("2", "x"), Idle},
		{"a call was carried out", shot("1", "x") + call + "a < tool.result @c {\"ok\":true}\n" + shot("2", "x"), Unchanged},
		{"something has changed unannounced", shot("1", "x") + call + refusal + shot("2", "y"), OutOfSync},
		{"they agree", shot("1", "x") + update("y") + shot("2", "y"), InSync},
		{"they do not", shot("1", "x") + update("y") + shot("2", "x"), OutOfSync},
		{"a state is newer", shot("1", "x") + update("y"), Newer},
	} {
		m := New(vocab.Host, obligation.Ours)
		for _, rec := range script(t, begun+r.in) {
			m.Take(rec)
		}
		if f, got, _ := m.Sync("a", 0); got != r.want || f.OK != (got == InSync) {
			t.Errorf("%s: %v, ok %v", r.reason, got, f.OK)
		}
	}
}
