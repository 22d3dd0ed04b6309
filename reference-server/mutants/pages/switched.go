package pages

const (
	takeSwitched = "    currentAgentId = data.currentAgentId ?? currentAgentId;\n"
	chatSystem   = "  chat.system(t(\"agent.switched\", { from, to }));\n"
	switchedText = `"agent.switched": "主代理已切换: {from} → {to}"`
)

// switchedFaults take an agent_switched wrongly (3.4).
var switchedFaults = []Mutant{
	{
		ID: "success-not-selected", Clauses: []string{"AC-013", "AC-046", "AC-057", "AC-059", "AC-065"}, Control: refuses,
		Why:     "the id is stored, and the selector is drawn again by the next list",
		Patches: []Patch{{agents, takeSwitched + "    render();\n", takeSwitched}},
	},
	{
		ID: "success-in-another-field", Clauses: []string{"AC-057", "AC-058", "AC-059"}, Control: refuses,
		Why:     "the new agent is read from the field of the request",
		Patches: []Patch{{agents, takeSwitched, "    currentAgentId = data.agentId ?? currentAgentId;\n"}},
	},
	{
		ID: "success-is-what-was-asked-for", Clauses: []string{"AC-058", "AC-059"}, Control: switches + or + refuses,
		Why: "the event is taken for a confirmation, and what is in it for a repetition",
		Patches: []Patch{
			{app, "  agents.settle();\n  if (asked !== sessions.bound())", "  const wanted = agents.switching()?.agentId;\n  agents.settle();\n  if (asked !== sessions.bound())"},
			{app, "agents.switched(event.data);", "agents.switched({ ...event.data, currentAgentId: wanted ?? event.data.currentAgentId });"},
		},
	},
	{
		ID: "success-validated-strictly", Clauses: []string{"AC-057", "AC-119"}, Control: switches + or + refuses,
		Why: "events go through a schema that allows no fields but those of the document",
		Patches: []Patch{{app, "function agentSwitched(event) {\n",
			"const allowed = [\"previousAgentId\", \"currentAgentId\", \"agentName\", \"sessionId\", \"timestamp\"];\n\nfunction agentSwitched(event) {\n" +
				"  if (!Object.keys(event.data).every((key) => allowed.includes(key))) return;\n"}},
	},
	{
		ID: "untimed-events-dropped", Clauses: []string{"AC-062", "AC-088"}, Control: switches + or + refuses,
		Why:     "events are put in order by their time, and one without is in none",
		Patches: []Patch{{app, "  const named = event.data.sessionId ?? null;\n", "  if (!event.timestamp && !event.data.timestamp) return;\n  const named = event.data.sessionId ?? null;\n"}},
	},
}

// messageFaults tell of a switch wrongly (3.4).
var messageFaults = []Mutant{
	{
		ID: "success-untold", Clauses: []string{"AC-009", "AC-013", "AC-046", "AC-047", "AC-060", "AC-065", "AC-120"}, Control: refuses,
		Why:     "that the new agent is selected is thought to say enough",
		Patches: []Patch{{app, chatSystem, ""}},
	},
	{
		ID: "success-told-in-a-toast", Clauses: []string{"AC-047", "AC-060"}, Control: refuses,
		Why:     "the page has one way to tell of things, and that is a toast",
		Patches: []Patch{{app, chatSystem, "  prompts.show(t(\"agent.switched\", { from, to }), { level: \"note\" });\n"}},
	},
	{
		ID: "success-told-by-ids", Clauses: []string{"AC-047", "AC-060", "AC-063"}, Control: refuses,
		Why:     "the event has ids, and the message is made of it",
		Patches: []Patch{{app, chatSystem, "  chat.system(t(\"agent.switched\", { from: event.data.previousAgentId, to: event.data.currentAgentId }));\n"}},
	},
	{
		ID: "success-told-without-the-former", Clauses: []string{"AC-047", "AC-060", "AC-063"}, Control: refuses,
		Why:     "where one comes from, one knows",
		Patches: []Patch{{words, switchedText, `"agent.switched": "主代理已切换: {to}"`}},
	},
	{
		ID: "success-told-backwards", Clauses: []string{"AC-047", "AC-060", "AC-063"}, Control: refuses,
		Why:     "the two names are arguments, and one of the calls has them the other way round",
		Patches: []Patch{{words, switchedText, `"agent.switched": "主代理已切换: {to} → {from}"`}},
	},
	{
		ID: "success-told-with-another-arrow", Clauses: []string{"AC-047", "AC-060", "AC-120"}, Control: refuses,
		Why:     "no key of the keyboard has the arrow",
		Patches: []Patch{{words, switchedText, `"agent.switched": "主代理已切换: {from} -> {to}"`}},
	},
	{
		ID: "new-name-from-the-list", Clauses: []string{"AC-060"}, Control: switches + or + refuses,
		Why:     "both names are looked up in the same way",
		Patches: []Patch{{agents, "const to = data.agentName || nameOf(data.currentAgentId);", "const to = nameOf(data.currentAgentId);"}},
	},
	{
		ID: "former-from-the-page", Clauses: []string{"AC-063", "AC-064"}, Control: switches + or + refuses,
		Why:     "the page knows what it had, so the event need not be asked",
		Patches: []Patch{{agents, "nameOf(data.previousAgentId ?? currentAgentId)", "nameOf(currentAgentId)"}},
	},
	{
		ID: "former-undefined", Clauses: []string{"AC-064"}, Control: switches + or + refuses,
		Why:     "the former agent is thought to be in the list, as it was just used",
		Patches: []Patch{{agents, "nameOf(data.previousAgentId ?? currentAgentId)", "String(find(data.previousAgentId)?.name)"}},
	},
	{
		ID: "former-unknown", Clauses: []string{"AC-064"}, Control: switches + or + refuses,
		Why:     "an id is nothing to show to people",
		Patches: []Patch{{agents, "nameOf(data.previousAgentId ?? currentAgentId)", "(find(data.previousAgentId)?.name ?? \"未知主代理\")"}},
	},
	{
		ID: "names-never-forgotten", Clauses: []string{"AC-063", "AC-085", "AC-106"}, Control: switches + or + refuses,
		Why: "names are kept beside the list, for what is said of agents that were there once",
		Patches: []Patch{
			{agents, "const nameOf = (id) => find(id)?.name || printed(id ?? \"-\");",
				"const names = new Map();\n  const nameOf = (id) => names.get(id) || printed(id ?? \"-\");"},
			{agents, "    select.replaceChildren(...options());\n",
				"    for (const { id, name } of agents) if (!names.has(id)) names.set(id, name);\n    select.replaceChildren(...options());\n"},
		},
	},
	{
		ID: "message-is-html", Clauses: []string{"AC-060"}, Control: switches + or + refuses,
		Why: "messages of the page's own are written in HTML",
		Patches: []Patch{{chat, "    element.append(make(\"span\", t(\"role.system\")), \" \", make(\"span\", text));\n",
			"    element.innerHTML = `<span>${t(\"role.system\")}</span> ${text}`;\n"}},
	},
}
