package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// scriptOfRun makes a transcript from lines: "choose", "given s1", "ask {kind} k=v …", "get /path", "post /path"; the
// prefix "B " stands for the second page.
func scriptOfRun(lines string) []transcript.Record {
	var out []transcript.Record
	for line := range strings.SplitSeq(lines, "; ") {
		page := "A"
		if rest, ok := strings.CutPrefix(line, "B "); ok {
			page, line = "B", rest
		}
		r := transcript.Record{N: len(out) + 1, Conn: page + api, Dir: transcript.Received, Kind: transcript.Request}
		words := strings.Fields(line)
		switch words[0] {
		case "choose":
			r.Conn, r.Dir, r.Kind, r.Bytes = page, transcript.Sent, transcript.Act, []byte(`{"do":"choose","on":"select"}`)
		case "click":
			r.Conn, r.Dir, r.Kind, r.Bytes = page, transcript.Sent, transcript.Act, []byte(`{"do":"click"}`)
		case "given":
			r.Dir, r.Kind = transcript.Sent, transcript.Response
			r.Event = &transcript.Event{Type: "session", Data: map[string]any{"sessionId": words[1]}}
		case "ask":
			data := map[string]any{}
			for _, w := range words[2:] {
				k, v, _ := strings.Cut(w, "=")
				data[k] = v
				if v == "7" {
					data[k] = 7
				}
			}
			r.Label, r.Event = "POST /message", &transcript.Event{Type: words[1], Data: data}
		default:
			r.Label = strings.ToUpper(words[0]) + " " + words[1]
		}
		out = append(out, r)
	}
	return out
}

func TestMonitorsOfRuns(t *testing.T) {
	const good = "click; given s1; choose; ask " + vocab.SwitchAgentType + " agentId=a sessionId=s1"
	for _, r := range []struct{ reason, in, broken string }{
		{"as it should be", good, ""},
		{"once for each choice", good + "; choose; ask switch_agent agentId=b sessionId=s1", ""},
		{"the newest session", "given s1; given s2; choose; ask switch_agent agentId=a sessionId=s2", ""},
		{"two pages", "given s1; B given s2; choose; ask switch_agent agentId=a sessionId=s1; B choose; " +
			"B ask switch_agent agentId=a sessionId=s2", ""},
		{"nothing chosen", "given s1; click; ask switch_agent agentId=a sessionId=s1", "AC-052"},
		{"twice for one choice", good + "; ask switch_agent agentId=a sessionId=s1", "AC-052"},
		{"another page's choice", "given s1; B choose; ask switch_agent agentId=a sessionId=s1", "AC-052"},
		{"no session", "choose; ask switch_agent agentId=a", "AC-056"},
		{"no sessionId", "given s1; choose; ask switch_agent agentId=a", "AC-051 AC-055 AC-116"},
		{"the previous session", "given s1; given s2; choose; ask switch_agent agentId=a sessionId=s1",
			"AC-051 AC-055 AC-116"},
		{"another page's session", "given s1; B given s2; choose; ask switch_agent agentId=a sessionId=s2",
			"AC-051 AC-055 AC-116"},
		{"no agentId", "given s1; choose; ask switch_agent sessionId=s1", "AC-050"},
		{"a number", "given s1; choose; ask switch_agent agentId=7 sessionId=s1", "AC-050"},
		{"an agent is created", "ask create_agent", "AC-015"},
		{"an agent is deleted", "ask agent_delete", "AC-015"},
		{"over its own path", "post /api/agents", "AC-015"},
		{"one of them", "delete /agents/x?y=1", "AC-015"},
		{"reading agents is allowed", "get /agents; get /agents/x", ""},
		{"a word that only sounds like it", "post /agent-chat/telemetry; ask agentic_update; post /user-agents/report/x", ""},
	} {
		broken := map[string]bool{}
		for _, m := range All() {
			for _, f := range m.Check(scriptOfRun(r.in)) {
				for _, id := range f.Clauses {
					if !f.OK {
						broken[id] = true
					}
				}
			}
		}
		var got []string
		for _, id := range []string{"AC-015", "AC-050", "AC-051", "AC-052", "AC-055", "AC-056", "AC-116"} {
			if broken[id] {
				got = append(got, id)
			}
		}
		if strings.Join(got, " ") != r.broken {
			t.Errorf("%s: broken %v, want %s", r.reason, got, r.broken)
		}
	}
}

