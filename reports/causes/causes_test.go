package causes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/reports/causes"
)

func TestKind(t *testing.T) {
	for _, tt := range []struct{ reason, a, b string }{
		{"times and record numbers", "agent_list {}   +3.1 ms, record 9", "agent_list {}   +124.0 ms, record 41"},
		{"quoted values", `agentName "General"`, `agentName "Debug \"x\" ger"`},
		{"clients", "agent_switched on the connection of client A", "agent_switched on the connection of client B"},
		{"agents of a scenario", "the input for agent agent-a", "the input for agent agent-b"},
		{"ids", "agent agent-e-rt-2-08-ws-6c685c is added", "agent agent-d-rt-1-01-ws-123abc is added"},
		{"upper-case ids", "TURN for turn HV6274Z5QDRS", "TURN for turn V2U2IQARU77I"},
		{"what objects contain", `x {"a":"b"}`, `x {"c":[1,2,{"d":null}]}`},
		{"objects that were shortened", `x {"a":"b","c":{"…`, `x {"c":[1,2`},
		{"braces in strings", `x {"a":"}"} y`, `x {"a":"{"} y`},
		{"the order of codes", `error {"code":"A_B","errorCode":"c_d"}`, `error {"errorCode":"c_d","n":1,"code":"A_B"}`},
		{"names in parentheses", "agent 3 (code_reviewer) with a name", "agent 4 (parley-later) with a name"},
		{"what else was published", "no such message; published: A, B", "no such message; nothing was published"},
		{"the target's stderr", "no such message; on its stderr: panic", "no such message"},
		{"the messages that something was sought in", `1 missing; its messages: user "a"`,
			`2 missing; its messages: user "b", user "c"`},
		{"lists of values", `one of "a", "b" and "c"`, `one of "a" or "b"`},
	} {
		if a, b := causes.Kind(tt.a), causes.Kind(tt.b); a != b {
			t.Errorf("%s: %q and %q differ", tt.reason, a, b)
		}
	}
	for _, tt := range []struct{ reason, a, b string }{
		{"codes of errors", `error {"errorCode":"agent_busy"}`, `error {"errorCode":"agent_not_found"}`},
		{"the status of an answer", "HTTP 400 Bad Request", "HTTP 500 Internal Server Error"},
		{"the bare status of an answer", "HTTP 400", "HTTP 401"},
		{"types of messages", "agent_switched {}", "agent_list {}"},
		{"words", "no such message", "two such messages"},
		{"the end of the process", "no such message; the target's process ended", "no such message"},
	} {
		if a, b := causes.Kind(tt.a), causes.Kind(tt.b); a == b {
			t.Errorf("%s: both are %q", tt.reason, a)
		}
	}
}

// finding returns a finding in a scenario at a record.
func finding(clause, scenario string, record int, expected, observed string) causes.Finding {
	return causes.Finding{Clause: clause, Scenario: scenario, Driver: "sse", Record: fmt.Sprint("A ", record), N: record,
		Expected: expected, Observed: observed}
}

func of(list ...causes.Finding) []causes.Cause {
	for i := range list {
		list[i].Index = i
	}
	return causes.Of(list)
}

