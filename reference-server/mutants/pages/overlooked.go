package pages

// overlookedFaults are those that the suite did not find at first.
var overlookedFaults = []Mutant{
	{
		ID: "session-in-local-storage", Clauses: []string{"AC-017", "AC-051", "AC-055"}, Control: switches + or + refuses,
		Why: "the session is to outlive a reload, and all tabs share what is kept for that",
		Patches: []Patch{
			{sessions, "    bound = id;\n    resume = null;\n", "    bound = id;\n    localStorage.setItem(\"parley.session\", id);\n    resume = null;\n"},
			{app, "  const sessionId = sessions.bound();\n", "  const sessionId = sessions.bound() && localStorage.getItem(\"parley.session\");\n"},
		},
	},
	{
		ID: "selector-in-the-next-panel", Clauses: []string{"AC-027"}, Control: switches,
		Why: "the agent is a property of the session, and goes where the sessions are listed",
		Patches: []Patch{
			{index, theSelect, ""},
			{index, "        <button id=\"refreshBtn\"", theSelect + "        <button id=\"refreshBtn\""},
		},
	},
	{
		ID: "one-agent-hides", Clauses: []string{"AC-099"}, Control: switches,
		Why:     "there is nothing to choose from",
		Patches: []Patch{{agents, usable, usable + "    select.hidden = agents.length === 1;\n"}},
	},
	{
		ID: "confirmed-in-a-dialog", Clauses: []string{"AC-033"}, Control: switches,
		Why:     "a switch is not to happen by accident",
		Patches: []Patch{{app, "  switchAgent(agentId, sessionId);\n}", "  if (!confirm(\"切换主代理?\")) return agents.render();\n  switchAgent(agentId, sessionId);\n}"}},
	},
	{
		ID: "success-told-twice", Clauses: []string{"AC-060"}, Control: refuses,
		Why:     "the stream is listened to again with each connection, and once more for the type of the event",
		Patches: []Patch{{app, chatSystem, chatSystem + chatSystem}},
	},
	{
		ID: "preselection-lost-by-disconnecting", Clauses: []string{"AC-107"}, Control: preselects,
		Why:     "whoever disconnects is done, and begins anew",
		Patches: []Patch{{app, "  connection.close();\n", "  connection.close();\n  agents.prefer(null);\n"}},
	},
	{
		ID: "preselection-said-once", Clauses: []string{"AC-044"}, Control: preselects,
		Why: "the hint is shown where a preselection begins, and not where it changes",
		Patches: []Patch{
			{agents, "{ name: nameOf(preselected()) }", "{ name: firstName ??= nameOf(preselected()) }"},
			{agents, "  let switching = null;", "  let firstName = null;\n  let switching = null;"},
		},
	},
}
