package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

const (
	ask1  = "A > chat red: [[echo x-1]]\n"
	ask2  = "A > chat red: [[echo x-2]]\n"
	blue  = "A > chat blue: [[echo x-3]]\n"
	three = "A > chat red: Hi\nA > chat Red: Hi\nA > chat blue: Hi\n"
	rests = "- " + Resumes + ": the target was stopped and started again\n"
	idle  = "- " + Idle + "1m0s\n"

	interrupted = `A < result {"agent_id":"red","session_id":"s-1","subtype":"interrupted"}` + "\n"
)

// subjects groups the clauses of the model, for the rows of a table.
var subjects = map[string]string{
	"session-message-shape":  "SC-038 SC-039 SC-040 SC-043 SC-044",
	"session-id-stays":       "SC-042 SC-056",
	"session-ids-differ":     "SC-027",
	"own-agent-id":           "SC-021 SC-041",
	"nothing-behind-the-end": "SC-020",
	"said-once":              "SC-020",

	"continuation": "SC-002 SC-003 SC-005 SC-006 SC-016a SC-028 SC-031 SC-037 SC-050 SC-057",
	"beginning":    "SC-001 SC-002 SC-003 SC-004 SC-009 SC-017 SC-027 SC-046 SC-047 SC-055 SC-057 SC-060",
	"errors":       "SC-038 SC-039 SC-042",

	"one-session-per-agent-id": "SC-006 SC-009 SC-027 SC-028 SC-042 SC-050 SC-056",
	"chats-answered":           "SC-005 SC-013 SC-021 SC-032 SC-032a SC-033 SC-034 SC-041 SC-060",
	"sessions-side-by-side":    "SC-004 SC-024 SC-025 SC-026 SC-052 SC-057",
	"one-end":                  "SC-020",
	"pieces-in-order":          "SC-012 SC-020",
	"idle-at-first":            "SC-001 SC-002 SC-045 SC-054 SC-055",
	"no-crossing":              "SC-001",
	"heartbeats":               "SC-037 SC-037a",
	"incomplete-chats":         "SC-029 SC-030 SC-031",
	"interrupts":               "SC-035 SC-036",
}

// judged sums up the findings on a subject, "" for all that the monitors of a run judge.
func judged(o obligation.Observer, subject string, records []transcript.Record) (kept, broken map[string]bool) {
	kept, broken = map[string]bool{}, map[string]bool{}
	about := set(subjects[subject])
	if subject == "" {
		for _, m := range All() {
			maps.Copy(about, set(strings.Join(m.Clauses, " ")))
		}
	}
	for _, f := range obligation.Judge(New(o), records) {
		for _, id := range f.Clauses {
			if !about[id] {
				continue
			}
			if f.OK {
				kept[id] = true
			} else {
				broken[id] = true
			}
		}
	}
	if o == obligation.Ours {
		for id := range broken {
			delete(kept, id)
		}
	}
	return kept, broken
}

func set(ids string) map[string]bool {
	out := map[string]bool{}
	for _, id := range strings.Fields(ids) {
		out[id] = true
	}
	return out
}

func TestModel(t *testing.T) {
	for o, rows := range map[obligation.Observer][]row{obligation.Ours: rows, obligation.Foreign: foreign} {
		for _, r := range rows {
			t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
				kept, broken := judged(o, r.subject, script(t, r.in))
				if diff := cmp.Diff(set(r.kept), kept); diff != "" {
					t.Errorf("kept; want(-) got(+):\n%s", diff)
				}
				if diff := cmp.Diff(set(r.broken), broken); diff != "" {
					t.Errorf("broken; want(-) got(+):\n%s", diff)
				}
			})
		}
	}
}

