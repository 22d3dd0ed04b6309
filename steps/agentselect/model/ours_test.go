package model

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/steps/obligation"
)

// fourth is a list with one agent more.
var fourth = strings.TrimSuffix(three, "]") + `,{"id":"later","name":"Later","description":"d"}]`

// TestOurs checks what the model breaks in a run beyond what it breaks in foreign traffic.
func TestOurs(t *testing.T) {
	t.Parallel()
	const runs = "A - " + TurnRuns + "\n"
	const chat, ends = "A > chat {}\n", "A < complete {}\n"
	const own = `A > switch_agent {"agentId":"debugger","sessionId":"s-1"}` + "\n"
	ofB, onA := strings.ReplaceAll(own, "s-1", "s-2"), become("general", "debugger", "Debugger")
	busy := refuse("agent_busy", "Session has ongoing task")
	handed := begun + greetedB + load("B", "conn_2", "s-1", loadFine)
	inVain := begun + asks(`"debugger"`) + "A - " + InVain(AnswerTo(6), "no such message within 2s") + "\n"
	for _, row := range []struct{ reason, in, broken string }{
		{"carried out", begun + debug + back, ""},
		{"an agent that is not in the list", begun + asks(`"hacker"`) + become("general", "hacker", "Hacker"),
			"AS-049"},
		{"a listed agent not found", begun + asks(`"debugger"`) + refuse("agent_not_found", "Invalid agent ID: debugger"),
			"AS-012"},
		{"no answer", inVain, "AS-042"},
		{"an answer that comes late", inVain + become("general", "debugger", "Debugger"), "AS-042"},
		{"another wait in vain", begun + debug + "A - " + InVain(AnswerTo(99), "closed") + "\n", ""},
		{"nothing greets", "A open\nA - " + InVain("connected", "no such message within 2s") + "\n",
			"AC-110 AS-008 AS-030 AS-031 AS-033 AS-083 AS-105"},
		{"closed before the list", hello + "A closed\nA - " + InVain("agent_list", "closed") + "\n",
			"AC-110 AS-008 AS-016 AS-033 AS-083 AS-105 AS-117"},
		{"while a turn runs", begun + "A > chat {}\n" + runs + asks(`"debugger"`) + become("general", "debugger", "Debugger"),
			"AC-077 AS-013 AS-053 AS-054 AS-064 AS-065 AS-066 AS-085 AS-090 AS-109 AS-110 AS-111 AS-112 AS-125"},
		{"sent before the turn runs", begun + asks(`"debugger"`) + "A > chat {}\n" + runs +
			become("general", "debugger", "Debugger"), ""},
		{"a code of its own", begun + asks(`"hacker"`) + refuse("not_found", "hacker"), "AS-049 AS-080 AS-089 AS-092 AS-120"},
		{"announced after its refusal", begun + debug + absent + become("debugger", "hacker", "Hacker"), "AS-054"},
		{"the id of another connection", greeted + strings.ReplaceAll(greeted, "A ", "B "), "AS-031"},
		{"other agents in a refusal", begun + strings.ReplaceAll(absent, three, fourth), "AS-052 AS-129"},
		{"no agents in a refusal", begun + strings.ReplaceAll(absent, three, "[]"),
			"AS-014 AS-051 AS-052 AS-089 AS-122 AS-124 AS-129"},
		{"agents before the change", begun + "- hook add-agent: later\n" + onB(strings.ReplaceAll(greeted, three, fourth)) +
			absent, "AS-052 AS-129"},
		{"agents after the change", begun + "- hook add-agent: later\n" + onB(strings.ReplaceAll(greeted, three, fourth)) +
			strings.ReplaceAll(absent, three, fourth), ""},
		{"a change that no list shows", begun + "- hook add-agent: later\n" + onB(greeted) +
			strings.ReplaceAll(absent, three, fourth), ""},
		{"an agent that was removed", strings.ReplaceAll(begun, three, fourth) + "- hook remove-agent: later\n" +
			onB(greeted) + strings.ReplaceAll(absent, three, fourth), "AC-082 AS-052"},
		{"a turn ends once its model is released", begun + chat + runs + "A - " + TurnMayEnd + "\n" + ends, ""},
		{"a turn ends before that", begun + chat + runs + ends, "AS-062 AS-125"},
		{"a turn went on after a switch", begun + chat + runs + chat + debug + ends + "A - " + TurnWentOn + "\n",
			"AS-064 AS-090 AS-109 AS-110"},
		{"the id of another agent with the right name", begun + asks(`"debugger"`) + become("general", "general", "Debugger"),
			"AS-044 AS-045"},
		{"a refusal on the connection whose session was named", both + ofB + onB(busy), ""},
		{"the asker refused, too", both + ofB + onB(busy) + busy, ""},
		{"the asker refused first", both + ofB + busy + onB(busy), ""},
		{"the asker refused while the other asks", both + onB(chat+runs) + ofB + onB(busy+asks(`"hacker"`)) +
			busy + onB(busy), ""},
		{"a refusal on the connection of another client", both + asks(`"debugger"`) + onB(busy),
			"AS-058 AS-059 AS-095 AS-096"},
		{"the switch of a session that was named announced there", both + ofB + onB(onA), ""},
		{"announced to a client without that session", both + own + onB(onA), "AS-007 AS-015 AS-057 AS-058 AS-059 AS-095"},
		{"the asker told, too", handed + own + onA + onB(onA), ""},
		{"the asker told later", handed + own + onB(onA) + onA, ""},
		{"a list with the wrong form", begun + strings.ReplaceAll(absent, three, `["general"]`),
			"AS-014 AS-051 AS-089 AS-122 AS-124"},
	} {
		if got := brokenBy(obligation.Judge(New(obligation.Ours), script(t, row.in))); got != row.broken {
			t.Errorf("%s: broken: want %q, got %q", row.reason, row.broken, got)
		}
	}
}

