package pages

const theSelect = "        <select id=\"mainAgentSelect\" aria-describedby=\"agentHint\" disabled></select>\n"

// placeFaults put the selector where it is not looked for, or make it something else (3.2).
var placeFaults = []Mutant{
	{
		ID: "selector-in-the-composer", Clauses: []string{"AC-027"}, Control: switches,
		Why: "the agent belongs to the message that it answers",
		Patches: []Patch{
			{index, theSelect, ""},
			{index, "        <button id=\"abortBtn\"", theSelect + "        <button id=\"abortBtn\""},
		},
	},
	{
		ID: "selector-at-the-left", Clauses: []string{"AC-027"}, Control: switches,
		Why:     "the header is laid out for languages that run the other way",
		Patches: []Patch{{style, "", ".chat .head { flex-direction: row-reverse; }"}},
	},
	{
		ID: "selector-behind-a-button", Clauses: []string{"AC-027"}, Control: switches,
		Why:     "the list of agents got a button to load it again, and that the place beside it",
		Patches: []Patch{{index, theSelect, theSelect + "        <button type=\"button\">刷新</button>\n"}},
	},
	{
		ID: "selector-appears-on-hover", Clauses: []string{"AC-011"}, Control: "@AC-087",
		Why:     "the header is to be quiet while nobody needs it",
		Patches: []Patch{{style, "", "#mainAgentSelect { opacity: 0; }\n.head:hover #mainAgentSelect { opacity: 1; }"}},
	},
	{
		ID: "selector-of-another-id", Clauses: []string{"AC-029"}, Control: switches,
		Why: "the page names its elements by a scheme of its own",
		Patches: []Patch{
			{index, "<select id=\"mainAgentSelect\"", "<select id=\"" + OtherSelectorID + "\""},
			{index, "for=\"mainAgentSelect\"", "for=\"" + OtherSelectorID + "\""},
			{app, "$(\"mainAgentSelect\")", "$(\"" + OtherSelectorID + "\")"},
			{app, "listen(\"mainAgentSelect\"", "listen(\"" + OtherSelectorID + "\""},
		},
	},
	{
		ID: "selector-is-a-list", Clauses: []string{"AC-028"}, Control: begins,
		Why: "the design system has a drop-down of its own, which is no select",
		Patches: []Patch{
			{index, "<select id=\"mainAgentSelect\" aria-describedby=\"agentHint\" disabled></select>", "<div id=\"mainAgentSelect\" role=\"listbox\" tabindex=\"0\" aria-describedby=\"agentHint\"></div>"},
			{agents, "    select.setAttribute(\"aria-busy\"", "    select.setAttribute(\"aria-disabled\", String(select.disabled));\n    select.setAttribute(\"aria-busy\""},
		},
	},
	{
		ID: "one-agent-disables", Clauses: []string{"AC-099"}, Control: switches,
		Why:     "there is nothing to choose from",
		Patches: []Patch{{agents, "!listed || agents.length === 0 ||", "!listed || agents.length < 2 ||"}},
	},
	{
		ID: "one-agent-is-no-choice", Clauses: []string{"AC-099"}, Control: switches,
		Why:     "the current agent cannot be chosen again",
		Patches: []Patch{{agents, "    if (description) option.title", "    option.disabled = agents.length === 1;\n    if (description) option.title"}},
	},
	{
		ID: "one-agent-unlisted", Clauses: []string{"AC-098"}, Control: switches,
		Why:     "a list of one is nothing to choose from, and is not filled in",
		Patches: []Patch{{agents, "const choices = agents.map(agentOption);", "const choices = agents.length > 1 ? agents.map(agentOption) : [];"}},
	},
}

// OtherSelectorID is the id of the selector of a page that does not follow the document.
const OtherSelectorID = "agentSelector"