// TestForms checks every form of every member, for each message type of a turn.
func TestForms(t *testing.T) {
	members := []struct{ clause, name, fine string }{
		{"SC-038", "agent_id", `"text" ""`},
		{"SC-039", "session_id", `"text" "" null`},
		{"SC-040", "message_type", `"text"`},
		{"SC-043", "message", `{} {"a":null}`},
		{"SC-044", "timestamp", `"text" ""`},
	}
	forms := strings.Fields(`missing null "text" "" 7 true [] ["text"] {} {"a":null}`)
	for _, kind := range []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		for _, m := range members {
			for _, form := range forms {
				data := whole(kind)
				delete(data, m.name)
				if form != "missing" {
					v, _, err := wjson.Decode([]byte(form))
					if err != nil {
						t.Fatal(err)
					}
					data[m.name] = v
				}
				records := script(t, ask1+"A < "+kind+" "+wjson.Compact(data))
				want := ""
				if !slices.Contains(strings.Fields(m.fine), form) {
					want = m.clause
				}
				if _, broken := judged(obligation.Ours, "session-message-shape", records); !cmp.Equal(set(want), broken) {
					t.Errorf("%s of a %s is %s: broken %v, want %q", m.name, kind, form, broken, want)
				}
			}
		}
	}
}

// each returns messages of a type, one per text.
func each(kind string, list []string) string {
	var b strings.Builder
	for _, w := range list {
		b.WriteString("A < " + kind + " red s-1: " + w + "\n")
	}
	return b.String()
}

// grown returns the prefixes of a text, each one letter longer.
func grown(text string) []string {
	var out []string
	for i := range text {
		out = append(out, text[:i+1])
	}
	return out
}

// TestLegalStreams checks that no monitor objects to any legal form of the model's words.
func TestLegalStreams(t *testing.T) {
	const end = "A < result red s-1: \n"
	ask := "A > chat red: [[stream x-1 3]]\n"
	words := []string{"stream x-1 1/3 ", "stream x-1 2/3 ", "stream x-1 3/3 "}
	all := strings.Join(words, "")
	chars, soFar, longer := strings.Split(all, ""), grown(all), strings.ReplaceAll(all, "x-1", "x-11")
	blueSays := func(list []string) string {
		return strings.ReplaceAll(each("stream", list), " red s-1: ", " blue s-2: ")
	}
	for _, r := range []struct{ reason, in string }{
		{"one by one", ask + each("stream", words) + end},
		{"and the whole", ask + each("stream", words) + each("assistant", []string{all}) + end},
		{"character by character", ask + each("stream", chars) + each("assistant", []string{all}) + end},
		{"the text so far", ask + each("stream", soFar) + each("assistant", []string{all}) + end},
		{"assistant messages with the text so far", ask + each("assistant", soFar) + end},
		{"the whole only", ask + each("assistant", []string{all}) + end},
		{"several assistant messages", ask + each("assistant", words) + end},
		{"in the result only", ask + "A < result red s-1: " + all},
		{"nothing but a result", ask + end},
		{"interrupted", ask + each("stream", words[:1]) + "A > interrupt {\"agent_id\":\"red\"}\n" + end},
		{"the model fails", ask + "A < error red s-1: failing x-1 as asked\n" + end},
		{"the id arrives with the second message", ask + "A < system red null: \n" + each("stream", words) + end},
		{"messages of other types anywhere",
			"A < hello {}\n" + ask + "A < usage {}\n" + each("stream", words[:2]) + "A < ping red null: x-1\n" +
				each("stream", words[2:]) + end + "A < usage red null: x-1\n"},
		{"another client's session is broadcast",
			ask + "A < system green s-7: \n" + `A < result {"agent_id":"green"}` + "\n" + each("stream", words) +
				"A < stream green s-8: hm\n" + end},
		{"two sessions at once", ask + blue + each("stream", words[:1]) + "A < stream blue s-2: x-3\n" +
			each("stream", words[1:]) + end + "A < result blue s-2: \n"},
		{"two sessions at once, character by character, where one nonce is a prefix of the other",
			ask + "A > chat blue: [[stream x-11 3]]\n" + each("stream", chars) + blueSays(strings.Split(longer, "")) + end +
				"A < result blue s-2: \n"},
		{"the same as the text so far",
			ask + "A > chat blue: [[stream x-11 3]]\n" + each("stream", soFar) + blueSays(grown(longer)) + end +
				"A < result blue s-2: \n"},
		{"a greeting, and another one over the next connection",
			"A < system {}\n" + ask + each("stream", words) + end +
				`B < system {"agent_id":null,"session_id":null,"message":{}}` + "\n"},
		{"system messages that quote the user",
			ask + "A < system red s-1: [[stream x-1 3]]\n" + each("stream", words) + end +
				"A < system red s-1: title: [[stream x-1 3]]\n" + blue +
				"A < system blue s-2: red: x-1, blue: x-3\nA < assistant blue s-2: x-3\nA < result blue s-2: \n"},
		{"a recall", ask + each("stream", words) + end +
			"A > chat red: [[recall x-2]]\nA < stream red s-1: x-1 (1)\nA < assistant red s-1: x-1 (1)\n" + end},
		{"a rest, and a new id", idle + ask + each("stream", words) + end + "+ 50s\n" + ask2 +
			"A < system red null: \nA < stream red s-9: x-2 \nA < result red s-9: \n"},
		{"two turns", ask + each("stream", words) + end + ask2 + "A < stream red s-1: x-2\n" + end},
		{"a second connection takes over", ask + each("stream", words) + end +
			"A closed\nB open\nB > chat red: [[echo x-2]]\nB < stream red s-9: x-2\nB < result red s-9: \n"},
		{"a lost connection, with no more messages of its turn", ask + each("stream", words[:1]) +
			"A closed\nB open\nB > chat red: [[echo x-2]]\nB < stream red s-1: x-2\nB < result red s-1: \n"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if _, broken := judged(obligation.Ours, "", script(t, r.in)); len(broken) > 0 {
				t.Errorf("broken: %v\n%s", broken, r.in)
			}
		})
	}
}

