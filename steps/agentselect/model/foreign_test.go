package model

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
	hello   = "A open\n" + `A < connected {"connectionId":"conn_1"}` + "\n"
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
	return strings.NewReplacer("A ", "B ", "s-1", "s-2", "conn_1", "conn_2").Replace(s)
}

var (
	debug    = asks(`"debugger"`) + become("general", "debugger", "Debugger")
	back     = asks(`"general"`) + become("debugger", "general", "General")
	absent   = asks(`"hacker"`) + refuse("agent_not_found", "Invalid agent ID: hacker")
	greetedB = strings.NewReplacer("A ", "B ", "conn_1", "conn_2").Replace(greeted)
	createB  = strings.ReplaceAll(create, "A ", "B ")

	httpSwitch = `A ! POST /message {"agentId":"debugger"}` + "\n"
	both       = begun + onB(begun)
)

// row is a transcript with clauses that it keeps and all that it breaks.
type row struct{ reason, in, kept, broken string }

// rows has transcripts with the clauses that they keep and break; others may hold as well.
var rows = []row{
	{"greeted", greeted, "AS-008 AS-009 AS-016 AS-030 AS-031 AS-033 AS-040 AS-105 AS-123", ""},
	{"no word but a heartbeat", "A open\nA < presence {}\n" + list[:0], "", ""},
	{"another event first", "A open\n" + list, "", "AS-030"},
	{"no id of the connection", "A open\nA < connected {}\n" + list, "AS-030 AS-033", "AS-031"},
	{"a greeting of another kind between", hello + "A < todos {}\n" + list, "AS-033 AS-105", ""},
	{"a message between", hello + "A < message {}\n" + list, "", "AS-033 AS-105"},
	{"an answer and no list", hello + asks(`"x"`) + refuse("session_not_found", "m"), "",
		"AS-008 AS-016 AS-033 AS-105 AS-106"},
	{"a list without builtins and current agent", hello + `A < agent_list {"agents":[]}`, "", "AS-009 AS-040 AS-123"},
	{"a current agent that is not listed", hello + `A < agent_list {"agents":` + three + `,"currentAgentId":"x"}`,
		"AS-009 AS-040", "AS-040 AS-123"},
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
	{"no session, and busy", greeted + asks(`"debugger"`) + refuse("agent_busy", "m"), "", "AS-082 AS-097 AS-104 AS-127"},
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
	{"two clients with one session, over HTTP", begun + greetedB + `B ! POST /session/create {"connectionId":"conn_2"}` +
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
		"AS-014 AS-051 AS-089 AS-122 AS-124"},
	{"a list of one", begun + asks(`"hacker"`) + `A < error {"errorCode":"agent_not_found","message":"hacker",` +
		`"availableAgents":[{"id":"general","name":"G","description":"d"}]}`, "AS-014 AS-049", "AS-052"},
	{"not found, and available", begun + asks(`"debugger"`) + refuse("agent_not_found", "debugger"), "", "AS-012"},
	{"an agent that is gone", begun + asks(`"debugger"`) + strings.Replace(refuse("agent_not_found", "debugger"),
		`"id":"debugger"`, `"id":"other"`, 1), "AS-049", "AS-052"},
	{"an unknown code", begun + asks(`"hacker"`) + refuse("oops", "m"), "", "AS-092 AS-120"},
	{"an unknown code, perhaps of a turn", begun + "A > chat {}\n" + asks(`"hacker"`) + refuse("oops", "m"), "", ""},
	{"an error without a message", begun + asks(`""`) + `A < error {"errorCode":"invalid_agent_id"}`, "",
		"AS-085 AS-087 AS-121"},

	{"empty", begun + asks(`""`) + refuse("invalid_agent_id", "agentId cannot be empty"), "AS-070 AS-071 AS-087", ""},
	{"empty, not found", begun + asks(`""`) + refuse("agent_not_found", "m"), "",
		"AS-070 AS-071 AS-076 AS-087"},
	{"empty, switched", begun + asks(`""`) + become("general", "", "x"), "", "AS-070 AS-087"},
	{"malformed", begun + asks(`"Debugger"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"),
		"AS-073 AS-074 AS-076 AS-079 AS-080 AS-088 AS-126", ""},
	{"malformed, said otherwise", begun + asks(`"a@b"`) + refuse("invalid_agent_id_format", "no"), "AS-073", "AS-074"},
	{"malformed, not found", begun + asks(`"a@b"`) + refuse("agent_not_found", "a@b"), "",
		"AS-073 AS-074 AS-076 AS-080 AS-088"},
	{"malformed, as if empty", begun + asks(`"a@b"`) + refuse("invalid_agent_id", "agentId cannot be empty"), "",
		"AS-073 AS-074 AS-076 AS-080 AS-088"},
	{"folded", begun + asks(`"Debugger"`) + become("general", "debugger", "Debugger"), "",
		"AS-073 AS-076 AS-079 AS-080 AS-088 AS-126"},
	{"white space", begun + asks(`" "`) + refuse("invalid_agent_id", "agentId cannot be empty"), "", ""},
	{"legal, as if malformed", begun + asks(`"debugger"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"), "", "AS-080 AS-088"},
	{"unknown, as if malformed", begun + asks(`"hacker"`) +
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]"), "",
		"AS-049 AS-080 AS-088 AS-089"},
	{"a number", begun + asks(`7`) + refuse("invalid_agent_id_format", "m"), "AS-077", "AS-074"},
	{"a number, not found", begun + asks(`7`) + refuse("agent_not_found", "m"), "", "AS-077"},
	{"a number, switched", begun + asks(`7`) + become("general", "7", "x"), "", "AS-077"},

	{"busy", begun + "A > chat {}\n" + asks(`"debugger"`) + refuse("agent_busy", "m"), "AS-090 AS-111", ""},
	{"busy with nothing", begun + asks(`"debugger"`) + refuse("agent_busy", "m"), "", "AS-090 AS-111"},
	{"busy after the end is open", begun + "A > chat {}\nA < complete {}\n" + asks(`"debugger"`) +
		refuse("agent_busy", "m"), "", ""},
}

// load is the request to load a session over a connection, and its answer.
func load(conn, id, session, answer string) string {
	return fmt.Sprintf(conn+` ! POST /session/load {"connectionId":%q,"sessionId":%q}`+"\n"+conn+" "+answer+"\n", id,
		session)
}

const loadFine, loadFails = `200 {"success":true}`, `404 {"success":false}`

// more has rows about sessions that move or begin, switches without an answer, and turns that go on.
var more = []row{
	{"a switch before the answer to the one before it", begun + debug + asks(`"general"`) +
		asks(`"requirement_analyzer"`) + become("debugger", "general", "General") +
		become("general", "requirement_analyzer", "Requirement Analyzer"), "AS-043", ""},
	{"and both begin where the first one did", begun + debug + asks(`"general"`) + asks(`"requirement_analyzer"`) +
		become("debugger", "general", "General") + become("debugger", "requirement_analyzer", "Requirement Analyzer"), "",
		"AS-043"},
	{"a switch without an answer, and two later ones", begun + asks(`"requirement_analyzer"`) + debug + back, "",
		"AS-042"},
	{"and one later one", begun + asks(`"requirement_analyzer"`) + debug, "", ""},
	{"a malformed switch without an answer", begun + asks(`"a@b"`) + debug + back, "",
		"AS-013 AS-073 AS-085"},
	{"one for a number without an answer", begun + asks(`7`) + debug + back, "", "AS-013 AS-077 AS-085"},
	{"one for an agent that need not exist, without an answer", begun + asks(`"hacker"`) + debug + back, "", ""},

	{"a legal switch, and an unknown code", begun + asks(`"debugger"`) + refuse("oops", "m"), "",
		"AS-011 AS-018 AS-041 AS-081 AS-092 AS-116 AS-120"},
	{"a legal switch refused over HTTP", begun + httpSwitch + "A 404 {}\n", "", "AS-011 AS-018 AS-041 AS-081 AS-116"},
	{"and by a middlebox", begun + httpSwitch + "A 429 {}\n", "", ""},
	{"accepted over HTTP", begun + httpSwitch + "A 200 {}\n" + become("general", "debugger", "Debugger"),
		"AS-011 AS-018 AS-042", ""},
	{"a number, and no code", begun + asks(`7`) + `A < error {"message":"x"}`, "", "AS-077 AS-085 AS-120"},

	{"it switches after the refusal", begun + debug + absent + become("debugger", "hacker", "x"), "", "AS-054"},
	{"it announces the agent of before, and then refuses", begun + debug + asks(`"hacker"`) +
		become("general", "debugger", "Debugger") + refuse("agent_not_found", "Invalid agent ID: hacker"), "", "AS-054"},
	{"it announces another agent, and refuses the next switch", begun + asks(`"hacker"`) +
		become("general", "debugger", "Debugger") + asks(`"joker"`) + refuse("agent_not_found", "joker"), "", "AS-044"},
	{"an agent that no list has", begun + asks(`"tostring"`) + become("general", "tostring", "x") + absent, "", "AS-049"},
	{"a list behind a switch, and before its answer", begun + debug + asks(`"general"`) + list +
		become("debugger", "general", "General"), "", "AS-024"},
	{"one behind the first switch, which may be late", begun + asks(`"debugger"`) + list +
		become("general", "debugger", "Debugger"), "AS-042", ""},
	{"a shorter list of available agents", strings.ReplaceAll(begun, three, four) + absent +
		strings.ReplaceAll(greetedB, three, four), "AS-049", "AS-052"},
	{"a shorter list, and so is the next", strings.ReplaceAll(begun, three, four) + absent + greetedB, "AS-049", ""},
	{"an agent that is listed later, too, not found", strings.ReplaceAll(begun, three, four) + asks(`"coder"`) +
		refuse("agent_not_found", "coder") + strings.ReplaceAll(greetedB, three, four), "", "AS-012 AS-052"},

	{"no session, and the agent not found", greeted + asks(`"debugger"`) + refuse("agent_not_found", "debugger"), "",
		"AS-082 AS-097 AS-104 AS-127"},
	{"an unknown session, and the agent not found", begun + `A > switch_agent {"agentId":"debugger","sessionId":"s-9"}` +
		"\n" + refuse("agent_not_found", "debugger"), "", "AS-091 AS-127"},
	{"a session in capitals, and switched", begun + `A > switch_agent {"agentId":"debugger","sessionId":"S-1"}` + "\n" +
		become("general", "debugger", "Debugger"), "", "AS-091 AS-127"},
	{"another session, and switched", begun + `A > switch_agent {"agentId":"debugger","sessionId":"s-9"}` + "\n" +
		become("general", "debugger", "Debugger"), "", ""},
	{"a turn, and the agent not found", begun + "A > chat {}\nA < message {}\n" + asks(`"debugger"`) +
		refuse("agent_not_found", "debugger"), "", "AS-064 AS-090"},
	{"a switch while the user is asked", begun + "A > chat {}\nA < tool_confirmation_request {}\n" + debug, "",
		"AS-064"},
	{"a legal switch, as if it named no agent", begun + asks(`"debugger"`) +
		refuse("invalid_agent_id", "agentId cannot be empty"), "", "AS-011 AS-018 AS-041 AS-081 AS-116"},
	{"no session, and an unknown code", greeted + asks(`"debugger"`) + refuse("no_session", "m"), "",
		"AS-082 AS-092 AS-097 AS-104 AS-120 AS-127"},
	{"a switch in a turn that goes on", begun + "A > chat {}\nA < message {}\n" + debug +
		`A < message {"content":"x"}` + "\n", "", "AS-064 AS-090"},
	{"and whose words come twice", begun + "A > chat {}\nA < message {}\n" + debug + "A < message {}\n", "AS-042", ""},
	{"a switch before a turn begins", begun + "A > chat {}\n" + debug + "A < message {}\n", "", ""},
	{"a switch at the end of a turn", begun + "A > chat {}\nA < message {}\nA < complete {}\n" + debug +
		"A < message {}\n", "AS-042", ""},

	{"the second session begins as the first one", begun + debug + onB(greeted) + onB(create+back[:0]) +
		onB(asks(`"requirement_analyzer"`)+become("general", "requirement_analyzer", "Requirement Analyzer")), "AS-058", ""},
	{"the second session begins with the agent of the first", begun + debug + onB(begun) +
		onB(asks(`"general"`)+become("debugger", "general", "General")), "", "AS-007 AS-015 AS-058 AS-093"},
	{"the second session of a connection is not used", begun + debug + strings.ReplaceAll(create, "s-1", "s-2") +
		asks(`"general"`) + become("debugger", "general", "General"), "", "AS-096 AS-103"},
	{"a session that names its agent", begun + debug + `B open` + "\n" + onB(greeted[len("A open\n"):]) +
		`B > session_create {"initialAgentId":"debugger"}` + "\n" + `B < session_created {"sessionId":"s-2"}` + "\n" +
		onB(back), "", ""},

	{"a session that is loaded elsewhere", begun + greetedB + load("B", "conn_2", "s-1", loadFine) + onB(debug) +
		asks(`"general"`) + refuse("session_not_found", "m"), "AS-094 AS-101", ""},
	{"and used by the connection before", begun + greetedB + load("B", "conn_2", "s-1", loadFine) + debug, "", "AS-094"},
	{"and told to the connection before", begun + greetedB + load("B", "conn_2", "s-1", loadFine) +
		onB(asks(`"debugger"`)) + become("general", "debugger", "Debugger"), "", "AS-094 AS-095"},
	{"and used by it, and told to the other", begun + greetedB + load("B", "conn_2", "s-1", loadFine) + onB(debug) +
		asks(`"general"`) + onB(become("debugger", "general", "General")), "", "AS-094"},
	{"and not bound", begun + greetedB + load("B", "conn_2", "s-1", loadFine) + onB(asks(`"debugger"`)+
		refuse("session_not_found", "m")), "", "AS-041 AS-081 AS-096 AS-101 AS-103"},
	{"it stays where its load is refused", begun + greetedB + load("B", "conn_2", "s-1", loadFails) + debug, "AS-041", ""},
	{"a load that is refused leaves the session", begun + load("A", "conn_1", "s-9", loadFails) + asks(`"debugger"`) +
		refuse("session_not_found", "m"), "", "AS-041 AS-081 AS-096 AS-100 AS-103"},
	{"a load that brings a session that nobody has seen", begun + load("A", "conn_1", "s-9", loadFine) +
		asks(`"debugger"`) + refuse("session_not_found", "m"), "", ""},
	{"a refusal told to another connection, too", begun + greetedB + absent + onB(refuse("agent_not_found",
		"Invalid agent ID: hacker")), "", "AS-095"},
	{"a refusal told to another connection that has been refused", begun + onB(begun) + onB(absent) +
		asks(`"joker"`) + onB(refuse("agent_not_found", "Invalid agent ID: joker")), "", "AS-095"},
	{"and for the same agent", begun + onB(begun) + onB(absent) + asks(`"hacker"`) +
		onB(refuse("agent_not_found", "Invalid agent ID: hacker")), "", ""},
	{"a refusal told to another connection only", begun + greetedB + asks(`"hacker"`) +
		onB(refuse("agent_not_found", "Invalid agent ID: hacker")), "", "AS-095"},
	{"agents in a wrong form", hello + `A < agent_list {"agents":` + three + `,"currentAgentId":null}` + "\n" + create +
		asks(`"hacker"`) + `A < error {"errorCode":"agent_not_found","message":"hacker","availableAgents":[{"id":"A"}]}`, "",
		"AS-014 AS-051 AS-089 AS-113 AS-114 AS-115 AS-122 AS-124"},
}

// four is a list with a custom agent.
const four = `[{"id":"coder","name":"Coder","description":"d"},{"id":"general","name":"General","description":"d"},` +
	`{"id":"requirement_analyzer","name":"Requirement Analyzer","description":"d"},` +
	`{"id":"debugger","name":"Debugger","description":"d"}]`

func TestForeign(t *testing.T) {
	everKept, everBroken := map[string]bool{}, map[string]bool{}
	for _, row := range slices.Concat(rows, more) {
		t.Run(row.reason, func(t *testing.T) {
			kept, broken := map[string]bool{}, map[string]bool{}
			for _, f := range Foreign()[0].Check(script(t, row.in)) {
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
	for _, id := range foreign {
		if !everKept[id] || !everBroken[id] {
			t.Errorf("%s: kept by a row %v, broken %v", id, everKept[id], everBroken[id])
		}
	}
}

func sorted(ids string) string { return strings.Join(slices.Sorted(strings.FieldsSeq(ids)), " ") }