// TestKnown checks what the model judges by what it knows of the target.
func TestKnown(t *testing.T) {
	t.Parallel()
	const names = `A > switch_agent {"agentId":"debugger","sessionId":"s-1"}` + "\n"
	onA, refused := become("general", "debugger", "Debugger"), begun+greetedB+load("B", "conn_2", "s-1", loadFails)
	loads := begun + greetedB + load("B", "conn_2", "s-1", loadFine)
	left := begun + onB(begun+debug) + "A closed\n" + load("B", "conn_2", "s-1", loadFine)
	from := func(agent string) string {
		return onB(asks(`"requirement_analyzer"`) + become(agent, "requirement_analyzer", "Requirement Analyzer"))
	}
	general, single := Known{Default: "general"}, Known{Single: true}
	shared := Known{Default: "general", Shared: func() bool { return true }}
	for _, row := range []struct {
		reason     string
		known      Known
		in, broken string
	}{
		{"a loaded session with the agent that sessions begin with", general, left + from("general"), ""},
		{"with the agent of the session before it", general, left + from("debugger"), "AS-101"},
		{"with that of all sessions", shared, left + from("debugger"), "AS-005 AS-007 AS-015 AS-057 AS-058"},
		{"a new session with another agent than others begin with", general, begun + asks(`"general"`) +
			become("debugger", "general", "General"), "AS-022 AS-055 AS-056 AS-128"},
		{"with that of all sessions, which no other client shows", shared, begun + asks(`"general"`) +
			become("debugger", "general", "General"), "AS-005 AS-007 AS-015 AS-043 AS-057 AS-058"},
		{"announced to the new client", single, loads + names + onB(onA), ""},
		{"announced to the old client", single, loads + names + onA + "B - " + Fenced + "\n", ""},
		{"announced to the old client, and to the new one", single, loads + names + onA + onB(onA), "AS-094"},
		{"announced to the new client, and to the old one", single, loads + names + onB(onA) + onA, "AS-094"},
		{"announced to one after the other", single, loads + names + onA + names + onB(onA), ""},
		{"announced to a client whose load was refused", single, refused + names + onB(onA),
			"AS-007 AS-015 AS-057 AS-058 AS-059 AS-094 AS-095"},
	} {
		m := New(obligation.Ours)
		row.known.Answers = m.Answers
		m.Known = row.known
		for _, r := range script(t, row.in) {
			m.Take(r)
		}
		if got := brokenBy(m.Findings()); got != row.broken {
			t.Errorf("%s: broken: want %q, got %q", row.reason, row.broken, got)
		}
	}
}

// brokenBy returns the clauses that findings break, but no examples, and not the form of an optional timestamp.
// TestAddressed: only the switch of a session shows that the address of its connection has not chosen its agent.
func TestAddressed(t *testing.T) {
	t.Parallel()
	const switched = `A > switch_agent {"agentId":"requirement_analyzer","sessionId":"s-1"}` + "\n"
	for in, want := range map[string]bool{
		begun:            false,
		begun + switched: false,
		begun + switched + become("general", "requirement_analyzer", "Requirement Analyzer"): true,
	} {
		records := script(t, in)
		records[0].Label = "GET /events?agentId=debugger"
		m := New(obligation.Ours)
		m.Known = Known{Default: "general"}
		kept := slices.ContainsFunc(obligation.Judge(m, records), func(f verdict.Finding) bool {
			return f.OK && slices.Contains(f.Clauses, "AS-021")
		})
		if kept != want {
			t.Errorf("%s: AS-021 is shown: %v", in, kept)
		}
	}
}

func brokenBy(found []verdict.Finding) string {
	broken := map[string]bool{}
	for _, f := range found {
		for _, id := range f.Clauses {
			broken[id] = broken[id] || !f.OK
		}
	}
	maps.DeleteFunc(broken, func(id string, is bool) bool {
		return !is || slices.Contains([]string{"AC-083", "AS-035", "AS-036", "AS-037", "AS-038"}, id)
	})
	return strings.Join(slices.Sorted(maps.Keys(broken)), " ")
}

// TestCopied: an agent_switched that equals the latest one of its connection is a copy of that, unless another client
// has asked for one meanwhile, or was told of one.
func TestCopied(t *testing.T) {
	const others = "AS-007 AS-015 AS-057 AS-058 AS-059 AS-095"
	ask, switched := asks(`"debugger"`), become("general", "debugger", "Debugger")
	for _, row := range []struct{ reason, in, broken string }{
		{"a copy", both + ask + switched + switched, "AS-043"},
		{"another client has asked before", both + onB(ask) + ask + switched + switched, others},
		{"another client has asked since", both + ask + switched + onB(ask) + switched, others},
		{"another client was told", both + onB(ask) + ask + switched + onB(switched) + switched, others},
		{"of another switch", both + ask + switched + become("general", "general", "General"), others},
	} {
		if got := brokenBy(obligation.Judge(New(obligation.Ours), script(t, row.in))); got != row.broken {
			t.Errorf("%s: broken: want %q, got %q", row.reason, row.broken, got)
		}
	}
}
