package pages

const sendSwitch = "await send({ type: \"switch_agent\", agentId, sessionId });"

// requestFaults send a switch_agent that is none (3.3).
var requestFaults = []Mutant{
	{
		ID: "switch-of-another-type", Clauses: []string{"AC-008", "AC-012", "AC-050", "AC-053"}, Control: lists + or + preselects,
		Why:     "messages are named as the page's functions are",
		Patches: []Patch{{app, sendSwitch, "await send({ type: \"switchAgent\", agentId, sessionId });"}},
	},
	{
		ID: "switch-not-sent", Clauses: []string{"AC-008", "AC-012", "AC-045", "AC-053"}, Control: lists + or + preselects,
		Why:     "the agent is meant to go along with the next message",
		Patches: []Patch{{app, "    " + sendSwitch + "\n", "    agents.prefer(agentId);\n"}},
	},
	{
		ID: "agent-by-name", Clauses: []string{"AC-012", "AC-045", "AC-050"}, Control: lists + or + preselects,
		Why:     "what the user has chosen is the text of the option",
		Patches: []Patch{{app, sendSwitch, "await send({ type: \"switch_agent\", agentId: agents.nameOf(agentId), sessionId });"}},
	},
	{
		ID: "agent-by-number", Clauses: []string{"AC-012", "AC-045", "AC-050"}, Control: lists + or + preselects,
		Why:     "a select gives the number of its option",
		Patches: []Patch{{app, sendSwitch, "await send({ type: \"switch_agent\", agentId: agents.all().findIndex(({ id }) => id === agentId), sessionId });"}},
	},
	{
		ID: "agent-parsed", Clauses: []string{"AC-045", "AC-050"}, Control: switches + or + refuses,
		Why: "a library reads attributes as what they look like, and an id may look like a number",
		Patches: []Patch{{app, sendSwitch,
			"let value = agentId;\n    try { value = JSON.parse(agentId); } catch { /* text */ }\n    await send({ type: \"switch_agent\", agentId: value, sessionId });"}},
	},
	{
		ID: "agent-in-snake-case", Clauses: []string{"AC-045", "AC-050"}, Control: switches + or + refuses,
		Why:     "ids are normalized to the form of the built-in ones",
		Patches: []Patch{{app, sendSwitch, "await send({ type: \"switch_agent\", agentId: agentId.replaceAll(\"-\", \"_\"), sessionId });"}},
	},
	{
		ID: "session-missing", Clauses: []string{"AC-045", "AC-051", "AC-055", "AC-116"}, Control: lists + or + preselects,
		Why:     "the server knows the connection, and that the session",
		Patches: []Patch{{app, sendSwitch, "await send({ type: \"switch_agent\", agentId });"}},
	},
	{
		ID: "session-named-once", Clauses: []string{"AC-051", "AC-055", "AC-116"}, Control: switches + or + refuses,
		Why: "once it was named, the connection is bound to it",
		Patches: []Patch{
			{app, sendSwitch, "const named = told.has(sessionId) ? {} : { sessionId };\n    told.add(sessionId);\n    await send({ type: \"switch_agent\", agentId, ...named });"},
			{app, "", "const told = new Set();"},
		},
	},
	{
		ID: "session-of-the-first", Clauses: []string{"AC-051", "AC-055"}, Control: switches + or + refuses,
		Why: "the handler has closed over the session that there was when it was made",
		Patches: []Patch{
			{app, sendSwitch, "await send({ type: \"switch_agent\", agentId, sessionId: first });"},
			{app, "  if (how === \"deleted\") return;\n", "  first ??= id;\n  if (how === \"deleted\") return;\n"},
			{app, "let running = false;", "let first = null;\nlet running = false;"},
		},
	},
	{
		ID: "session-of-the-latest", Clauses: []string{"AC-051", "AC-055"}, Control: switches + or + refuses,
		Why: "the id is stored where sessions are made, and not where they are loaded",
		Patches: []Patch{
			{app, sendSwitch, "await send({ type: \"switch_agent\", agentId, sessionId: latest ?? sessionId });"},
			{app, "  if (how === \"deleted\") return;\n", "  if (how === \"created\") latest = id;\n  if (how === \"deleted\") return;\n"},
			{app, "let running = false;", "let latest = null;\nlet running = false;"},
		},
	},
	{
		ID: "sessions-all-switched", Clauses: []string{"AC-051", "AC-052", "AC-055"}, Control: switches + or + refuses,
		Why: "the selector is taken for a setting of the page, which all its sessions share",
		Patches: []Patch{
			{app, sendSwitch, "for (const id of made) await send({ type: \"switch_agent\", agentId, sessionId: id });"},
			{app, "  if (how === \"deleted\") return;\n", "  made.add(id);\n  if (how === \"deleted\") return;\n"},
			{app, "let running = false;", "const made = new Set();\nlet running = false;"},
		},
	},
}

const again = "send({ type: \"switch_agent\", agentId: agents.current(), sessionId: sessions.bound() }).catch(() => {});\n"

// uncalledFaults send a switch_agent that nobody asked for (3.3).
var uncalledFaults = []Mutant{
	{
		ID: "list-switches", Clauses: []string{"AC-052"}, Control: switches + or + refuses,
		Why:     "whatever changes the selection tells the server",
		Patches: []Patch{{app, "  sessions.listArrived();\n", "  if (sessions.bound()) " + again + "  sessions.listArrived();\n"}},
	},
	{
		ID: "rollback-switches", Clauses: []string{"AC-052"}, Control: switches,
		Why:     "going back is a change of the selection too",
		Patches: []Patch{{app, "  prompts.show(text, options);\n", "  prompts.show(text, options);\n  " + again}},
	},
	{
		ID: "success-switches", Clauses: []string{"AC-052"}, Control: refuses,
		Why:     "the library fires change where a value is set by a script",
		Patches: []Patch{{app, "  prompts.clear(\"agent\");\n  chat.system(", "  " + again + "  prompts.clear(\"agent\");\n  chat.system("}},
	},
	{
		ID: "choice-switches-twice", Clauses: []string{"AC-052"}, Control: preselects,
		Why:     "input was listened to for one browser, change for another",
		Patches: []Patch{{app, "listen(\"mainAgentSelect\", \"change\", chooseAgent);\n", "listen(\"mainAgentSelect\", \"change\", chooseAgent);\nlisten(\"mainAgentSelect\", \"input\", chooseAgent);\n"}},
	},
	{
		ID: "focus-switches", Clauses: []string{"AC-052"}, Control: preselects,
		Why: "whoever goes to the selector is about to use it",
		Patches: []Patch{{app, "listen(\"mainAgentSelect\", \"change\", chooseAgent);\n",
			"listen(\"mainAgentSelect\", \"change\", chooseAgent);\nselect.addEventListener(\"focus\", () => { if (sessions.bound()) " + "send({ type: \"switch_agent\", agentId: select.value, sessionId: sessions.bound() }).catch(() => {}); });\n"}},
	},
}
