package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/transport/transcript"
)

func everyRow() []row { return slices.Concat(courses, faults, messageFaults, lateFaults, leftOpen) }

// TestEveryClauseIsKeptAndBroken checks that some transcript keeps, and some breaks, every clause: otherwise it is
// not judged.
func TestEveryClauseIsKeptAndBroken(t *testing.T) {
	unbroken := []string{"RT-173"} // only by the strict reading
	kept, broken := map[string]bool{}, map[string]bool{}
	for _, r := range everyRow() {
		k, b, a := summed(Judge(script(t, r.in)))
		for _, id := range listOf(k) {
			kept[id] = true
		}
		for _, id := range listOf(a) {
			kept[id] = true
		}
		for _, id := range listOf(b) {
			broken[id] = true
		}
	}
	for _, id := range Clauses() {
		if !kept[id] {
			t.Errorf("%s is kept by no transcript", id)
		}
		if !broken[id] && !slices.Contains(unbroken, id) {
			t.Errorf("%s is broken by no transcript", id)
		}
	}
}

// TestFindingsTell checks that a finding names declared clauses and a record, and that a failed one has an
// expectation and an observation.
func TestFindingsTell(t *testing.T) {
	declared := Clauses()
	for _, r := range everyRow() {
		records := script(t, r.in)
		for _, f := range Judge(records) {
			if f.At < 1 || f.At > len(records) || !f.OK && (f.Expected == "" || f.Observed == "" || len(f.Clauses) == 0) ||
				f.OK && f.Observed != "" {
				t.Errorf("%s: %+v", r.reason, f)
			}
			for _, id := range f.Clauses {
				if !slices.Contains(declared, id) {
					t.Errorf("%s: %s is not declared", r.reason, id)
				}
			}
		}
	}
}

// TestNothingOfTheKind checks that "no such message" is reported only if it is true: otherwise the similar
// message is named, with its interpretation.
func TestNothingOfTheKind(t *testing.T) {
	for in, want := range map[string]string{
		abc + "> user USER_INPUT #1 mention=x\n" +
			"fence\n": "no such message up to the fence",
		abc + "> user USER_INPUT #7 mention=x\n> a ERROR #4\n< ERROR #4\n" +
			"fence\n": "ERROR to FRONTEND (record 5), which was treated as the ERROR to the frontend, because of record 4",
		abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>c\n" +
			"fence\n": "SWITCH_AGENT to SYSTEM (record 4), which nothing requires",
	} {
		var got []string
		for _, f := range Judge(script(t, in)) {
			if !f.OK && !f.Follows {
				got = append(got, f.Observed)
			}
		}
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: observed %q, want %q", in, got, want)
		}
	}
}

// TestAbsenceIsNoMonitorsFinding checks that kept absences are reported only to the scenario, not by the monitor.
func TestAbsenceIsNoMonitorsFinding(t *testing.T) {
	records := script(t, abc+"> user CANCEL\nfence\n")
	if _, _, absent := summed(Judge(records)); len(absent) == 0 {
		t.Error("Judge tells of no absence")
	}
	if got := All()[0].Check(records); len(got) > 0 {
		t.Errorf("the monitor finds %+v", got)
	}
	if got := All()[0].Check(script(t, abc+"> user CANCEL\n< CANCEL @a t1\nfence\n")); len(got) != 1 || got[0].OK {
		t.Errorf("the monitor finds %+v, want one that is broken", got)
	}
}

func TestMonitor(t *testing.T) {
	all := All()
	if len(all) != 1 || all[0].Name == "" || all[0].Text == "" || !slices.Equal(all[0].Clauses, Clauses()) {
		t.Errorf("%+v", all)
	}
	if !slices.IsSorted(Clauses()) || len(slices.Compact(Clauses())) != len(judged) {
		t.Errorf("%v", Clauses())
	}
}