// TestMembersAreQuoted checks that a member is told as the message has it.
func TestMembersAreQuoted(t *testing.T) {
	for body, want := range map[string]string{`{}`: "sessionId is missing", `{"sessionId":null}`: "sessionId is null",
		`{"sessionId":"s"}`: `sessionId is "s"`, `{"sessionId":{"id":1}}`: `sessionId is {"id":1}`} {
		data, _, err := wjson.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := written(&transcript.Record{Event: &transcript.Event{Data: data}}, "sessionId"); got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// TestClausesAreDeclared checks that the monitors declare the clauses they find.
func TestClausesAreDeclared(t *testing.T) {
	for _, m := range All() {
		declared := map[string]bool{}
		for _, id := range m.Clauses {
			declared[id] = true
		}
		var all []verdict.Finding
		all = append(all, m.Check(scriptOfRun("given s1; choose; ask switch_agent agentId=a sessionId=s1; get /x"))...)
		if len(all) == 0 {
			t.Errorf("%s finds nothing in what is as it should be", m.Name)
		}
		for _, f := range all {
			for _, id := range f.Clauses {
				if !declared[id] {
					t.Errorf("%s finds %s, which it does not declare", m.Name, id)
				}
			}
			if !f.OK {
				t.Errorf("%s: %s", m.Name, fmt.Sprint(f))
			}
		}
	}
}

// vain begins the remark of a scenario that has waited in vain.
const vain = "- waited in vain since record "

// actRows are what TestActs checks.
var actRows = []struct{ reason, in, want string }{
	{"the event stream is asked for", connects + stream, "2+AC-025"},
	{"it is not", connects + vain + "1 for stream: within 2s", "1-AC-025"},
	{"the user disconnects", fresh + "act disconnect\nclosed", ""},
	{"the page closes the stream", fresh + "act disconnect\nleaves", "7+AC-105"},
	{"a switch to what was chosen", bound + chooses + asks("debugger", "s1"),
		"10+AC-033 10+AC-050 10+AC-051 10+AC-052 10+AC-053 10+AC-079"},
	{"a switch to another agent", bound + chooses + asks("code_reviewer", "s1"),
		"10+AC-033 10+AC-050 10+AC-051 10+AC-052 10+AC-053 10+AC-079 10-AC-050"},
	{"a switch of another session", bound + chooses + asks("debugger", "s2"),
		"10+AC-033 10+AC-050 10+AC-052 10+AC-053 10+AC-079 10-AC-051"},
	{"no switch", bound + chooses + vain + "9 for switch_agent: within 2s",
		"9-AC-033 9-AC-050 9-AC-051 9-AC-053 9-AC-079"},
	{"a switch that must be confirmed", bound + chooses + "dialog confirm: really?\n" + asks("debugger", "s1"),
		"10-AC-033 11+AC-033 11+AC-050 11+AC-051 11+AC-052 11+AC-053 11+AC-079"},
	{"two switches for one choice", bound + chooses + asks("debugger", "s1") + asks("debugger", "s1"),
		"10+AC-033 10+AC-050 10+AC-051 10+AC-052 10+AC-053 10+AC-079 11+AC-050 11+AC-051 11-AC-052"},
	{"a switch to the current agent", bound + "choose GENERAL Agent\n" + asks("general", "s1"), "10+AC-051 10-AC-052"},
	{"a switch that the page makes before that of the choice", bound + chooses + asks("general", "s1") +
		asks("debugger", "s1"), "10+AC-051 10-AC-052 11+AC-033 11+AC-050 11+AC-051 11+AC-052 11+AC-053 11+AC-079"},
	{"a preselection", fresh + chooses + wants + "made session_create {}\n" +
		`> session_create {"initialAgentId":"debugger"}`, "8+AC-042 9+AC-043"},
	{"a preselection that is lost", fresh + chooses + wants + "> session_create {}", "8-AC-043"},
	{"a switch in its place", fresh + chooses + `made switch_agent {"agentId":"debugger"}`, "7-AC-042"},
	{"no request for a session", fresh + wants + vain + "6 for session_create: within 2s", "6-AC-043"},
	{"the stream ends before the page has shown the choice", fresh + chooses + "closed\n" + wants +
		"> session_create {}", ""},
	{"an abort of the session", bound + "act abort\n" + abort("s1"), "10+AC-079"},
	{"an abort of another one", bound + "act abort\n" + abort("s2"), "10-AC-079"},
	{"no abort", bound + "act abort\n" + vain + "9 for abort: within 2s", "9-AC-079"},
}

// TestActs checks how a run settles what the user's acts oblige a page to: which clauses the page is found to keep
// ("+") and to break ("-"), by the record.
func TestActs(t *testing.T) {
	for _, r := range actRows {
		m := New(obligation.Ours)
		for _, rec := range script(t, r.in) {
			m.Take(rec)
		}
		var got []string
		if strings.HasPrefix(r.in, fresh) { // the connection is another row's
			m.Fresh("A", strings.Count(fresh, "\n"))
		}
		for _, f := range m.Fresh("A", len(r.in)) {
			for _, id := range []string{"AC-025", "AC-033", "AC-042", "AC-043", "AC-050", "AC-051", "AC-052", "AC-053", "AC-079",
				"AC-105"} {
				if slices.Contains(f.Clauses, id) {
					got = append(got, fmt.Sprintf("%d%s%s", f.At, map[bool]string{true: "+", false: "-"}[f.OK], id))
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(r.want, strings.Join(slices.Compact(got), " ")); diff != "" {
			t.Errorf("%s: want(-) got(+):\n%s", r.reason, diff)
		}
	}
}
