package pages

const (
	beginAndSend = "  const attempt = agents.begin(agentId, sessionId);\n  try {\n    await send({ type: \"switch_agent\", agentId, sessionId });\n"
	ofSwitching  = "agents.length === 0 || switching !== null;"
	busyLook     = "    select.setAttribute(\"aria-busy\", String(switching !== null));\n    select.classList.toggle(\"loading\", switching !== null);\n"
	settled      = "  const options = { topic: \"agent\" };\n  agents.settle();\n"
)

// switchFaults go wrong between a choice and its answer (3.2).
var switchFaults = []Mutant{
	{
		ID: "confirmed-by-a-button", Clauses: []string{"AC-008", "AC-012", "AC-033", "AC-053"}, Control: lists,
		Why: "a switch is not to happen by accident",
		Patches: []Patch{{app, "listen(\"mainAgentSelect\", \"change\", chooseAgent);\n",
			"const confirmation = document.createElement(\"button\");\nconfirmation.textContent = \"切换\";\nselect.before(confirmation);\nconfirmation.addEventListener(\"click\", chooseAgent);\n"}},
	},
	{
		ID: "usable-while-switching", Clauses: []string{"AC-034", "AC-046"}, Control: switches + or + refuses,
		Why:     "the page looks busy, and is thought to be",
		Patches: []Patch{{agents, ofSwitching, "agents.length === 0;"}},
	},
	{
		ID: "busy-after-the-answer", Clauses: []string{"AC-034"}, Control: lists + or + preselects,
		Why: "the switch is noted once the server has taken it",
		Patches: []Patch{{app, beginAndSend,
			"  let attempt = null;\n  try {\n    await send({ type: \"switch_agent\", agentId, sessionId });\n    attempt = agents.begin(agentId, sessionId);\n"}},
	},
	{
		ID: "done-by-the-answer", Clauses: []string{"AC-034", "AC-046"}, Control: switches + or + refuses,
		Why:     "the answer to the request is taken for that to the switch",
		Patches: []Patch{{app, beginAndSend, beginAndSend + "    agents.settle();\n"}},
	},
	{
		ID: "looks-idle-while-switching", Clauses: []string{"AC-035", "AC-046"}, Control: switches + or + refuses,
		Why:     "that it is disabled is thought to be enough to see",
		Patches: []Patch{{agents, busyLook, ""}},
	},
	{
		ID: "looks-busy-for-good", Clauses: []string{"AC-035"}, Control: switches + or + refuses,
		Why:     "the style is added where the switch begins, and is forgotten where it ends",
		Patches: []Patch{{agents, busyLook, "    if (switching) select.classList.add(\"loading\");\n"}},
	},
	{
		ID: "looks-busy-after-an-error", Clauses: []string{"AC-035"}, Control: switches + or + refuses,
		Why: "the style is taken away where a switch has succeeded",
		Patches: []Patch{
			{agents, busyLook, "    if (switching) select.classList.add(\"loading\");\n"},
			{agents, "    const from = nameOf(data", "    select.classList.remove(\"loading\");\n    const from = nameOf(data"},
		},
	},
	{
		ID: "unknown-event-ends-the-switch", Clauses: []string{"AC-034"}, Control: switches + or + refuses,
		Why: "what is no list and no success falls through to the error",
		Patches: []Patch{{app, "if (!Object.hasOwn(handlers, event.type)) return log.add(\"debug\", event.type, t(\"log.unknown\"), event);",
			"if (!Object.hasOwn(handlers, event.type)) return errorEvent(event);"}},
	},
	{
		ID: "message-ends-the-switch", Clauses: []string{"AC-034"}, Control: switches + or + refuses,
		Why:     "when the agent speaks, nothing is in progress any more",
		Patches: []Patch{{app, "  chat.message(event.data);\n", "  chat.message(event.data);\n  if (agents.switching()) agents.settle();\n"}},
	},
	{
		ID: "tabs-switch-along", Clauses: []string{"AC-017"}, Control: switches + or + refuses,
		Why: "the tabs of one user are kept in step",
		Patches: []Patch{
			{app, "  const { from, to } = agents.switched(event.data);\n", "  const { from, to } = agents.switched(event.data);\n  tabs.postMessage(event.data);\n"},
			{app, "", "const tabs = new BroadcastChannel(\"parley\");\ntabs.addEventListener(\"message\", (message) => agents.switched(message.data));"},
		},
	},
}