// TestWhere checks that a finding names the record that shows it: the published message, or the one it should have
// followed.
func TestWhere(t *testing.T) {
	for _, r := range []struct {
		reason, in string
		at         int
	}{
		{"an uncalled-for message", abc + "< SWITCH_AGENT a>b\n", 3},
		{"a missing message", abc + "> user CANCEL\n> user REMOVE_AGENT agent=b\nfence\n", 4},
		{"a payload that has changed", abc + "> user USER_INPUT #1\n" + `< USER_INPUT @a t1 {"text":"#1"}` + "\n", 4},
	} {
		t.Run(r.reason, func(t *testing.T) {
			var at []int
			for _, f := range Judge(script(t, r.in)) {
				if !f.OK {
					at = append(at, f.At)
				}
			}
			if !slices.Equal(at, []int{r.at}) {
				t.Errorf("records %v, want %d", at, r.at)
			}
		})
	}
}

// TestSessions checks that each session has its own model, and a new one after it is set up again.
func TestSessions(t *testing.T) {
	const one, two = "set one a,b a\n", "set two a,b a\n"
	rows := []row{
		{reason: "side by side", in: one + two +
			"> user USER_INPUT #1 in=one\n> user USER_INPUT #2\n< USER_INPUT @a t2 #2\n< USER_INPUT @a t1 #1 in=one\n" +
			"< TURN_ACCEPTED t1 of=a in=one\n< TURN_ACCEPTED t2 of=a\nfence\n", kept: "075 076"},
		{reason: "a switch in one session does not affect the other", in: one + two +
			"> user SWITCH_AGENT a>b in=one\n< SWITCH_AGENT a>b in=one\n" + next, kept: "032 069"},
		{reason: "an input of the one in the other", in: one + two +
			"> user USER_INPUT #1 in=one\n< USER_INPUT @a t1 #1\nfence\n", broken: "001 013 015 067 075"},
		{reason: "output of the one in the other", in: one + two +
			"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\n" +
			"> a AGENT_OUTPUT t1 #2 chunk\n< AGENT_OUTPUT t1 #2 chunk in=one\nfence\n", broken: "002 039 082 139 140 141"},
		{reason: "the other's turn", in: one + two +
			"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\n> a INPUT_ACK t1\n" +
			"> a AGENT_OUTPUT t1 #2 chunk in=one\nfence\n", absent: "141 052"},
		{reason: "set up again", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n" + abc + next, kept: "069"},
		{reason: "set up again, old active agent", in: abc + "> user SWITCH_AGENT a>b\n< SWITCH_AGENT a>b\n" + abc + nextB,
			broken: "014 015 048 064 069"},
		{reason: "set up again, and nothing is owed any more", in: abc + "> user USER_INPUT #1\n" + abc + "fence\n"},
		{reason: "set up again, earlier findings stay", in: abc + "< SWITCH_AGENT a>b\n" + abc + "fence\n", broken: "065"},
		{reason: "no session_id where there is one session", in: abc +
			"> user USER_INPUT #1\n< USER_INPUT @a t1 #1 -session_id\n< TURN_ACCEPTED t1 of=a -session_id\nfence\n",
			kept: "075 076"},
		{reason: "no session_id where there are two", in: one + two +
			"> user USER_INPUT #1\n< USER_INPUT @a t1 #1 -session_id\nfence\n", broken: "001 013 015 067 075"},
		{reason: "a session never set up", in: abc +
			"< SWITCH_AGENT a>b in=other\n> user USER_INPUT #1 in=other\nfence\n"},
		{reason: "nothing was set up", in: "> user USER_INPUT #1\n< USER_INPUT @a t1 #1\nfence\n"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) { compare(t, r) })
	}
}

// TestFences checks that owed messages are due by the next fence, or by a quiet window instead.
func TestFences(t *testing.T) {
	const lost = abc + "> user USER_INPUT #1\n"
	rows := []row{
		{reason: "none yet", in: lost},
		{reason: "asked", in: lost + "ask f\n"},
		{reason: "answered", in: lost + "ask f\nfenced f\n", broken: "001 013 015 067 075"},
		{reason: "another one is answered", in: lost + "ask f\nfenced g\n"},
		{reason: "asked before the input", in: abc + "ask f\n> user USER_INPUT #1\nfenced f\n"},
		{reason: "two, answered one after the other", in: abc +
			"ask f\n> user USER_INPUT #1\nask g\nfenced f\n< USER_INPUT @a t1 #1\n< TURN_ACCEPTED t1 of=a\nfenced g\n",
			kept: "075"},
		{reason: "a quiet window after it", in: lost + "quiet 3\n", broken: "001 013 015 067 075"},
		{reason: "a quiet window before it", in: lost + "quiet 2\n"},
		{reason: "a quiet window that cannot be read", in: lost + "quiet x\n"},
		{reason: "reported once", in: lost + "fence\nfence\n", broken: "001 013 015 067 075"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) { compare(t, r) })
	}
}

