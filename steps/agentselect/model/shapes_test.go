package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Pieces of transcripts.
const (
	general  = `{"id":"general","name":"General","description":"d"}`
	debugger = `{"id":"debugger","name":"Debugger","description":"d"}`
	agents   = `[` + general + `,` + debugger + `]`
	listed   = `< agent_list {"agents":` + agents + `,"currentAgentId":"general"}`
	switched = `< agent_switched {"previousAgentId":"general","currentAgentId":"debugger","agentName":"Debugger"}`
	ask1     = `> switch_agent {"agentId":"debugger"}`
)

// notFound returns the error that answers a switch to an unknown agent.
func notFound(rest string) string {
	return `< error {"errorCode":"agent_not_found","message":"Invalid agent ID: x"` + rest + `}`
}

// inRuns has, for every clause of every monitor of runs, a transcript that keeps it and one that breaks it.
var inRuns = []struct {
	reason string
	in     string
	kept   string // clauses
	broken string
}{
	{"a list as it should be", "A " + listed, "AS-083 AS-113 AS-114 AS-115 AS-117 AS-118", ""},
	{"no agent is current yet", `A < agent_list {"agents":[],"currentAgentId":null}`, "AS-083 AS-117 AS-118", ""},
	{"no agents", `A < agent_list {"currentAgentId":"general"}`, "AS-118", "AS-083 AS-117"},
	{"agents that are no array", `A < agent_list {"agents":{"general":{}},"currentAgentId":"general"}`, "AS-118",
		"AS-083 AS-117"},
	{"no data", `A < agent_list`, "", "AS-083 AS-117 AS-118"},
	{"data that is not an object", `A < agent_list [1]`, "", "AS-083 AS-117 AS-118"},
	{"no current agent", `A < agent_list {"agents":[]}`, "AS-117", "AS-083 AS-118"},
	{"a current agent that is not a string", `A < agent_list {"agents":[],"currentAgentId":1}`, "AS-083 AS-117", "AS-118"},
	{"an agent without an id", `A < agent_list {"agents":[{"name":"n","description":"d"}],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-114 AS-115", "AS-113"},
	{"an id in upper case",
		`A < agent_list {"agents":[{"id":"General","name":"n","description":"d"}],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-114 AS-115", "AS-113"},
	{"an id that ends in a line break",
		`A < agent_list {"agents":[{"id":"general\n","name":"n","description":"d"}],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-114 AS-115", "AS-113"},
	{"an id that is given twice", `A < agent_list {"agents":[` + general + `,` + general + `],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-114 AS-115", "AS-113"},
	{"an agent without a name", `A < agent_list {"agents":[{"id":"a","description":"d"}],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-113 AS-115", "AS-114"},
	{"a null description", `A < agent_list {"agents":[{"id":"a","name":"n","description":null}],"currentAgentId":null}`,
		"AS-083 AS-117 AS-118 AS-113 AS-114", "AS-115"},
	{"an agent that is a string", `A < agent_list {"agents":["general"],"currentAgentId":null}`, "AS-118",
		"AS-083 AS-117"},
	{"one bad list breaks what a good one kept", "A " + listed + "\nB " + `< agent_list {"agents":[]}`,
		"AS-113 AS-114 AS-115 AS-117", "AS-083 AS-118"},

	{"a switch as it should be", "A " + switched, "AS-084 AS-119", ""},
	{"a switch without the name", `A < agent_switched {"previousAgentId":"general","currentAgentId":"debugger"}`, "",
		"AS-084 AS-119"},
	{"a switch from null", `A < agent_switched {"previousAgentId":null,"currentAgentId":"debugger","agentName":"D"}`, "",
		"AS-084 AS-119"},
	{"a numeric name", `A < agent_switched {"previousAgentId":"general","currentAgentId":"debugger","agentName":7}`,
		"AS-084", "AS-119"},

	{"an error as it should be", "A " + notFound(`,"availableAgents":`+agents),
		"AS-085 AS-120 AS-121 AS-122 AS-051 AS-124 AS-113 AS-114 AS-115", ""},
	{"an error that needs no list", `A < error {"errorCode":"agent_busy","message":"m"}`, "AS-085 AS-120 AS-121", ""},
	{"a list where none is needed is judged too", `A < error {"errorCode":"agent_busy","message":"m","availableAgents":` +
		agents + `}`, "AS-085 AS-120 AS-121 AS-122 AS-124 AS-113 AS-114 AS-115", ""},
	{"a list where none is needed, in a wrong form",
		`A < error {"errorCode":"agent_busy","message":"m","availableAgents":["general"]}`, "AS-085 AS-120 AS-121",
		"AS-122 AS-124"},
	{"no list where one is needed", "A " + notFound(""), "AS-085 AS-120 AS-121", "AS-122 AS-051 AS-124"},
	{"an invalid list", "A " + notFound(`,"availableAgents":null`), "AS-085 AS-120 AS-121", "AS-122 AS-051 AS-124"},
	{"a list of agents without descriptions", "A " + notFound(`,"availableAgents":[{"id":"a","name":"n"}]`),
		"AS-085 AS-120 AS-121 AS-113 AS-114", "AS-122 AS-051 AS-124 AS-115"},
	{"an error without a message", `A < error {"errorCode":"agent_busy"}`, "AS-120", "AS-085 AS-121"},
	{"a message that is an object", `A < error {"errorCode":"agent_busy","message":{}}`, "AS-085 AS-120", "AS-121"},

	{"the name of the list", "A " + listed + "\nA " + switched,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119 AS-045", ""},
	{"another name", "A " + listed + "\nA " + strings.Replace(switched, `"Debugger"`, `"debugger"`, 1),
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", "AS-045"},
	{"the name of the latest list",
		"A " + strings.ReplaceAll(listed, "Debugger", "Old") + "\nA " + listed + "\nA " + switched,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119 AS-045", ""},
	{"another client's list says nothing", "B " + listed + "\nA " + switched,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", ""},
	{"names that cannot be compared by Go",
		`A < agent_list {"agents":[{"id":"debugger","name":{},"description":"d"}],"currentAgentId":null}` + "\n" +
			`A < agent_switched {"previousAgentId":"general","currentAgentId":"debugger","agentName":{}}`,
		"AS-083 AS-113 AS-115 AS-117 AS-118 AS-084 AS-045", "AS-114 AS-119"},
	{"the configuration was changed in between", "A " + listed + "\n- hook change-agent\nA " + strings.Replace(switched,
		`"Debugger"`, `"New"`, 1),
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", ""},

	{"the agents of the list", "A " + listed + "\nA " + notFound(`,"availableAgents":[`+debugger+`,`+general+`]`),
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-085 AS-120 AS-121 AS-122 AS-051 AS-124 AS-052", ""},
	{"one agent less", "A " + listed + "\nA " + notFound(`,"availableAgents":[`+debugger+`]`),
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-085 AS-120 AS-121 AS-122 AS-051 AS-124", "AS-052"},
	{"the agents were changed in between", "A " + listed + "\n- hook remove-agent\nA " +
		notFound(`,"availableAgents":[`+debugger+`]`),
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-085 AS-120 AS-121 AS-122 AS-051 AS-124", ""},

	{"each receives its own switch", "A " + ask1 + "\nB " + `> switch_agent {"agentId":"general"}` + "\nA " + switched,
		"AS-059 AS-095 AS-084 AS-119", ""},
	{"one receives the other's switch", "A " + ask1 + "\nB " + `> switch_agent {"agentId":"general"}` + "\nB " + switched,
		"AS-084 AS-119", "AS-059 AS-095"},
	{"both asked for the same", "A " + ask1 + "\nB " + ask1 + "\nB " + switched, "AS-059 AS-095 AS-084 AS-119", ""},
	{"unrequested", "A " + `> switch_agent {"agentId":"general"}` + "\nB " + `> switch_agent {"agentId":"general"}` +
		"\nB " + switched, "AS-059 AS-095 AS-084 AS-119", ""},
	{"a switch that names a session may be announced where that lives",
		"A " + `> switch_agent {"agentId":"debugger","sessionId":"s"}` + "\nB " + `> switch_agent {"agentId":"general"}` +
			"\nB " + switched, "AS-084 AS-119", ""},
	{"one that asks alone says nothing of others", "A " + ask1 + "\nA " + switched, "AS-084 AS-119", ""},

	{"the list comes before the answer", "A open\nA " + ask1 + "\nA " + listed + "\nA " + switched,
		"AS-106 AS-045 AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", ""},
	{"the answer comes before the list", "A open\nA " + ask1 + "\nA " + switched + "\nA " + listed,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", "AS-106"},
	{"a refusal comes before the list", "A open\nA " + ask1 + "\n" + `A < error {"errorCode":"agent_busy","message":"m"}` +
		"\nA " + listed,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-085 AS-120 AS-121", "AS-106"},
	{"only the first answer is judged", "A open\nA " + listed + "\nA " + switched + "\nA " + switched,
		"AS-106 AS-045 AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", ""},
	{"a new connection needs a list of its own", "A open\nA " + listed + "\nA " + switched + "\nA open\nA " + switched,
		"AS-045 AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", "AS-106"},
	{"another client's list does not help", "A open\nB open\nB " + listed + "\nA " + switched,
		"AS-083 AS-113 AS-114 AS-115 AS-117 AS-118 AS-084 AS-119", "AS-106"},

	{"nothing", "", "", ""},
	{"a connection without messages", "A open\nB open", "", ""},
	{"messages of the harness", "A open\nA " + ask1 +
		"\nA > agent_list {}\nA > agent_switched {}\nA > error {\"errorCode\":\"agent_busy\"}", "", ""},
	{"other events", "A open\n" + `A < connected {"connectionId":"c"}` + "\n" + `A < message {"content":"x"}` + "\n" +
		`A < presence {"currentAgentId":7}`, "", ""},
	{"an error that answers no switch", `A < error {"message":7}` + "\n" + `A < error {"errorCode":"turn_failed"}` +
		"\n" + `A < error {"errorCode":["agent_busy"]}` + "\n" + `A < error`, "", ""},
	{"remarks", "- hook add-agent\n- interop: agent_list", "", ""},
}

// judged sums up the findings of the monitors, as a scenario's result does.
func judged(records []transcript.Record) (kept, broken map[string]bool) {
	kept, broken = map[string]bool{}, map[string]bool{}
	for _, m := range All() {
		for _, f := range m.Check(records) {
			for _, id := range f.Clauses {
				if !slices.Contains(m.Clauses, id) {
					continue
				}
				if f.OK {
					kept[id] = true
				} else {
					broken[id] = true
				}
			}
		}
	}
	for id := range broken {
		delete(kept, id)
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

func TestMonitors(t *testing.T) {
	for _, r := range inRuns {
		t.Run(r.reason, func(t *testing.T) {
			kept, broken := judged(script(t, r.in))
			if diff := cmp.Diff(set(r.kept), kept); diff != "" {
				t.Errorf("kept; want(-) got(+):\n%s", diff)
			}
			if diff := cmp.Diff(set(r.broken), broken); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestEveryClauseIsKeptAndBroken checks that every clause can be kept and broken: a monitor that cannot fail proves
// nothing.
func TestEveryClauseIsKeptAndBroken(t *testing.T) {
	elsewhere := map[string]string{
		"AS-120": "an error whose code is not of section 4.2 is not known to answer a switch; the scenarios know, and " +
			"use SwitchError",
	}
	kept, broken := map[string]bool{}, map[string]bool{}
	for _, r := range inRuns {
		for id := range set(r.kept) {
			kept[id] = true
		}
		for id := range set(r.broken) {
			broken[id] = true
		}
	}
	for _, m := range All() {
		if m.Name == FoundBySteps { // it reports what steps have found
			continue
		}
		for _, id := range m.Clauses {
			if !kept[id] {
				t.Errorf("%s: no transcript keeps %s", m.Name, id)
			}
			if !broken[id] && elsewhere[id] == "" {
				t.Errorf("%s: no transcript breaks %s", m.Name, id)
			}
		}
	}
}

func TestMonitorsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.Name] || !regexp.MustCompile(`\A[a-z]+(-[a-z]+)*\z`).MatchString(m.Name) {
			t.Errorf("%q is no name, or not the only one", m.Name)
		}
		seen[m.Name] = true
		if len(m.Clauses) == 0 || m.Text == "" || m.Check == nil {
			t.Errorf("%s lacks clauses, a text or a check", m.Name)
		}
	}
}

// TestFindingsTell checks that a broken clause is reported with the expectation, the observation and the record.
func TestFindingsTell(t *testing.T) {
	for _, r := range inRuns {
		records := script(t, r.in)
		for _, m := range All() {
			for _, f := range m.Check(records) {
				if len(f.Clauses) == 0 || f.Expected == "" || (f.Observed == "") != f.OK || f.At < 1 || f.At > len(records) {
					t.Errorf("%s: %s says %+v", r.reason, m.Name, f)
				}
			}
		}
	}
}

func TestSwitchError(t *testing.T) {
	rows := []struct {
		reason, in string
		broken     string
	}{
		{"as it should be", `A < error {"errorCode":"agent_busy","message":"m"}`, ""},
		{"no code", `A < error {"message":"m"}`, "AS-085 AS-120"},
		{"a null code", `A < error {"errorCode":null,"message":"m"}`, "AS-085 AS-120"},
		{"a numeric code", `A < error {"errorCode":404,"message":"m"}`, "AS-120"},
		{"a code that no section names", `A < error {"errorCode":"nope","message":"m"}`, "AS-120"},
		{"no data", `A < error`, "AS-085 AS-087 AS-088 AS-089 AS-090 AS-091 AS-120 AS-121"},
		{"a list in a wrong form", `A < error {"errorCode":"invalid_agent_id","message":"m","availableAgents":{}}`,
			"AS-072 AS-122 AS-124"},
		{"and with another code", `A < error {"errorCode":"invalid_agent_id_format","message":"m","availableAgents":{}}`,
			"AS-075 AS-122 AS-124"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			broken := map[string]bool{}
			for _, f := range SwitchError(script(t, r.in)[0]) {
				for _, id := range f.Clauses {
					if !f.OK {
						broken[id] = true
					}
				}
			}
			if diff := cmp.Diff(set(r.broken), broken); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestISOTime(t *testing.T) {
	for text, want := range map[string]bool{
		"2025-12-30T15:30:00.000Z": true, "2025-12-30T15:30:00Z": true, "2025-12-30T15:30:00.1Z": true,
		"2025-12-30 15:30:00Z": false, "2025-12-30T15:30:00": false, "2025-12-30T15:30:00+01:00": false,
		"2025-12-30T15:30:00Z\n": false, "": false,
	} {
		if got := ISOTime.MatchString(text); got != want {
			t.Errorf("%q is a time: %v", text, got)
		}
	}
}

// FuzzMonitors checks that monitors never panic, whatever a target sends.
func FuzzMonitors(f *testing.F) {
	f.Add(`{"agents":[{"id":"a","name":{}}],"currentAgentId":[]}`, `{"currentAgentId":"a","agentName":{}}`,
		`{"errorCode":{},"availableAgents":[[],null]}`)
	f.Add(`[]`, `null`, `"x"`)
	f.Fuzz(func(t *testing.T, list, switched, failed string) {
		var records []transcript.Record
		for i, text := range []string{list, switched, failed, switched} {
			data, _, err := wjson.Decode([]byte(text))
			if err != nil {
				return
			}
			kind := []string{vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent, vocab.SwitchAgentType}[i]
			dir := transcript.Received
			if kind == vocab.SwitchAgentType {
				dir = transcript.Sent
			}
			for _, conn := range []string{"A", "B"} {
				records = append(records, transcript.Record{N: len(records) + 1, Conn: conn, Dir: dir, Kind: transcript.Stream,
					Event: &transcript.Event{Type: kind, Data: data}})
			}
		}
		for _, m := range All() {
			m.Check(records)
		}
	})
}

// BenchmarkMonitors judges the transcript of a long scenario.
func BenchmarkMonitors(b *testing.B) {
	one := fmt.Sprintf("A open\nA %s\nA %s\nA %s\n", listed, ask1, switched)
	records := script(&testing.T{}, strings.Repeat(one, 100))
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range All() {
			m.Check(records)
		}
	}
}