// TestEveryClauseIsKeptAndBroken checks that every clause of a monitor can pass and fail: one that cannot fail proves
// nothing.
func TestEveryClauseIsKeptAndBroken(t *testing.T) {
	neither := set("SC-032 SC-032a SC-033 SC-034") // as accepting has them, which is told by the options
	for o, rows := range map[obligation.Observer][]row{obligation.Ours: rows, obligation.Foreign: foreign} {
		monitors := All()
		if o == obligation.Foreign {
			monitors = Foreign()
		}
		kept, broken, want := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, r := range rows {
			maps.Copy(kept, set(r.kept))
			maps.Copy(broken, set(r.broken))
		}
		for _, m := range monitors {
			maps.Copy(want, set(strings.Join(m.Clauses, " ")))
		}
		if o == obligation.Foreign {
			maps.DeleteFunc(want, func(id string, _ bool) bool { return neither[id] })
		}
		if o == obligation.Ours { // steps report the others
			notOurs := func(id string, _ bool) bool { return !want[id] }
			maps.DeleteFunc(kept, notOurs)
			maps.DeleteFunc(broken, notOurs)
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%v: clauses that no transcript keeps(-), or that no monitor has(+):\n%s", o, diff)
		}
		if diff := cmp.Diff(want, broken); diff != "" {
			t.Errorf("%v: clauses that no transcript breaks(-), or that no monitor has(+):\n%s", o, diff)
		}
	}
}

func TestMonitorsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range slices.Concat(All(), Foreign(), Client()) {
		if seen[m.Name] || !regexp.MustCompile(`\A[a-z]+(-[a-z]+)*\z`).MatchString(m.Name) {
			t.Errorf("%q is no name, or not the only one", m.Name)
		}
		seen[m.Name] = true
		if len(m.Clauses) == 0 || m.Text == "" || m.Check == nil {
			t.Errorf("%s lacks clauses, a text or a check", m.Name)
		}
	}
	for _, r := range slices.Concat(rows, foreign) {
		if subjects[r.subject] == "" {
			t.Errorf("%s: there is no subject %q", r.reason, r.subject)
		}
	}
}

