package model

var moreRows = []row{
	{turns, "it succeeds", done, "017", ""},
	{turns, "one behind another", done + asks("general", "s1"), "017 046 052", ""},
	{turns, "one behind an error", busy + asks("debugger", "s1"), "046 052", ""},
	{turns, "one behind a failed request", session + asks("debugger", "s1") + "= 500\n" + asks("debugger", "s1"), "052",
		""},
	{turns, "one behind a refused request", session + asks("debugger", "s1") + `= 200 {"refused":true}` + "\n" +
		asks("general", "s1"), "052", ""},
	{turns, "one behind a lost request", session + asks("debugger", "s1") + "! failed\n" + asks("debugger", "s1"), "052",
		""},
	{turns, "sent twice", session + asks("debugger", "s1") + asks("debugger", "s1"), "", "046 052"},
	{turns, "sent twice, after its answer", first + asks("debugger", "s1"), "", "046 052"},
	{turns, "another one before the answer", first + asks("code_reviewer", "s1"), "", "046"},
	{turns, "another one, and the end is under way", done + asks("code_reviewer", "s1"), "046", ""},
	{turns, "another one after a loss", first + again + list("general", "debugger") + asks("general", "s1"), "", ""},
	{turns, "another one after a loss, of which the page knows", first + again + list("general", "debugger") +
		`> switch_agent {"agentId":"debugger","sessionId":"s1","connectionId":"c2"}`, "", ""},
	{turns, "two sessions at once", session + asks("debugger", "s1") + asks("debugger", "s2"), "", "017"},
	{turns, "the user goes to another session", session + asks("debugger", "s1") + `> session_load {"sessionId":"s2"}` +
		"\n= 200\n" + asks("debugger", "s2"), "", ""},
	{turns, "two pages at once", session + "B open\nB " + list("a", "debugger") + asks("debugger", "s1") +
		`B > switch_agent {"agentId":"debugger","sessionId":"s2"}`, "", ""},
	{turns, "to the current agent", session + asks("general", "s1"), "", "052"},
	{turns, "back to it after an error", busy + asks("general", "s1"), "046", "052"},
	{turns, "to the new agent", done + asks("debugger", "s1"), "046", "052"},
	{turns, "to the new agent, which the server has changed", done + switched("debugger", "general") +
		asks("debugger", "s1"), "", ""},
	{turns, "a switch by the server may be under way", session + switched("general", "debugger") +
		asks("debugger", "s1"), "", ""},
	{turns, "none was current", nobody + create("", "s1") + asks("a", "s1"), "", ""},
	{turns, "another one was preselected", ready + create(`"initialAgentId":"debugger"`, "s1") + asks("general", "s1"), "",
		""},
	{turns, "the answer names another one", ready + "> session_create {}\n" +
		`= 200 {"sessionId":"s1","body":{"session":{"id":"s1","agent":["debugger"]}}}` + "\n" + asks("general", "s1"), "",
		""},
	{turns, "a loaded session may have another one", session + `> session_load {"sessionId":"s2"}` + "\n= 200\n" +
		asks("general", "s2"), "", ""},
	{turns, "a deleted session had another one", session + "> session_delete {}\n= 200\n" + asks("general", "s1"), "", ""},
	{turns, "an event of another type names another one", session + `< session_agent {"agent":"debugger"}` + "\n" +
		asks("general", "s1"), "", ""},
	{turns, "an answer about the switch names another one", session + asks("debugger", "s1") + "> session_list {}\n" +
		`= 200 {"body":[{"agentId":"general"}]}` + "\n= 200\n" + switched("general", "debugger") + asks("debugger", "s1"),
		"046", ""},
	{turns, "of an earlier stream, perhaps", ready + again + list("general", "debugger") + asks("general", "s1"), "", ""},

	{retries, "aborted, and the switch succeeds", busy + abort("s1") + ended + asks("debugger", "s1") +
		switched("general", "debugger"), "079 124", ""},
	{retries, "refused once more, and tried again after another abort", busy + abort("s1") + asks("debugger", "s1") +
		refused("agent_busy", "") + abort("s1") + asks("debugger", "s1") + switched("general", "debugger"), "079 124", ""},
	{retries, "without an abort", busy + ended + asks("debugger", "s1") + switched("general", "debugger"), "=", ""},
	{retries, "the switch is not announced", busy + abort("s1") + asks("debugger", "s1"), "=", ""},
	{retries, "another agent is chosen", busy + abort("s1") + asks("code_reviewer", "s1") +
		switched("general", "code_reviewer"), "=", ""},
	{retries, "the abort names no session", busy + "> abort {}\n", "=", "079 124"},
	{retries, "null", busy + `> abort {"sessionId":null}` + "\n", "=", "079 124"},
	{retries, "of another session, which the user may have turned to", busy + abort("s2"), "=", ""},
	{retries, "the abort names no session, and no switch was refused", done + "> abort {}\n", "=", ""},
	{retries, "the same after another error", first + refused("session_not_found", "") + "> abort {}\n", "=", ""},
	{retries, "the same after an error behind it", busy + refused("internal", "") + "> abort {}\n", "=", ""},
	{retries, "the same after an error that may be about something else", session + refused("agent_busy", "") +
		"> abort {}\n", "=", ""},
	{retries, "the same while another session is asked for", busy + "> session_create {}\n> abort {}\n", "=", ""},
	{retries, "the same after a loss", busy + again + "> abort {}\n", "=", ""},
	{retries, "the same after a switch that failed", busy + asks("debugger", "s1") + "= 500\n> abort {}\n", "=", ""},

	{lists, "a new agent, of the error", first + gone + asks("planner", "s1"), "072 085 086 118", ""},
	{lists, "an old one, which the error does not list", first + gone + asks("code_reviewer", "s1"), "= 010 021 023",
		"072 085 086 118"},
	{lists, "the refused one once more", first + gone + asks("debugger", "s1"), "= 010 021 023", ""},
	{lists, "a list came since", first + gone + list("general", "code_reviewer") + asks("code_reviewer", "s1"),
		"= 010 021 023", ""},
	{lists, "an error of another code", first + refused("agent_busy", `,"availableAgents":`+agents("general")) +
		asks("code_reviewer", "s1"), "= 010 021 023", ""},
	{lists, "an error for another request", session + gone + asks("code_reviewer", "s1"), "=", ""},
	{lists, "the request has failed too", session + asks("debugger", "s1") + gone + "= 404\n" +
		asks("code_reviewer", "s1"), "= 010 021 023", ""},
	{lists, "an agent of the first list", session + asks("debugger", "s1"), "010 021 023", ""},
	{lists, "an agent of the next list", done + list("debugger", "planner") + asks("planner", "s1"), "010 021 023", ""},
	{lists, "one of the list before, perhaps chosen before the next one came", done + list("debugger", "planner") +
		asks("code_reviewer", "s1"), "", ""},
	{lists, "one of the list before, after an answer behind the next one", next + asks("code_reviewer", "s1"), "",
		"010 021 023"},
	{lists, "the same after an error behind the next one", first + list("general", "planner") + refused("agent_busy", "") +
		asks("code_reviewer", "s1"), "", "010 021 023"},
	{lists, "one that was asked for before", next + asks("debugger", "s1"), "", ""},
	{lists, "one that a later list has again", next + list("planner", "code_reviewer") + asks("code_reviewer", "s1"), "",
		""},
	{lists, "one of the list before, which an event has named", next + switched("planner", "code_reviewer") +
		switched("code_reviewer", "planner") + asks("code_reviewer", "s1"), "", ""},
	{lists, "one of the list before, after a list that cannot be read", next + "< junk about agents\n" +
		asks("code_reviewer", "s1"), "", ""},
	{lists, "after a reconnection", ready + again + list("general", "planner") + create("", "s2") + asks("planner", "s2"),
		"106 109 111", ""},
	{lists, "before the new list", ready + again +
		`> switch_agent {"agentId":"debugger","sessionId":"s1","connectionId":"c2"}`, "=", "109"},
	{lists, "before the new list, or before the loss", ready + again + asks("debugger", "s1"), "=", ""},
	{lists, "before the first list", head + `> switch_agent {"agentId":"debugger","sessionId":"s1"}`, "=", ""},
	{lists, "an agent of before", ready + again + list("general", "planner") + create("", "s2") +
		`> chat {"sessionId":"s2"}` + "\n" + asks("debugger", "s2"), "109", "106"},
	{lists, "an agent of before, after an answer on the new connection", ready + again + list("general", "planner") +
		create("", "s2") + asks("planner", "s2") + switched("general", "planner") + asks("debugger", "s2"), "109 111",
		"106 111"},
	{lists, "one that may have been preselected", ready + again + list("general", "planner") + create("", "s2") +
		asks("debugger", "s2"), "109", ""},
	{lists, "an agent of before, which is listed again", ready + again + list("general", "debugger") + create("", "s2") +
		`> chat {"sessionId":"s2"}` + "\n" + asks("debugger", "s2"), "106 109", ""},
	{lists, "an agent of before, which an error lists", ready + again + list("general", "planner") + create("", "s2") +
		refused("agent_not_found", `,"availableAgents":`+agents("general", "debugger")) + `> chat {"sessionId":"s2"}` + "\n" +
		asks("debugger", "s2"), "106 109", ""},
}