// TestRead checks that records other than messages are not read as messages.
func TestRead(t *testing.T) {
	data := map[string]any{EventName: vocab.Control, Subtype: vocab.Cancel, From: "agent-a", Target: vocab.ToSystem,
		Chunk: true, Final: "true", Turn: 7}
	frame := func(change func(*transcript.Record)) transcript.Record {
		r := transcript.Record{N: 3, Kind: transcript.Frame, Dir: transcript.Sent,
			Event: &transcript.Event{Type: "CONTROL CANCEL", Data: data}}
		change(&r)
		return r
	}
	for reason, r := range map[string]transcript.Record{
		"no event":               frame(func(r *transcript.Record) { r.Event = nil }),
		"no frame":               frame(func(r *transcript.Record) { r.Kind = transcript.Closed }),
		"a fence":                frame(func(r *transcript.Record) { r.Event.Type = FenceFrame }),
		"data that is no object": frame(func(r *transcript.Record) { r.Event = &transcript.Event{Data: []any{}} }),
	} {
		if m, ok := Read(r); ok {
			t.Errorf("%s is read as %+v", reason, m)
		}
	}
	m, ok := Read(frame(func(*transcript.Record) {}))
	want := Message{N: 3, Delivered: true, Event: vocab.Control, Subtype: vocab.Cancel, From: "agent-a",
		Target: vocab.ToSystem, Chunk: true, Data: data}
	if diff := cmp.Diff(want, m); diff != "" || !ok {
		t.Errorf("read %v; want(-) got(+):\n%s", ok, diff)
	}
	if m, _ := Read(frame(func(r *transcript.Record) { r.Label = Back + "CONTROL CANCEL" })); m.From != Self {
		t.Errorf("what comes back is from %q", m.From)
	}
	if data[From] != "agent-a" {
		t.Error("Read has changed the record")
	}
}

// TestKind checks that each kind is recognised by event, subtype and target, and by nothing else.
func TestKind(t *testing.T) {
	for _, r := range []struct {
		event, subtype, target string
		want                   Kind
	}{
		{vocab.UserInput, "", vocab.ToAgent, Route},
		{vocab.UserInput, vocab.Mention, vocab.ToAgent, Route},
		{vocab.UserInput, "", vocab.ToSystem, Other},
		{vocab.Event, vocab.TurnAccepted, vocab.ToFrontend, Accepted},
		{vocab.Control, vocab.TurnAccepted, vocab.ToFrontend, Accepted},
		{vocab.Event, vocab.TurnAccepted, vocab.ToBroadcast, Other},
		{vocab.Error, vocab.RouteTimeout, vocab.ToFrontend, RouteTimeout},
		{vocab.Error, vocab.RouteTimeout, vocab.ToSystem, Other},
		{vocab.Event, vocab.RouteTimeout, vocab.ToFrontend, Notice},
		{vocab.AgentOutput, "", vocab.ToFrontend, Output},
		{vocab.AgentOutput, "", vocab.ToLogger, Other},
		{vocab.Control, vocab.Cancel, vocab.ToAgent, CancelSent},
		{vocab.Control, vocab.Cancel, vocab.ToFrontend, Other},
		{vocab.Event, vocab.Canceled, vocab.ToFrontend, Canceled},
		{vocab.Control, vocab.SwitchAgent, vocab.ToSystem, Switch},
		{vocab.Control, vocab.SwitchAgent, vocab.ToBroadcast, Switch},
		{vocab.Control, vocab.SwitchAgent, vocab.ToFrontend, Switch},
		{vocab.Event, vocab.SwitchAgent, vocab.ToFrontend, Notice},
		{vocab.Control, vocab.RequestAddAgent, vocab.ToSystem, RequestAdd},
		{vocab.Control, vocab.RequestRemoveAgent, vocab.ToSystem, RequestRemove},
		{vocab.Control, vocab.RequestRemoveAgent, vocab.ToBroadcast, Other},
		{vocab.Control, vocab.RequestSessionOpen, vocab.ToSystem, RequestOpen},
		{vocab.Control, vocab.RequestSessionClose, vocab.ToSystem, RequestClose},
		{vocab.Event, vocab.AgentAdded, vocab.ToFrontend, Added},
		{vocab.Event, vocab.AgentRemoved, vocab.ToFrontend, Removed},
		{vocab.Error, vocab.RemoveAgentFailed, vocab.ToFrontend, RemoveFailed},
		{vocab.Control, vocab.RemoveAgentFailed, vocab.ToFrontend, Other},
		{vocab.Control, vocab.HandoverUIPrompt, vocab.ToFrontend, Prompt},
		{vocab.Control, vocab.HandoverContext, vocab.ToAgent, Context},
		{vocab.Event, vocab.SessionOpened, vocab.ToFrontend, Opened},
		{vocab.Event, vocab.SessionClosed, vocab.ToFrontend, Closed},
		{vocab.Error, "", vocab.ToFrontend, Failure},
		{vocab.Error, "ANY", vocab.ToFrontend, Failure},
		{vocab.Error, "ANY", vocab.ToSystem, Other},
		{vocab.Event, "ANY", vocab.ToFrontend, Notice},
		{"", "", "", Other},
	} {
		m := Message{Event: r.event, Subtype: r.subtype, Target: r.target}
		if got := m.Kind(); got != r.want {
			t.Errorf("%s is %q, want %q", m.Name(), got, r.want)
		}
	}
}

