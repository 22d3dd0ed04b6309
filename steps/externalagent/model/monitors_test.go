package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// row is a transcript and the verdict on a subject. A clause in neither list must have no finding.
type row struct {
	subject string
	reason  string
	in      string
	kept    string // clauses
	broken  string
}

var rows = slices.Concat(envelopeRows, answerRows, replyRows, hostRows, errorRows, failureRows, agentRows, callRows,
	connectionRows)

func TestRuns(t *testing.T) {
	for _, r := range rows {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			kept, broken := judged(subjects[r.subject].judge(obligation.Ours, script(t, r.in)))
			if diff := cmp.Diff(set(r.kept), kept); diff != "" {
				t.Errorf("kept; want(-) got(+):\n%s", diff)
			}
			if diff := cmp.Diff(set(r.broken), broken); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestEveryClauseIsKeptAndBroken checks that each clause of a subject has a row in which it holds and one that breaks
// it, as otherwise it would prove nothing.
func TestEveryClauseIsKeptAndBroken(t *testing.T) {
	for name, of := range subjects {
		kept, broken := map[string]bool{}, map[string]bool{}
		for _, r := range rows {
			if r.subject == name {
				maps.Copy(kept, set(r.kept))
				maps.Copy(broken, set(r.broken))
			}
		}
		want := set(of.clauses)
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%s: clauses that no transcript keeps(-), or that are not its own(+):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, broken); diff != "" {
			t.Errorf("%s: clauses that no transcript breaks(-), or that are not its own(+):\n%s", name, diff)
		}
	}
	for _, r := range rows {
		if subjects[r.subject].role == "" {
			t.Errorf("%s: there is no subject %q", r.reason, r.subject)
		}
	}
}

// TestMonitors checks that a role's monitors have names and texts of their own, and that each clause has one judge, and
// a subject of the tests.
func TestMonitors(t *testing.T) {
	for observer, all := range map[string][]monitor.Monitor{"ours": All(), "foreign": append(Foreign(), passive()...)} {
		seen, judge := map[string]bool{}, map[string]string{}
		for _, m := range all {
			if seen[m.Name] || !regexp.MustCompile(`\A[a-z]+(-[a-z]+)*\z`).MatchString(m.Name) || m.Text == "" {
				t.Errorf("%q is not a name, or not the only one, or has no text", m.Name)
			}
			seen[m.Name] = true
			for _, id := range m.Clauses {
				at := m.Roles[0] + " " + id
				if judge[at] != "" {
					t.Errorf("%s: %s is judged by %s and %s", observer, at, judge[at], m.Name)
				}
				judge[at] = m.Name
			}
		}
		of := subjects
		if observer != "ours" {
			of = foreignSubjects
		}
		for name, s := range of {
			for id := range strings.FieldsSeq(s.clauses) {
				if judge[s.role+" "+id] == "" {
					t.Errorf("%s: no monitor judges %s of %s", observer, id, name)
				}
			}
		}
	}
}

// passive lists the monitors of runs that judge foreign traffic too.
func passive() []monitor.Monitor {
	return slices.DeleteFunc(All(), func(m monitor.Monitor) bool { return !m.Passive })
}

// TestNothingProvesNothing checks that no monitor keeps or breaks a clause if the target has sent nothing.
func TestNothingProvesNothing(t *testing.T) {
	ours := "- " + CodeAt + "/payload/code\n- " + CodesAt + "/payload/code\n" +
		`A > relay.join #j {"role":"agent","sessionId":"default"}` + "\n" +
		`A > tool.call #r1 {"toolName":"next","params":{},"reason":"r"}` + "\n" +
		`A > snapshot.state @r2 {"uiSpec":7}` + "\n" + `A > state.updated {"backendData":7}` + "\n" +
		"A > error {}\nA > tool.result {\"ok\":false}\nA > not JSON\nA > relay.joined @j {}\nA > session.started {}\n" +
		"A closed\n- the agent's process has ended: exit status 0\n"
	for reason, in := range map[string]string{"nothing": "", "what the harness sends": ours,
		"what the harness sends, twice": ours + ours} {
		for _, m := range append(All(), Foreign()...) {
			if found := m.Check(script(t, in)); len(found) > 0 {
				t.Errorf("%s: %s says %+v", reason, m.Name, found)
			}
		}
	}
	for _, m := range append(All(), Foreign()...) { // except for a connection, which the target opens
		if found := m.Check(script(t, "A open\nA closed")); len(found) > 0 && m.Name != "agent-course" {
			t.Errorf("a connection: %s says %+v", m.Name, found)
		}
	}
}

// TestFindingsTell checks that a finding says what was expected, what was observed, and where, and that it is about a
// clause that its monitor declares.
func TestFindingsTell(t *testing.T) {
	for _, r := range rows {
		records := script(t, r.in)
		for _, m := range All() {
			for _, f := range m.Check(records) {
				if len(f.Clauses) == 0 || f.At < 1 || f.At > len(records) || !f.OK && (f.Expected == "" || f.Observed == "") ||
					f.OK && f.Observed != "" {
					t.Errorf("%s: %s says %+v", r.reason, m.Name, f)
				}
				for _, id := range f.Clauses {
					if !slices.Contains(m.Clauses, id) {
						t.Errorf("%s: %s judges %s", r.reason, m.Name, id)
					}
				}
			}
		}
	}
}

var whereRows = []struct {
	subject, reason, in string
	at                  int
	has                 string
}{
	{"envelopes", "the second message", "A < user.message\nA < {}\nA < user.message", 2, "type is missing"},
	{"envelopes", "what is no JSON", "A < user.message\nA < hello", 2, "hello"},
	{"envelopes", "a value of another kind", `A < {"v":2,"type":"x","payload":{}}`, 1, "v is 2"},
	{"answers", "the answer to nobody", "A > tool.call #r1\nA < tool.result @r2", 2, `replyTo is "r2"`},
	{"agent-replies", "what it is", "A < snapshot.get\n" + `A < {"type":"snapshot.get","replyTo":1}`, 2, "replyTo is 1"},
	{"no-backend-data", "where the key stands",
		`A < state.updated {"uiSpec":{"items":[{"a":1},{"b~/":{"backendData":1}}]}}`, 1,
		"/payload/uiSpec/items/1/b~0~1/backendData"},
	{"host-messages", "the member", `A < session.started {"sessionId":7}`, 1, "payload.sessionId is 7"},
	{"host-messages", "the missing member", "A < session.started", 1, "payload.sessionId is missing"},
	{"errors", "the code", `A < error {"code":"NO","message":"m"}`, 1, `the code is "NO"`},
	{"one-answer", "the second answer", "A > tool.call #r1\nA < tool.result @r1\nA < error @r1", 3, "answer 2 to r1"},
	{"failures", "the code, and where it is looked for", "- " + CodesAt + "/payload/code /payload/error/code\n" +
		`A < tool.result {"ok":false,"code":"NO"}`, 2, `the code is "NO"`},
	{"failures", "no code", `A < tool.result {"ok":false}`, 1, "the code is null"},
	{"nothing-to-act-on", "the result", none + call1 + well, 3, "it was carried out"},
	{"agent-joins-first", "the hasty message", "A < relay.join #j\nA < snapshot.get #g\nA > relay.joined @j", 2,
		"not joined yet"},
	{"agent-messages", "the member", `A < tool.call {"toolName":"next","params":[],"reason":"r"}`, 1,
		"payload.params is []"},
	{"agent-ids", "the later one, and the earlier one", "A < relay.join #a\nA < snapshot.get #b\nA < snapshot.get #a", 3,
		"that of record 1"},
	{"agent-calls", "what is not announced", says("state.updated", movie) + calls("prev", `{}`), 2,
		`"prev" is not announced`},
	{"agent-calls", "the params", says("state.updated", movie) + calls("select", `{"itemId":"m9"}`), 2,
		`params {"itemId":"m9"}: `},
	{"agent-resynchronises", "the call", "A > session.started\nB < relay.join\n" +
		strings.ReplaceAll(calls("next", `{}`), "A", "B"), 3, "no snapshot"},
	{"agent-connection", "what it says on the older connection", "A open\nB open\n" + says("state.updated", movie) +
		asks + says("snapshot.state", movie) + speaks + says("state.updated", movie) + speaks, 6,
		"it uses A but has opened B: agent.message"},
	{"agent-connection", "the other relay session",
		"A < relay.join {\"sessionId\":\"a\"}\nB < relay.join {\"sessionId\":\"b\"}", 2, `payload.sessionId is "b"`},
}

// TestWhere checks that a finding names the record that breaks a clause, and the fault in it.
func TestWhere(t *testing.T) {
	for _, r := range whereRows {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			told := ""
			var at []int
			for _, f := range subjects[r.subject].judge(obligation.Ours, script(t, r.in)) {
				if !f.OK {
					told += f.Observed + "\n"
					if !slices.Contains(at, f.At) {
						at = append(at, f.At)
					}
				}
			}
			if diff := cmp.Diff([]int{r.at}, at); diff != "" {
				t.Errorf("records; want(-) got(+):\n%s", diff)
			}
			if !strings.Contains(told, r.has) {
				t.Errorf("%q is not in:\n%s", r.has, told)
			}
		})
	}
}