// TestFindingsTell checks that a broken clause is reported with what was expected, observed, and where; and that
// monitors report only clauses that they declare.
func TestFindingsTell(t *testing.T) {
	for _, r := range slices.Concat(rows, foreign) {
		records := script(t, r.in)
		for _, m := range slices.Concat(All(), Foreign()) {
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

// TestWhere checks that a finding names the record that breaks the clause.
func TestWhere(t *testing.T) {
	for _, r := range []struct {
		subject, reason, in string
		at                  int
	}{
		{"session-message-shape", "the second message", ask1 + "A < system red s-1: \nA < stream {}", 3},
		{"session-id-stays", "the message with the other id",
			ask1 + "A < system red s-1: \nA < stream red s-1: \nA < result red s-2: ", 4},
		{"session-id-stays", "the message without it",
			ask1 + "A < system red s-1: \nA < stream red null: \nA < result red s-1: ", 3},
		{"session-ids-differ", "the later owner",
			ask1 + blue + "A < system red s-1: \nA < system blue s-1: \nA < result red s-1: ", 4},
		{"own-agent-id", "the misdirected words", ask1 + "A < stream red s-1: x-1 \nA < stream blue s-1: x-1 ", 3},
		{"nothing-behind-the-end", "the words after the end",
			ask1 + "A < stream red s-1: x-1 \nA < result red s-1: \nA < stream red s-1: x-1 ", 4},
	} {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			var at []int
			for _, f := range obligation.Judge(New(obligation.Ours), script(t, r.in)) {
				about := slices.ContainsFunc(f.Clauses, func(id string) bool { return set(subjects[r.subject])[id] })
				if about && !f.OK && !slices.Contains(at, f.At) {
					at = append(at, f.At)
				}
			}
			if diff := cmp.Diff([]int{r.at}, at); diff != "" {
				t.Errorf("records; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// FuzzMonitors checks that monitors judge any transcript without failing, and leave it unchanged.
func FuzzMonitors(f *testing.F) {
	f.Add(`{"agent_id":"red","session_id":"s","text":"x-1"}`, `{"agent_id":["red"],"session_id":{},"text":7}`,
		`{"agent_id":"red","content":"[[echo x-1]]"}`)
	f.Add(`[]`, `null`, `{"agent_id":{},"content":"[[echo x-1]] [[echo x-1]]"}`)
	f.Add(`{"agent_id":{},"text":"x-1"}`, `{"message":[],"session_id":""}`, `"chat"`)
	f.Fuzz(func(t *testing.T, one, other, chat string) {
		var data []any
		for _, text := range []string{one, other, chat} {
			v, _, err := wjson.Decode([]byte(text))
			if err != nil {
				return
			}
			data = append(data, v)
		}
		before := wjson.Compact(data)
		var records []transcript.Record
		add := func(dir transcript.Dir, kind string, v any) {
			records = append(records, transcript.Record{N: len(records) + 1, Conn: "A", Dir: dir, Kind: transcript.Frame,
				Event: &transcript.Event{Type: kind, Data: v}})
		}
		add(transcript.Sent, vocab.ChatType, data[2])
		for _, kind := range []string{"", vocab.SystemMessage, vocab.StreamMessage, vocab.ResultMessage,
			vocab.AssistantMessage, vocab.ErrorMessage, "x"} {
			add(transcript.Received, kind, data[0])
			add(transcript.Received, kind, data[1])
		}
		for _, m := range slices.Concat(All(), Foreign(), Client()) {
			for _, finding := range m.Check(records) {
				if finding.At < 1 || finding.At > len(records) || !finding.OK && finding.Observed == "" {
					t.Errorf("%s says %+v", m.Name, finding)
				}
			}
		}
		if after := wjson.Compact(data); after != before {
			t.Errorf("%s has become %s", before, after)
		}
	})
}

// BenchmarkMonitors judges the transcript of a long scenario.
func BenchmarkMonitors(b *testing.B) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "A > chat red: [[stream x-%[1]d 3]]\nA < system red s-1: \n%[2]sA < result red s-1: \n", i,
			strings.Repeat(fmt.Sprintf("A < stream red s-1: stream x-%d 1/3 \n", i), 3))
	}
	records := script(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range All() {
			m.Check(records)
		}
	}
}
