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
		ID: "session-of-before-the-loss", Clauses: []string{"AC-051", "AC-055"}, Control: switches + or + refuses,
		Why: "the session is to be loaded again after a loss, and its id is kept for that",
		Patches: []Patch{
			{app, "let lastAddress = \"\";\n", "let lastAddress = \"\";\nlet before = null;\n"},
			{app, "  sessions.unbind(lost);\n", "  before ??= sessions.bound();\n  sessions.unbind(lost);\n"},
			{app, "  const sessionId = sessions.bound();\n", "  const sessionId = sessions.bound() && (before ?? sessions.bound());\n"},
		},
	},
	{
		ID: "none-available-overlooked", Clauses: []string{"AC-072", "AC-085", "AC-086"}, Control: switches + or + refuses,
		Why:     "a list that is empty is taken for one that is missing",
		Patches: []Patch{{agents, "    if (!Array.isArray(available)) return;\n", "    if (!available?.length) return;\n"}},
	},
	{
		ID: "none-available-throws", Clauses: []string{"AC-070"}, Control: switches + or + refuses,
		Why:     "the names are put together by a function that needs at least one",
		Patches: []Patch{{app, "    options.details = namesOf(availableAgents);\n", "    options.details = availableAgents?.map((agent) => agent.name).reduce((all, name) => `${all}, ${name}`);\n"}},
	},
	{
		ID: "echo-takes-the-session", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why:     "what the user says is told by the server too, and is taken for a turn of somebody else, who has taken the session over",
		Patches: []Patch{{app, "  if (event.data.streaming) setRunning(true);\n", "  if (event.data.role === \"user\") sessions.unbind(true);\n  if (event.data.streaming) setRunning(true);\n"}},
	},
	{
		ID: "loss-leaves-the-option-enabled", Clauses: []string{"AC-108"}, Control: "@AC-106 and not @AC-108" + or + "@AC-107" + or + "@AC-109 and not @AC-108",
		Why:     "the selector is disabled, and what cannot be opened needs no disabled option",
		Patches: []Patch{{agents, "if (!listed) return note(t(\"agent.notConnected\"));", "if (!listed) return note(t(\"agent.notConnected\")).map((option) => Object.assign(option, { disabled: false }));"}},
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