// FuzzMonitors checks that no input makes a monitor panic or change the transcript.
func FuzzMonitors(f *testing.F) {
	for _, r := range rows {
		f.Add(r.in)
	}
	f.Add(`A < {"v":{},"type":"session.ended","id":[],"replyTo":{},"payload":{"stateReset":{},"logFile":[]}}`)
	f.Add(`A > {"type":"state.updated","payload":{"toolSchema":[{"name":"a","parameters":{"type":7}}]}}` + "\n" +
		`A < {"type":"tool.call","payload":{"toolName":"a","params":7}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		if len(lines) > 4000 || strings.Contains(lines, "multipleOf") || strings.Count(lines, "ef") > 4 {
			t.Skip("schemas that are known to panic, or to take long, are those of toolschema")
		}
		var records []transcript.Record
		for line := range strings.SplitSeq(lines, "\n") {
			r := transcript.Record{N: len(records) + 1, Conn: "A", Kind: transcript.Frame, Dir: transcript.Received,
				Bytes: []byte(line)}
			conn, text, ok := strings.Cut(line, " ")
			if ok {
				r.Conn, r.Bytes = conn, []byte(strings.TrimLeft(text, "<> "))
			}
			switch {
			case strings.HasPrefix(text, ">"):
				r.Dir = transcript.Sent
			case text == "open":
				r.Kind = transcript.Open
			case text == "closed":
				r.Kind = transcript.Closed
			case conn == "-":
				r.Kind, r.Dir, r.Label = transcript.Remark, transcript.Noted, text
			}
			if r.Kind == transcript.Frame {
				decode(&r)
				if r.Event == nil { // a complete envelope in the short form of the seeds
					kind, rest, _ := strings.Cut(string(r.Bytes), " ")
					v, _, err := wjson.Decode([]byte(rest[max(0, strings.IndexByte(rest, '{')):]))
					if err == nil {
						r.Event = &transcript.Event{Type: kind, Data: v, RequestID: kind,
							Envelope: object{"type": kind, vocab.Payload: v, vocab.ReplyTo: rest}}
					}
				}
			}
			records = append(records, r)
		}
		before := fmt.Sprint(records)
		for _, m := range append(All(), Foreign()...) {
			for _, finding := range m.Check(records) {
				if finding.At < 1 || finding.At > len(records) || !finding.OK && finding.Observed == "" {
					t.Errorf("%s says %+v", m.Name, finding)
				}
			}
		}
		if after := fmt.Sprint(records); after != before {
			t.Errorf("%s has become %s", before, after)
		}
	})
}

// BenchmarkMonitors judges the transcript of a long scenario.
func BenchmarkMonitors(b *testing.B) {
	var text strings.Builder
	text.WriteString("A open\nA < relay.join #j {\"role\":\"agent\",\"sessionId\":\"s\"}\nA > relay.joined @j\nA < " +
		"session.start #s\nA > session.started @s\n" + says("state.updated", movie))
	for i := range 100 {
		fmt.Fprintf(&text, "A < tool.call #c%d "+
			"{\"toolName\":\"select\",\"params\":{\"itemId\":\"m1\"},\"reason\":\"r\"}\nA > tool.result @c%[1]d "+
			"{\"ok\":true}\n%s", i, says("state.updated", movie))
	}
	records := script(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range All() {
			m.Check(records)
		}
	}
}
