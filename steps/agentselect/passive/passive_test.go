package passive

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	three = `[{"id":"general","name":"General","description":"d"},` +
		`{"id":"requirement_analyzer","name":"Requirement Analyzer","description":"d"},` +
		`{"id":"debugger","name":"Debugger","description":"d"}]`
	hello   = "A open\n" + `A < connected {"connectionId":"c-1"}` + "\n"
	list    = `A < agent_list {"agents":` + three + `,"currentAgentId":null}` + "\n"
	greeted = hello + list
	create  = "A > session_create {}\n" + `A < session_created {"sessionId":"s-1"}` + "\n"
	begun   = greeted + create
)

// asks and become are a switch, and the announcement of one.
func asks(id string) string { return `A > switch_agent {"agentId":` + id + "}\n" }

func become(from, to, name string) string {
	return fmt.Sprintf(`A < agent_switched {"previousAgentId":%q,"currentAgentId":%q,"agentName":%q}`+"\n", from, to, name)
}

func refuse(code, message string) string {
	return fmt.Sprintf(`A < error {"errorCode":%q,"message":%q,"availableAgents":%s}`+"\n", code, message, three)
}

// onB is a script with the connection A called B, and its session s-1 called s-2.
func onB(s string) string {
	return strings.NewReplacer("A ", "B ", "s-1", "s-2", "c-1", "c-2").Replace(s)
}

var (
	debug    = asks(`"debugger"`) + become("general", "debugger", "Debugger")
	back     = asks(`"general"`) + become("debugger", "general", "General")
	absent   = asks(`"hacker"`) + refuse("agent_not_found", "Invalid agent ID: hacker")
	greetedB = strings.NewReplacer("A ", "B ", "c-1", "c-2").Replace(greeted)
	createB  = strings.ReplaceAll(create, "A ", "B ")
	both     = begun + onB(begun)
)