// TestSameKindIsOneCause: over scenarios, drivers, clauses and parameters.
func TestSameKindIsOneCause(t *testing.T) {
	second := finding("X-2", "s2", 9, `agentName "B"`, `agentName "D"`)
	second.Times = 12
	third := finding("X-1", "s1", 3, `agentName "A"`, `agentName "C"`)
	third.Driver = "ws"
	got := of(finding("X-1", "s1", 4, `agentName "A"`, `agentName "C"`), second, third,
		finding("X-3", "s3", 1, "an error", "nothing"))
	if len(got) != 2 {
		t.Fatalf("%d causes, want 2: %+v", len(got), got)
	}
	want := causes.Cause{ID: got[0].ID, Kinds: []causes.Pair{{Expected: "agentName #", Observed: "agentName #"}},
		Clauses: []string{"X-1", "X-2"}, Scenarios: []string{"s1", "s2"}, Drivers: []string{"sse", "ws"}, Findings: 14,
		Example: 2, Members: []int{0, 1, 2}}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSameRecordsAreOneCause: several checks of the same messages are one cause, and those of some of them are not.
func TestSameRecordsAreOneCause(t *testing.T) {
	both := of(finding("X-1", "s1", 4, "a name", "none"), finding("X-1", "s2", 4, "a name", "none"),
		finding("X-2", "s1", 4, "a list", "no list"), finding("X-2", "s2", 4, "a list", "no list"))
	if len(both) != 1 || len(both[0].Kinds) != 2 || len(both[0].Clauses) != 2 {
		t.Errorf("the same records: %+v", both)
	}
	some := of(finding("X-1", "s1", 4, "a name", "none"), finding("X-1", "s2", 4, "a name", "none"),
		finding("X-2", "s1", 4, "a list", "no list"))
	if len(some) != 2 {
		t.Errorf("some of the records: %+v", some)
	}
	nowhere := []causes.Finding{finding("X-1", "s1", 0, "a name", "none"), finding("X-2", "s1", 0, "a list", "no list")}
	nowhere[0].Record, nowhere[1].Record = "", ""
	if got := of(nowhere...); len(got) != 2 {
		t.Errorf("no records: %+v", got)
	}
}

// TestClassesAreApart: what the baseline expects is never one with what nobody expects, also at the same record.
func TestClassesAreApart(t *testing.T) {
	list := []causes.Finding{finding("X-1", "s1", 4, "a name", "none"), finding("X-2", "s1", 4, "a name", "none"),
		finding("X-3", "s1", 4, "a name", "none")}
	list[0].Class, list[1].Rank = 1, 1
	got := of(list...)
	if len(got) != 2 || got[0].Class != 0 || got[0].Rank != 0 || !slices.Equal(got[0].Clauses, []string{"X-2", "X-3"}) {
		t.Errorf("%+v", got)
	}
}

// TestOrder: failures before warnings, then by the number of scenarios, then by how often they were found.
func TestOrder(t *testing.T) {
	warned := []causes.Finding{finding("W-1", "s1", 1, "w", "x"), finding("W-1", "s2", 1, "w", "x"),
		finding("W-1", "s3", 1, "w", "x")}
	for i := range warned {
		warned[i].Rank = 1
	}
	often := finding("O-1", "s1", 7, "o", "x")
	often.Times = 50
	list := append(warned, often, finding("A-1", "s4", 3, "a", "x"), finding("M-1", "s1", 2, "m", "x"),
		finding("M-1", "s2", 2, "m", "x"))
	var got []string
	for _, c := range of(list...) {
		got = append(got, c.Clauses[0])
	}
	if want := []string{"M-1", "O-1", "A-1", "W-1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestExample: the finding that a reader understands at once stands for its cause.
func TestExample(t *testing.T) {
	cut, byMonitor := finding("X-1", "s1", 1, "e", `x {"a":"…`), finding("X-1", "s2", 2, "e", "x {}")
	byMonitor.Monitor = "m"
	late, long := finding("X-1", "s3", 40, "e", "x {}"), finding("X-1", "s4", 3, "e", `x {"longer":"than needed"}`)
	got := of(cut, byMonitor, late, long, finding("X-1", "s5", 3, "e", "x {}"))
	if len(got) != 1 || got[0].Example != 4 {
		t.Errorf("%+v", got)
	}
}

// TestFollowing: what follows stands under its cause, once for each clause, and everything is counted.
func TestFollowing(t *testing.T) {
	var list []causes.Finding
	for i := range 4 {
		f := finding("X-1", fmt.Sprint("s", i), i, "e", "o")
		f.More = 2
		f.Following = []causes.Following{{Clause: "F-1", Observed: "first"}, {Clause: fmt.Sprint("G-", i), Observed: "g"},
			{Clause: fmt.Sprint("H-", i), Observed: "h"}}
		list = append(list, f)
	}
	got := of(list...)
	if len(got) != 1 || len(got[0].Following) != 5 || len(got[0].Following)+got[0].More != 4*5 {
		t.Fatalf("%+v", got)
	}
	if got[0].Following[0] != (causes.Following{Clause: "F-1", Observed: "first"}) {
		t.Errorf("first follows %+v", got[0].Following[0])
	}
}

// TestIDIsStable: the id of a cause does not depend on where it was found.
func TestIDIsStable(t *testing.T) {
	a := of(finding("X-1", "s1", 4, `agentName "A"`, `agentName "C"`))
	b := of(finding("X-9", "s7", 90, `agentName "Z"`, `agentName "Y"`))
	other := of(finding("X-1", "s1", 4, `no agentName "A"`, `agentName "C"`))
	if a[0].ID != b[0].ID || a[0].ID == other[0].ID {
		t.Errorf("ids %s, %s, and %s of another kind", a[0].ID, b[0].ID, other[0].ID)
	}
}

// TestWhatEndsTheProcessComesFirst: among causes that fail a clause, whatever they explain.
func TestWhatEndsTheProcessComesFirst(t *testing.T) {
	crash := finding("X-3", "s3", 4, "an error", "the stream broke off; the process ended")
	crash.Ended = true
	got := of(finding("X-1", "s1", 1, "a", "wrong"), finding("X-1", "s2", 1, "a", "wrong"), crash)
	if len(got) != 2 || !got[0].Ended || got[1].Ended {
		t.Errorf("%+v", got)
	}
}

// TestRepeatedRunIsTheSameCause: what the repeated run of a scenario shows again is not another cause.
func TestRepeatedRunIsTheSameCause(t *testing.T) {
	again := finding("X-1", "s1", 0, "an error", "agent_switched {}; that was in the repeated run of its own")
	if got := of(finding("X-1", "s1", 1, "an error", "agent_switched {}"), again); len(got) != 1 || got[0].Example != 0 {
		t.Errorf("%d causes, want 1: %+v", len(got), got)
	}
}

// TestStrongestLevelLeads: the example is of the clause that binds most, however clear the others are.
func TestStrongestLevelLeads(t *testing.T) {
	conflict := finding("X-1", "s1", 1, "a", "wrong")
	conflict.Level = 1
	must := finding("X-2", "s1", 9, "a", "wrong")
	must.Monitor = "m"
	if got := of(conflict, must); len(got) != 1 || got[0].Example != 1 {
		t.Errorf("%+v", got)
	}
}

// TestCodesVary: a deviation that does not depend on the code that was expected is one cause, and one that was seen
// with a single other code may have a cause of its own.
func TestCodesVary(t *testing.T) {
	expects := func(code string, n int, observed string) causes.Finding {
		return finding("X-1", fmt.Sprint("s", n), n, "an error event with errorCode "+code, observed)
	}
	for _, tt := range []struct {
		reason string
		found  []causes.Finding
		want   int
	}{
		{"three codes without an answer", []causes.Finding{expects("not_found", 1, "no such message"),
			expects("agent_busy", 2, "no such message"), expects("bad_format or not_found", 3, "no such message")}, 1},
		{"two codes without an answer", []causes.Finding{expects("not_found", 1, "no such message"),
			expects("agent_busy", 2, "no such message")}, 2},
		{"two errors without a code", []causes.Finding{expects("not_found", 1, `error {"message":"a"}`),
			expects("agent_busy", 2, `error {"message":"b"}`)}, 1},
		{"two errors with wrong codes", []causes.Finding{expects("not_found", 1, `error {"code":"a_b"}`),
			expects("agent_busy", 2, `error {"code":"c_d"}`)}, 2},
		{"other types", []causes.Finding{expects("not_found", 1, "agent_list {}"),
			expects("agent_busy", 2, "no such message"), expects("bad_format", 3, "agent_switched {}")}, 3},
	} {
		if got := of(tt.found...); len(got) != tt.want {
			t.Errorf("%s: %d causes, want %d: %+v", tt.reason, len(got), tt.want, got)
		}
	}
}

// TestOneMember: two deviations of a member are one cause only if one was found nowhere else than the other.
func TestOneMember(t *testing.T) {
	wrong := func(clause string, record int, expected string) causes.Finding {
		return finding(clause, "s1", record, expected, "agent_switched {}")
	}
	everywhere := []causes.Finding{wrong("X-1", 1, "agentName as a string"), wrong("X-1", 2, "agentName as a string")}
	for _, tt := range []struct {
		reason string
		also   causes.Finding
		want   int
	}{
		{"the same member there", wrong("X-2", 2, "agentName as in the list"), 1},
		{"the same member elsewhere", wrong("X-2", 3, "agentName as in the list"), 2},
		{"another member there", wrong("X-2", 2, "previousAgentId as it was"), 2},
	} {
		if got := of(append(slices.Clone(everywhere), tt.also)...); len(got) != tt.want {
			t.Errorf("%s: %d causes, want %d: %+v", tt.reason, len(got), tt.want, got)
		}
	}
}