func TestName(t *testing.T) {
	for want, m := range map[string]Message{
		"CONTROL CANCEL to AGENT a": {Event: vocab.Control, Subtype: vocab.Cancel, Target: vocab.ToAgent, TargetID: "a"},
		"AGENT_OUTPUT to FRONTEND":  {Event: vocab.AgentOutput, Target: vocab.ToFrontend},
		"CONTROL":                   {Event: vocab.Control},
		"":                          {},
	} {
		if got := m.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestToken(t *testing.T) {
	for _, r := range []struct {
		in   any
		want string
	}{
		{nil, ""}, {"plain", ""}, {"#1", ""}, {"# 1-n", ""},
		{"what about #12-n0-x?", "#12-n0-x"},
		{map[string]any{"a": []any{nil, map[string]any{"b": "c #3-n."}}}, "#3-n"},
		{map[string]any{"#4-n": true}, "#4-n"},
		{"#5-n and #6-n", "#5-n"},
	} {
		if got := Token(r.in); got != r.want {
			t.Errorf("the mark of %v is %q, want %q", r.in, got, r.want)
		}
	}
}

func TestMentions(t *testing.T) {
	m := Message{Payload: map[string]any{"a": []any{"for agent-b"}}, Metadata: map[string]any{"agent": "agent-c"},
		TargetID: "agent-d", AgentID: "agent-f"}
	for text, want := range map[string]bool{"agent-b": true, "agent-c": true, "agent-d": true, "agent-f": true,
		"agent-e": false, "": false} {
		if got := Mentions(m, text); got != want {
			t.Errorf("it mentions %q: %v", text, got)
		}
	}
}

func TestTellsOfSession(t *testing.T) {
	for _, r := range []struct {
		event, subtype, target, receipt string
		want                            bool
	}{
		{vocab.Event, vocab.SessionOpened, vocab.ToFrontend, vocab.SessionOpened, true},
		{vocab.Event, "SESSION_IS_OPENED", vocab.ToFrontend, vocab.SessionOpened, true},
		{vocab.Event, "OPENED", vocab.ToFrontend, vocab.SessionOpened, true}, // its name is left open
		{vocab.Event, "", vocab.ToFrontend, vocab.SessionOpened, true},
		{vocab.Event, vocab.SessionClosed, vocab.ToFrontend, vocab.SessionOpened, false},
		{vocab.Event, vocab.AgentAdded, vocab.ToFrontend, vocab.SessionOpened, false},
		{vocab.Event, vocab.ActiveChanged, vocab.ToFrontend, vocab.SessionOpened, false},
		{vocab.Event, vocab.AgentStarted, vocab.ToFrontend, vocab.SessionFailed, false},
		{vocab.Event, vocab.SessionOpened, vocab.ToSystem, vocab.SessionOpened, false},
		{vocab.Control, vocab.SessionOpened, vocab.ToFrontend, vocab.SessionOpened, false},
		{vocab.Error, vocab.SessionOpened, vocab.ToFrontend, vocab.SessionOpened, false},
		{vocab.Error, "", vocab.ToFrontend, vocab.SessionFailed, true},
		{vocab.Event, "OPEN_FAILED", vocab.ToFrontend, vocab.SessionFailed, true},
		{vocab.Event, vocab.SessionOpened, vocab.ToFrontend, vocab.SessionFailed, false},
		{vocab.Event, vocab.SessionClosed, vocab.ToFrontend, vocab.SessionClosed, true},
	} {
		m := Message{Event: r.event, Subtype: r.subtype, Target: r.target}
		if got := TellsOfSession(m, r.receipt); got != r.want {
			t.Errorf("%s tells of %s: %v", m.Name(), r.receipt, got)
		}
	}
}

// TestClip checks that a rendered value is bounded, and cut between characters.
func TestClip(t *testing.T) {
	if got := clip(strings.Repeat("字", 100)); len(got) > 204 || !strings.HasSuffix(got, "字…") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := clip("short"); got != `"short"` {
		t.Error(got)
	}
}

// long returns a transcript with the given number of records, in which everything happens in turn.
func long(t testing.TB, records int) []transcript.Record {
	var b strings.Builder
	b.WriteString("set main a,b,c a\n")
	turn := "> user USER_INPUT #%[1]d\n< USER_INPUT @a t%[1]d #%[1]d\n< TURN_ACCEPTED t%[1]d of=a\n" +
		"> a INPUT_ACK t%[1]d\n" +
		"> a AGENT_OUTPUT t%[1]d #%[2]d chunk\n< AGENT_OUTPUT t%[1]d #%[2]d chunk\n"
	for n := 1; n*20 <= records; n++ {
		fmt.Fprintf(&b, turn+"> a AGENT_OUTPUT t%[1]d #%[3]d final\n< AGENT_OUTPUT t%[1]d #%[3]d final\nfence\n", n*10+1,
			n*10+2, n*10+3)
		fmt.Fprintf(&b, turn+"> user CANCEL\n< CANCEL @a t%[1]d\n> a CANCEL_ACK t%[1]d\n< CANCELED t%[1]d\n", n*10+4, n*10+5)
	}
	return script(t, b.String())
}

func TestLong(t *testing.T) {
	if _, broken, _ := summed(Judge(long(t, 400))); len(broken) > 0 {
		t.Errorf("broken: %v", broken)
	}
}

// BenchmarkJudge judges transcripts of several sizes: the time per record should not grow with them.
func BenchmarkJudge(b *testing.B) {
	for _, size := range []int{60, 500, 2000, 8000} {
		b.Run(fmt.Sprintf("%d-records", size), func(b *testing.B) {
			records := long(b, size)
			var found []verdict.Finding
			b.ReportAllocs()
			for b.Loop() {
				found = Judge(records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/record")
			if _, broken, _ := summed(found); len(broken) > 0 {
				b.Fatal(broken)
			}
		})
	}
}

// TestBehindTheFence checks that a message that comes after its fence is reported as late, not as missing.
func TestBehindTheFence(t *testing.T) {
	for _, f := range Judge(script(t,
		abc+"> user USER_INPUT #1\n< USER_INPUT @a t1 #1\nfence\n> a INPUT_ACK t1\n+ 2ms\n< TURN_ACCEPTED t1 of=a\n")) {
		const want = "it came 2.0 ms after the fence (record 6), as record 8: does the adapter answer before pending " +
			"tasks have run?"
		if !f.OK && f.Observed != want {
			t.Errorf("observed is %q", f.Observed)
		}
	}
}