// endFaults go wrong where a switch ends (3.2).
var endFaults = []Mutant{
	{
		ID: "disabled-after-success", Clauses: []string{"AC-036", "AC-046"}, Control: refuses,
		Why:     "only the error is thought to need the selector again",
		Patches: []Patch{{app, "  agents.settle();\n  if (asked !== sessions.bound())", "  if (asked !== sessions.bound())"}},
	},
	{
		ID: "disabled-after-error", Clauses: []string{"AC-037", "AC-048"}, Control: switches,
		Why:     "the selector is enabled where the new agent is selected",
		Patches: []Patch{{app, settled, "  const options = { topic: \"agent\" };\n"}},
	},
	{
		ID: "disabled-after-not-found", Clauses: []string{"AC-037"}, Control: switches + or + refuses,
		Why:     "this code has a branch of its own, which returns early",
		Patches: []Patch{{app, settled, "  const options = { topic: \"agent\" };\n  if (errorCode !== \"agent_not_found\") agents.settle();\n"}},
	},
	{
		ID: "disabled-after-no-session", Clauses: []string{"AC-037"}, Control: switches + or + refuses,
		Why:     "without a session there is nothing to switch",
		Patches: []Patch{{app, settled, "  const options = { topic: \"agent\" };\n  if (errorCode !== \"session_not_found\") agents.settle();\n"}},
	},
	{
		ID: "disabled-after-unlisted-code", Clauses: []string{"AC-037"}, Control: switches + or + refuses,
		Why:     "a list of the codes that end a switch was made before the last of them was known",
		Patches: []Patch{{app, settled, "  const options = { topic: \"agent\" };\n  if (errorCode !== \"invalid_agent_id_format\") agents.settle();\n"}},
	},
	{
		ID: "no-rollback", Clauses: []string{"AC-038", "AC-048"}, Control: switches,
		Why:     "the choice is stored when it is made, and nobody remembers what was there before",
		Patches: []Patch{{agents, "    switching = { agentId, sessionId };\n", "    switching = { agentId, sessionId };\n    currentAgentId = agentId;\n"}},
	},
	{
		ID: "rollback-to-the-first", Clauses: []string{"AC-038", "AC-058"}, Control: refuses,
		Why:     "the select is reset to its first option",
		Patches: []Patch{{app, "  prompts.show(text, options);\n", "  prompts.show(text, options);\n  select.selectedIndex = 0;\n"}},
	},
	{
		ID: "rollback-to-the-listed", Clauses: []string{"AC-038", "AC-058"}, Control: switches,
		Why:     "the selection is changed, and what is stored is still that of the list",
		Patches: []Patch{{agents, "    currentAgentId = data.currentAgentId ?? currentAgentId;\n    render();\n", "    select.value = data.currentAgentId;\n"}},
	},
	{
		ID: "rollback-for-busy-alone", Clauses: []string{"AC-038"}, Control: switches + or + refuses,
		Why: "busy is the error of the example",
		Patches: []Patch{{app, settled,
			"  const options = { topic: \"agent\" };\n  const wanted = select.value;\n  agents.settle();\n  if (errorCode !== \"agent_busy\") select.value = wanted;\n"}},
	},
	{
		ID: "rollback-leaves-nothing-selected", Clauses: []string{"AC-038", "AC-048"}, Control: switches,
		Why:     "the select is cleared, as it is not known what the server has",
		Patches: []Patch{{app, settled, settled + "  select.value = \"\";\n"}},
	},
}