// emptyFaults take a list without agents wrongly (3.2, 5.4).
var emptyFaults = []Mutant{
	{
		ID: "empty-list-in-other-words", Clauses: []string{"AC-032", "AC-100", "AC-121"}, Control: switches,
		Why:     "the component has a text for an empty list",
		Patches: []Patch{{words, `"agent.none": "(暂无可用主代理)"`, `"agent.none": "(无数据)"`}},
	},
	{
		ID: "notes-can-be-chosen", Clauses: []string{"AC-032", "AC-100", "AC-108"}, Control: switches,
		Why:     "the select is disabled anyway, so its option is thought to be",
		Patches: []Patch{{agents, "    option.disabled = true;\n    option.selected = true;\n", "    option.selected = true;\n"}},
	},
	{
		ID: "empty-list-ignored", Clauses: []string{"AC-100", "AC-101"}, Control: switches,
		Why:     "a list without entries is taken for a failure to read the list",
		Patches: []Patch{{agents, "  function list(data) {\n", "  function list(data) {\n    if (clean(data.agents).length === 0) return;\n"}},
	},
	{
		ID: "empty-list-leaves-options", Clauses: []string{"AC-100"}, Control: switches,
		Why:     "options are replaced by those of the list, one by one",
		Patches: []Patch{{agents, "    select.replaceChildren(...options());\n", "    if (!listed || agents.length > 0) select.replaceChildren(...options());\n"}},
	},
	{
		ID: "empty-list-enables", Clauses: []string{"AC-101", "AC-121"}, Control: switches,
		Why:     "the list is there, so the selector is enabled",
		Patches: []Patch{{agents, "!listed || agents.length === 0 ||", "!listed ||"}},
	},
	{
		ID: "empty-list-unsaid", Clauses: []string{"AC-102", "AC-121"}, Control: switches,
		Why:     "the option is thought to say enough",
		Patches: []Patch{{agents, `return [[t("agent.noneHint"), "warn"]];`, "return [];"}},
	},
	{
		ID: "empty-list-is-final", Clauses: []string{"AC-101", "AC-121"}, Control: switches,
		Why: "the selector is disabled where the option is made, and nothing there enables it",
		Patches: []Patch{
			{agents, "if (agents.length === 0) return note(t(\"agent.none\"));", "if (agents.length === 0) { select.dataset.none = \"\"; return note(t(\"agent.none\")); }"},
			{agents, "!listed || agents.length === 0 ||", "!listed || \"none\" in select.dataset ||"},
		},
	},
}

// staleFaults take a current agent wrongly that is not in the list (5.5).
var staleFaults = []Mutant{
	{
		ID: "stale-option-missing", Clauses: []string{"AC-103", "AC-122"}, Control: switches,
		Why:     "options are those of the list, and nothing else",
		Patches: []Patch{{agents, "    if (isStale()) choices.unshift(staleOption());\n", ""}},
	},
	{
		ID: "stale-option-last", Clauses: []string{"AC-103", "AC-122"}, Control: switches,
		Why:     "what is special is appended",
		Patches: []Patch{{agents, "choices.unshift(staleOption())", "choices.push(staleOption())"}},
	},
	{
		ID: "stale-option-unnamed", Clauses: []string{"AC-103", "AC-122"}, Control: switches,
		Why:     "the id says nothing to people",
		Patches: []Patch{{words, `"agent.stale": "未知/已失效 ({id})"`, `"agent.stale": "未知/已失效"`}},
	},
	{
		ID: "stale-option-is-html", Clauses: []string{"AC-103"}, Control: switches,
		Why:     "the option is put together as a string of HTML",
		Patches: []Patch{{agents, "    option.disabled = true;\n    return option;\n", "    option.innerHTML = t(\"agent.stale\", { id: currentAgentId });\n    option.disabled = true;\n    return option;\n"}},
	},
	{
		ID: "stale-agent-replaced", Clauses: []string{"AC-103", "AC-122"}, Control: switches,
		Why:     "an agent that is not there is replaced by the first that is",
		Patches: []Patch{{agents, "    if (!bound()) defaultAgentId", "    if (isStale()) currentAgentId = agents[0]?.id ?? null;\n    if (!bound()) defaultAgentId"}},
	},
	{
		ID: "stale-agent-unsaid", Clauses: []string{"AC-104", "AC-122"}, Control: switches,
		Why:     "the option is thought to say enough",
		Patches: []Patch{{agents, "    if (isStale()) all.push([t(\"agent.staleHint\"), \"warn\"]);\n", ""}},
	},
	{
		ID: "stale-agent-hides-the-others", Clauses: []string{"AC-122"}, Control: switches,
		Why:     "the note on it is made like the other notes, which stand alone",
		Patches: []Patch{{agents, "if (isStale()) choices.unshift(staleOption());", "if (isStale()) return [staleOption()];"}},
	},
	{
		ID: "stale-agent-disables", Clauses: []string{"AC-053"}, Control: switches,
		Why:     "without a valid agent the selector is not in a state to be used",
		Patches: []Patch{{agents, "!listed || agents.length === 0 ||", "!listed || agents.length === 0 || isStale() ||"}},
	},
}