// rows has transcripts with the clauses that they keep and break; others may hold as well.
var rows = []struct{ reason, in, kept, broken string }{
	{"greeted", greeted, "AS-008 AS-009 AS-016 AS-030 AS-031 AS-033 AS-040 AS-105 AS-123", ""},
	{"no word but a heartbeat", "A open\nA < presence {}\n" + list[:0], "", ""},
	{"another event first", "A open\n" + list, "", "AS-030"},
	{"no id of the connection", "A open\nA < connected {}\n" + list, "AS-030 AS-033", "AS-031"},
	{"a greeting of another kind between", hello + "A < todos {}\n" + list, "AS-033 AS-105", ""},
	{"a message between", hello + "A < message {}\n" + list, "", "AS-033 AS-105"},
	{"an answer and no list", hello + asks(`"x"`) + refuse("session_not_found", "m"), "",
		"AS-008 AS-016 AS-033 AS-105"},
	{"a list without builtins and current agent", hello + `A < agent_list {"agents":[]}`, "", "AS-009 AS-040 AS-123"},
	{"a current agent that is not listed", hello + `A < agent_list {"agents":` + three + `,"currentAgentId":"x"}`,
		"AS-009 AS-040", "AS-123"},
	{"joined in the middle", list + debug, "", ""},

	{"a switch", begun + debug, "AS-012 AS-024 AS-041 AS-044 AS-045 AS-081 AS-096 AS-100 AS-103",
		""},
	{"a switch over HTTP", greeted + "A ! POST /session/create\n" + `A 200 {"success":true,"session":{"id":"s-1"}}` +
		"\n" + debug, "AS-041 AS-100 AS-103", ""},
	{"another agent than requested", begun + asks(`"general"`) + become("general", "debugger", "Debugger"), "", "AS-044"},
	{"two switches under way", begun + asks(`"general"`) + asks(`"debugger"`) +
		become("x", "debugger", "Debugger"), "", ""},
	{"another name, not yet explained", begun + asks(`"debugger"`) + become("general", "debugger", "Bug"), "AS-044", ""},
	{"another name than before and after", begun + asks(`"debugger"`) + become("general", "debugger", "Bug") +
		asks(`"hacker"`) + refuse("agent_not_found", "hacker"), "", "AS-045"},
	{"it was renamed", begun + asks(`"debugger"`) + become("general", "debugger", "Bug") + asks(`"hacker"`) +
		strings.ReplaceAll(refuse("agent_not_found", "hacker"), "Debugger", "Bug"), "AS-049", ""},
	{"two switches", begun + debug + back, "AS-043", ""},
	{"it began elsewhere", begun + debug + asks(`"general"`) + become("requirement_analyzer", "general", "General"), "",
		"AS-043"},
	{"it stays after a refusal", begun + debug + absent + back, "AS-053", ""},
	{"it goes with a refusal", begun + debug + absent + asks(`"general"`) + become("hacker", "general", "General"), "",
		"AS-053"},
	{"it is reset by a refusal", begun + debug + absent + debug, "", "AS-053"},
	{"the server takes no connection", "A open\n" + `A < error {"message":"full"}`, "", ""},
	{"a preflight", greeted + "A ! OPTIONS /session/create\n" + create + debug, "AS-041", ""},
	{"a list behind a switch", begun + debug + list, "", "AS-024"},
	{"a list behind a refusal", begun + absent + list, "", ""},
	{"a session that is named", begun + `A > switch_agent {"agentId":"debugger","sessionId":"s-1"}` + "\n" +
		become("general", "debugger", "Debugger"), "AS-116", ""},
	{"and not found", begun + `A > switch_agent {"agentId":"debugger","sessionId":"s-1"}` + "\n" +
		refuse("session_not_found", "m"), "", "AS-091 AS-116"},
	{"a session that nobody has seen", begun + `A > switch_agent {"agentId":"debugger","sessionId":"s-9"}` + "\n" +
		refuse("session_not_found", "m"), "AS-091", ""},
	{"a session that was created, not found", begun + asks(`"debugger"`) + refuse("session_not_found", "m"), "",
		"AS-041 AS-081 AS-096 AS-100 AS-103"},
	{"one that was deleted", begun + "A ! DELETE /session/s-1\n" + asks(`"debugger"`) + refuse("session_not_found", "m"),
		"", ""},
	{"no session yet", greeted + asks(`"debugger"`) + refuse("session_not_found", "m"),
		"AS-082 AS-092 AS-097 AS-104 AS-127", ""},
	{"no session, and switched", greeted + debug, "", "AS-082 AS-097 AS-104 AS-127"},
	{"no session, and busy", greeted + asks(`"debugger"`) + refuse("agent_busy", "m"), "", "AS-090 AS-104"},
	{"a session by other means", greeted + "A > resume {}\n" + debug, "", ""},

	{"two sessions", both + debug + onB(debug+debug[:0]) + asks(`"general"`) + become("debugger", "general", "General"),
		"AS-043", ""},
	{"each its own agent", both + debug + onB(asks(`"general"`)+become("general", "general", "General")) + back,
		"AS-007 AS-015 AS-093", ""},
	{"one agent for both", both + debug + onB(asks(`"requirement_analyzer"`)+
		become("general", "requirement_analyzer", "Requirement Analyzer")) + asks(`"general"`) +
		become("requirement_analyzer", "general", "General"), "", "AS-007 AS-015 AS-093"},
	{"another client names the session", both + debug + `B > switch_agent {"agentId":"general","sessionId":"s-1"}` + "\n" +
		asks(`"debugger"`) + become("general", "debugger", "Debugger"), "", ""},

	{"two clients with one session", begun + greetedB + createB + debug, "", "AS-094"},
	{"two clients with one session, over HTTP", begun + greetedB + `B ! POST /session/create {"connectionId":"c-2"}` +
		"\n" + `B 200 {"success":true,"session":{"id":"s-1"}}` + "\n" + debug, "", "AS-094"},
	{"one session over HTTP, and perhaps of one client", begun + greetedB + `B ! POST /session/create` + "\n" +
		`B 200 {"success":true,"session":{"id":"s-1"}}` + "\n" + debug, "", ""},
	{"two clients with one session, and the first is not heard of", begun + greetedB + createB, "", ""},
	{"one session again after a restart", begun + "A closed\n" + greetedB + createB, "", ""},
	{"two clients with two sessions", begun + greetedB + strings.ReplaceAll(createB, "s-1", "s-2"), "AS-094", ""},
	{"a switch told to a client without a session", begun + greetedB + debug +
		strings.ReplaceAll(become("general", "debugger", "Debugger"), "A ", "B "), "AS-095", "AS-095"},
	{"a switch told to another client first", begun + greetedB + asks(`"debugger"`) +
		strings.ReplaceAll(become("general", "debugger", "Debugger"), "A ", "B "), "", "AS-095"},
	{"a switch told to a client with another agent", both + onB(debug) + asks(`"requirement_analyzer"`) +
		become("general", "requirement_analyzer", "Requirement Analyzer") +
		onB(become("general", "requirement_analyzer", "Requirement Analyzer")), "", "AS-095"},
	{"a switch that somebody else may have asked for", both + onB(debug) + asks(`"requirement_analyzer"`) +
		become("general", "requirement_analyzer", "Requirement Analyzer") +
		onB(become("debugger", "requirement_analyzer", "Requirement Analyzer")), "", ""},

	{"not found", begun + absent, "AS-049 AS-050 AS-052 AS-089 AS-092", ""},
	{"not named", begun + asks(`"hacker"`) + refuse("agent_not_found", "Invalid agent"), "", "AS-050"},
	{"no list", begun + asks(`"hacker"`) + `A < error {"errorCode":"agent_not_found","message":"hacker"}`, "",
		"AS-014 AS-089"},
	{"a list of one", begun + asks(`"hacker"`) + `A < error {"errorCode":"agent_not_found","message":"hacker",` +
		`"availableAgents":[{"id":"general","name":"G","description":"d"}]}`, "AS-014 AS-049", "AS-052"},
	{"not found, and available", begun + asks(`"debugger"`) + refuse("agent_not_found", "debugger"), "", "AS-012"},
	{"an agent that is gone", begun + asks(`"debugger"`) + strings.Replace(refuse("agent_not_found", "debugger"),
		`"id":"debugger"`, `"id":"other"`, 1), "AS-049", "AS-052"},
	{"an unknown code", begun + asks(`"hacker"`) + refuse("oops", "m"), "", "AS-092"},
	{"an unknown code, perhaps of a turn", begun + "A > chat {}\n" + asks(`"hacker"`) + refuse("oops", "m"), "", ""},
	{"an error without a message", begun + asks(`""`) + `A < error {"errorCode":"invalid_agent_id"}`, "", "AS-087 AS-071"},

	{"empty", begun + asks(`""`) + refuse("invalid_agent_id", "agentId cannot be empty"), "AS-070 AS-071 AS-087", ""},
	{"empty, not found", begun + asks(`""`) + refuse("agent_not_found", "m"), "", "AS-070 AS-076"},
	{"empty, switched", begun + asks(`""`) + become("general", "", "x"), "", "AS-070 AS-080"},
	{"malformed", begun + asks(`"Debugger"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"),
		"AS-073 AS-074 AS-076 AS-079 AS-080 AS-088 AS-126", ""},
	{"malformed, said otherwise", begun + asks(`"a@b"`) + refuse("invalid_agent_id_format", "no"), "AS-073", "AS-074"},
	{"malformed, not found", begun + asks(`"a@b"`) + refuse("agent_not_found", "a@b"), "", "AS-073 AS-076"},
	{"malformed, as if empty", begun + asks(`"a@b"`) + refuse("invalid_agent_id", "agentId cannot be empty"), "",
		"AS-073 AS-087"},
	{"folded", begun + asks(`"Debugger"`) + become("general", "debugger", "Debugger"), "", "AS-079 AS-080 AS-126"},
	{"white space", begun + asks(`" "`) + refuse("invalid_agent_id", "agentId cannot be empty"), "", ""},
	{"legal, as if malformed", begun + asks(`"debugger"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"), "", "AS-080 AS-088"},
	{"unknown, as if malformed", begun + asks(`"hacker"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"), "",
		"AS-049 AS-080 AS-088"},
	{"a number", begun + asks(`7`) + refuse("invalid_agent_id_format", "m"), "AS-077", "AS-074"},
	{"a number, not found", begun + asks(`7`) + refuse("agent_not_found", "m"), "", "AS-077"},
	{"a number, switched", begun + asks(`7`) + become("general", "7", "x"), "", "AS-077"},

	{"busy", begun + "A > chat {}\n" + asks(`"debugger"`) + refuse("agent_busy", "m"), "AS-090 AS-111", ""},
	{"busy with nothing", begun + asks(`"debugger"`) + refuse("agent_busy", "m"), "", "AS-090 AS-111"},
	{"busy after the end is open", begun + "A > chat {}\nA < complete {}\n" + asks(`"debugger"`) +
		refuse("agent_busy", "m"), "", ""},
}

func TestMonitors(t *testing.T) {
	everKept, everBroken := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			kept, broken := map[string]bool{}, map[string]bool{}
			for _, f := range Check(script(t, row.in)) {
				for _, id := range f.Clauses {
					if f.OK {
						kept[id], everKept[id] = true, true
					} else {
						broken[id], everBroken[id] = true, true
					}
				}
			}
			for id := range strings.FieldsSeq(row.kept) {
				if !kept[id] {
					t.Errorf("%s is not kept", id)
				}
			}
			if got := strings.Join(slices.Sorted(maps.Keys(broken)), " "); got != sorted(row.broken) {
				t.Errorf("broken: want %q, got %q", row.broken, got)
			}
		})
	}
	for _, id := range clauses {
		if !everKept[id] || !everBroken[id] {
			t.Errorf("%s: kept by a row %v, broken %v", id, everKept[id], everBroken[id])
		}
	}
}

func sorted(ids string) string { return strings.Join(slices.Sorted(strings.FieldsSeq(ids)), " ") }
