package pages

const createWith = "connection.post(\"/session/create\", { initialAgentId })"

// preselectionFaults lose the choice for the session to come, or take it for a switch (3.2, 3.3, 5.2).
var preselectionFaults = []Mutant{
	{
		ID: "no-choice-without-session", Clauses: []string{"AC-039", "AC-054", "AC-094"}, Control: asks + or + switches,
		Why:     "without a session there is nothing to switch, so the selector is disabled",
		Patches: []Patch{{agents, "!listed || agents.length === 0 ||", "!listed || !bound() || agents.length === 0 ||"}},
	},
	{
		ID: "no-choice-without-current", Clauses: []string{"AC-094"}, Control: asks + or + switches,
		Why:     "while the server has not confirmed an agent, there is nothing to switch from",
		Patches: []Patch{{agents, "!listed || agents.length === 0 ||", "!listed || currentAgentId === null || agents.length === 0 ||"}},
	},
	{
		ID: "preselection-switches", Clauses: []string{"AC-042", "AC-054", "AC-056", "AC-095"}, Control: asks + or + switches,
		Why: "the server is thought to remember the choice of a connection",
		Patches: []Patch{{app, "  if (!sessionId) return agents.prefer(agentId);\n",
			"  if (!sessionId) {\n    agents.prefer(agentId);\n    return send({ type: \"switch_agent\", agentId }).catch(() => {});\n  }\n"}},
	},
	{
		ID: "preselection-not-sent", Clauses: []string{"AC-041", "AC-043", "AC-054", "AC-096"}, Control: asks + or + switches,
		Why:     "the request was there before the preselection",
		Patches: []Patch{{sessions, createWith, "connection.post(\"/session/create\", {})"}},
	},
	{
		ID: "preselection-in-another-field", Clauses: []string{"AC-043", "AC-096"}, Control: asks + or + switches,
		Why:     "the field is named as in the switch",
		Patches: []Patch{{sessions, createWith, "connection.post(\"/session/create\", { agentId: initialAgentId })"}},
	},
	{
		ID: "preselection-by-name", Clauses: []string{"AC-041", "AC-043", "AC-096"}, Control: asks + or + switches,
		Why:     "what is remembered is the text that the prompt needs",
		Patches: []Patch{{sessions, createWith, "connection.post(\"/session/create\", { initialAgentId: initialAgentId && agents.nameOf(initialAgentId) })"}},
	},
	{
		ID: "preselection-switched-to", Clauses: []string{"AC-041", "AC-043", "AC-096"}, Control: asks + or + switches,
		Why: "the session is made first, and then switched, as any other",
		Patches: []Patch{
			{sessions, createWith, "connection.post(\"/session/create\", {})"},
			{sessions, "    bind(id, \"created\", answer);\n", "    bind(id, \"created\", answer);\n    if (initialAgentId) connection.post(\"/message\", { type: \"switch_agent\", agentId: initialAgentId, sessionId: id });\n"},
		},
	},
	{
		ID: "first-preselection-stays", Clauses: []string{"AC-041", "AC-043"}, Control: preselects + or + switches,
		Why:     "a preselection is made once, and the second choice is taken for an accident",
		Patches: []Patch{{agents, "    preferredAgentIdForNewSession = id;\n", "    preferredAgentIdForNewSession ??= id;\n"}},
	},
	{
		ID: "preselection-unsaid", Clauses: []string{"AC-044", "AC-097"}, Control: asks + or + switches,
		Why:     "that it is selected is thought to say enough",
		Patches: []Patch{{agents, "    if (preselected()) all.push([t(\"agent.preselected\", { name: nameOf(preselected()) }), \"note\"]);\n", ""}},
	},
	{
		ID: "preselection-said-by-id", Clauses: []string{"AC-044", "AC-097"}, Control: asks + or + switches,
		Why:     "what is remembered is the id, and the text is made of that",
		Patches: []Patch{{agents, "{ name: nameOf(preselected()) }", "{ name: preselected() }"}},
	},
	{
		ID: "preselection-said-as-a-switch", Clauses: []string{"AC-044", "AC-097"}, Control: asks + or + switches,
		Why:     "both choices share the function that tells of them",
		Patches: []Patch{{words, `"agent.preselected": "已预选主代理: {name},新建会话时将自动使用该主代理"`, `"agent.preselected": "主代理已切换: {name}"`}},
	},
	{
		ID: "preselection-lost-with-the-connection", Clauses: []string{"AC-107"}, Control: preselects + or + switches,
		Why:     "everything is reset when a connection ends",
		Patches: []Patch{{agents, "      defaultAgentId = null;\n", "      defaultAgentId = null;\n      preferredAgentIdForNewSession = null;\n"}},
	},
	{
		ID: "preselection-lost-with-the-list", Clauses: []string{"AC-107"}, Control: preselects + or + switches,
		Why:     "a list says which agent is current, and what was chosen before is out of date",
		Patches: []Patch{{agents, "    agents = clean(data.agents);\n", "    agents = clean(data.agents);\n    preferredAgentIdForNewSession = null;\n"}},
	},
	{
		ID: "preselection-outranks-the-server", Clauses: []string{"AC-117"}, Control: asks + or + switches,
		Why: "a session is thought to have the agent with which it was asked for",
		Patches: []Patch{
			{agents, "    if (id === preferredAgentIdForNewSession) preferredAgentIdForNewSession = null;\n", ""},
			{agents, "if (!bound() && preselected()) return preselected();", "if (preselected()) return preselected();"},
		},
	},
	{
		ID: "session-before-its-answer", Clauses: []string{"AC-056"}, Control: preselects + or + switches,
		Why: "the session is shown at once, by an id that the server's is to replace, and nothing takes it back",
		Patches: []Patch{{sessions, "    const mark = agents.mark();\n    const answer = await " + createWith,
			"    const mark = agents.mark();\n    bound ??= `local-${Date.now()}`;\n    const answer = await " + createWith}},
	},
}
