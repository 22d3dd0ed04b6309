package model

const head = "open\n" + `< connected {"connectionId":"c1"}` + "\n"

var (
	ready   = head + list("general", "debugger", "code_reviewer")
	session = ready + create("", "s1")
	first   = session + asks("debugger", "s1") + "= 200\n"
	done    = first + switched("general", "debugger")
	busy    = first + refused("agent_busy", "")
	gone    = refused("agent_not_found", `,"availableAgents":`+agents("general", "planner"))
	again   = "closed\nopen\n" + `< connected {"connectionId":"c2"}` + "\n"
	next    = done + asks("general", "s1") + list("general", "planner") + switched("debugger", "general")
	ended   = `< complete {"sessionId":"s1"}` + "\n"
	chat    = `> chat {"content":"hi","sessionId":"s1"}` + "\n= 200\n"
	nobody  = head + `< agent_list {"agents":` + agents("a", "b") + `,"currentAgentId":null}` + "\n"
	other   = `> switchAgent {"agentId":"debugger","sessionId":"s1"}`
)

var rows = []row{
	{forms, "a switch", session + asks("debugger", "s1"), "012 019 045 050 053", ""},
	{forms, "its success", done, "008 012", ""},
	{forms, "under another name", session + other, "=", "008 012 045 050 053"},
	{forms, "a telemetry of the page", session + `> agent_selected {"agentId":"debugger"}`, "=", ""},
	{forms, "the name of the agent", session + asks("DEBUGGER Agent", "s1"), "=", "012 019 045 050"},
	{forms, "another spelling", session + asks("code-reviewer", "s1"), "=", "012 045 050"},
	{forms, "that spelling is listed", session + list("general", "code-reviewer") + asks("code-reviewer", "s1"),
		"012 050", ""},
	{forms, "after a list that cannot be read", session + "< junk about agents\n" + asks("code-reviewer", "s1"), "=", ""},
	{forms, "an agent that nobody has told of", session + asks("planner", "s1"), "=", ""},
	{forms, "the current agent, which is not listed: for another monitor", head + `< agent_list {"agents":` + agents("a") +
		`,"currentAgentId":"old"}` + "\n" + create("", "s1") + `> switch_agent {"agentId":"old","sessionId":"s1"}`,
		"012 050", ""},
	{forms, "none was current", nobody + create("", "s1") + asks("a", "s1"), "012 020 050", ""},
	{forms, "none was current, and a text says so", nobody + create(`"initialAgentId":"null"`, "s1"), "=", "020"},
	{forms, "none was current, and a text says so in a switch", nobody + create("", "s1") + asks("undefined", "s1"), "=",
		"020"},
	{forms, "it is the name of an agent", head + `< agent_list {"agents":` + agents("null") + `,"currentAgentId":null}` +
		"\n" + create(`"initialAgentId":"null"`, "s1"), "020", ""},
	{forms, "no agent", session + `> switch_agent {"sessionId":"s1"}`, "=", "012 045 050"},
	{forms, "a number", session + `> switch_agent {"agentId":1,"sessionId":"s1"}`, "=", "012 045 050"},

	{sessions, "it is named", session + asks("debugger", "s1"), "045 051 055 116", ""},
	{sessions, "it is left out, and was named before", session + chat + `> switch_agent {"agentId":"debugger"}`, "=",
		"045 051 055 116"},
	{sessions, "it is left out, and another session is asked for", session + chat + "> session_create {}\n" +
		`> switch_agent {"agentId":"debugger"}`, "=", "116"},
	{sessions, "it is left out, and may not be known yet", session + `> switch_agent {"agentId":"debugger"}`, "=", "116"},
	{sessions, "it is left out on a new stream", session + chat + again + `> switch_agent {"agentId":"debugger"}`, "=",
		"116"},
	{sessions, "null", session + chat + `> switch_agent {"agentId":"debugger","sessionId":null}`, "=",
		"045 051 055 116"},
	{sessions, "one that was stored", ready + asks("debugger", "s-of-yesterday"), "116", ""},

	{unbound, "a preselection", ready + create(`"initialAgentId":"debugger"`, "s1"), "039 042 054 056 095", ""},
	{unbound, "a switch instead", ready + `> switch_agent {"agentId":"debugger"}`, "=", "039 042 054 056 095"},
	{unbound, "a session was loaded: for another monitor", ready + `> session_load {"sessionId":"s7"}` + "\n= 200\n" +
		`> switch_agent {"agentId":"debugger"}`, "=", ""},
	{unbound, "an event tells of a session: for another monitor", ready + `< message {"sessionId":"s7"}` + "\n" +
		`> switch_agent {"agentId":"debugger"}`, "=", ""},
	{unbound, "the stream names a session: for another monitor", "open ?session=s7\n" + list("a", "b") +
		`> switch_agent {"agentId":"b"}`, "=",
		""},
	{unbound, "no stream was seen: for another monitor", `> switch_agent {"agentId":"b"}`, "=", ""},
	{unbound, "another page has a session", "B open\nB > session_create {}\n" +
		`B = 200 {"sessionId":"s9"}` + "\n" + ready + `> switch_agent {"agentId":"debugger"}`, "=", "039 042 054 056 095"},

	{preselection, "an id", ready + create(`"initialAgentId":"debugger"`, "s1"), "041 043 054 096 117", ""},
	{preselection, "none", ready + create(`"initialAgentId":null`, "s1"), "=", ""},
	{preselection, "none, as an empty text", ready + create(`"initialAgentId":""`, "s1"), "=", ""},
	{preselection, "a name", ready + create(`"initialAgentId":"DEBUGGER Agent"`, "s1"), "=",
		"041 043 054 096 117"},
	{preselection, "under another name", ready + create(`"agentId":"debugger"`, "s1"), "=", "041 043 054 096 117"},
	{preselection, "the current agent under another name", ready + create(`"agentId":"general"`, "s1"), "=", ""},
	{preselection, "under both names", ready + create(`"agentId":"debugger","initialAgentId":"debugger"`, "s1"),
		"041 043 054 096 117", ""},
	{preselection, "under another name, and an event names it", ready + `< message {"agent":"debugger"}` + "\n" +
		create(`"agentId":"debugger"`, "s1"), "=", ""},
	{preselection, "under another name, for a second session", session + create(`"agentId":"debugger"`, "s2"), "=", ""},
	{preselection, "a number", ready + create(`"initialAgentId":2`, "s1"), "=", "041 043 054 096 117"},
	{preselection, "one that was stored", ready + create(`"initialAgentId":"old"`, "s1"), "=", ""},
}
