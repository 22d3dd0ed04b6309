package pages

// listFaults take an agent_list wrongly, or show it wrongly (1.2, 3.1).
var listFaults = []Mutant{
	{
		ID: "list-ignored", Clauses: []string{"AC-006", "AC-010", "AC-023"}, Control: begins,
		Why:     "the handler was written for the list that an HTTP request used to return, and the event has none",
		Patches: []Patch{{app, "  agent_list: agentList,\n", ""}},
	},
	{
		ID: "list-taken-once", Clauses: []string{"AC-021", "AC-023", "AC-024"}, Control: asks + or + switches,
		Why:     "the selector is filled when it is made, and later lists are taken for repetitions",
		Patches: []Patch{{agents, "  function list(data) {\n", "  function list(data) {\n    if (listed) return;\n"}},
	},
	{
		ID: "list-appended", Clauses: []string{"AC-021", "AC-023"}, Control: asks + or + switches,
		Why:     "options are added to the select, which nobody empties before",
		Patches: []Patch{{agents, "agents = clean(data.agents);", "agents = [...agents, ...clean(data.agents)];"}},
	},
	{
		ID: "list-merged-by-id", Clauses: []string{"AC-021", "AC-023"}, Control: asks + or + switches,
		Why:     "agents are kept in a store that adds what is new, and does not look at what it has",
		Patches: []Patch{{agents, "agents = clean(data.agents);", "agents = clean(data.agents).map((agent) => find(agent.id) ?? agent);"}},
	},
	{
		ID: "list-cut", Clauses: []string{"AC-006", "AC-023", "AC-030"}, Control: asks + or + switches,
		Why:     "the component shows the first page of a list, and there is no second",
		Patches: []Patch{{agents, "agents = clean(data.agents);", "agents = clean(data.agents).slice(0, 20);"}},
	},
	{
		ID: "list-validated-strictly", Clauses: []string{"AC-018", "AC-023"}, Control: asks + or + switches,
		Why:     "entries go through a schema that allows no fields but those of the document",
		Patches: []Patch{{agents, `typeof agent?.id === "string")`, `Object.keys(agent).every((key) => ["id", "name", "description"].includes(key)))`}},
	},
	{
		ID: "list-in-bare-fields", Clauses: []string{"AC-006", "AC-010", "AC-023"}, Control: begins,
		Why:     "the fields are read beside the type, as the other document shows them",
		Patches: []Patch{{connection, "data: isObject(body.data) ? body.data : {} };", "data: body };"}},
	},
	{
		ID: "names-made-of-ids", Clauses: []string{"AC-019", "AC-030"}, Control: asks + or + switches,
		Why: "the built-in agents are named like their ids",
		Patches: []Patch{{agents, `make("option", name || id, { value: id })`,
			`make("option", id.split("_").map((word) => word[0].toUpperCase() + word.slice(1)).join(" "), { value: id })`}},
	},
	{
		ID: "options-show-ids", Clauses: []string{"AC-006", "AC-010", "AC-023"}, Control: begins,
		Why:     "the option is made of the id, which is what is sent later",
		Patches: []Patch{{agents, `make("option", name || id, { value: id })`, `make("option", id, { value: id })`}},
	},
	{
		ID: "options-are-html", Clauses: []string{"AC-023", "AC-030"}, Control: asks + or + switches,
		Why:     "options are put together as a string of HTML",
		Patches: []Patch{{agents, "    if (description) option.title", "    option.innerHTML = name || id;\n    if (description) option.title"}},
	},
	{
		ID: "option-values-are-names", Clauses: []string{"AC-007", "AC-022", "AC-024", "AC-026", "AC-031"}, Control: lists,
		Why:     "an option without a value has its text for one, and the ids are not among them",
		Patches: []Patch{{agents, `make("option", name || id, { value: id })`, `make("option", name || id)`}},
	},
	{
		ID: "first-is-selected", Clauses: []string{"AC-022", "AC-024", "AC-059"}, Control: refuses,
		Why:     "a select shows its first option by itself, which was the current agent when this was tried",
		Patches: []Patch{{agents, "    if (agents.length > 0) select.value = shown() ?? \"\"; // without a current agent nothing is selected\n", ""}},
	},
	{
		ID: "selector-is-a-menu", Clauses: []string{"AC-007", "AC-026", "AC-031", "AC-098"}, Control: asks,
		Why: "the selector is a menu of what can be done, headed by what it is for",
		Patches: []Patch{
			{agents, "const choices = agents.map(agentOption);", "const choices = [...note(\"切换主代理…\"), ...agents.map(agentOption)];"},
			{agents, "select.value = shown() ?? \"\";", "select.value = \"\";"},
		},
	},
	{
		ID: "none-current-is-stale", Clauses: []string{"AC-103"}, Control: asks + or + switches,
		Why:     "null is in no list",
		Patches: []Patch{{agents, "return currentAgentId !== null && !find(currentAgentId);", "return !find(currentAgentId);"}},
	},
	{
		ID: "none-current-is-warned-of", Clauses: []string{"AC-104"}, Control: asks + or + switches,
		Why:     "the warning asks whether the current agent is a known one, and the option whether it has an id",
		Patches: []Patch{{agents, "if (isStale()) all.push(", "if (isStale() || currentAgentId === null) all.push("}},
	},
	{
		ID: "stream-not-opened", Clauses: []string{"AC-025"}, Control: begins,
		Why:     "the button checks the server's health, and the stream is opened with the first session",
		Patches: []Patch{{app, "  connection.open(address);\n", "  fetch(new URL(\"health\", address)).catch(() => {});\n"}},
	},
	{
		ID: "manages-agents", Clauses: []string{"AC-015"}, Control: asks,
		Why: "the page that configures agents was copied, and still registers its example",
		Patches: []Patch{{app, "function agentList(event) {\n",
			"function agentList(event) {\n  connection.request(\"POST\", \"/agents\", { id: \"example\", name: \"Example\" }).catch(() => {});\n"}},
	},
	{
		ID: "missing-agent-deleted", Clauses: []string{"AC-015"}, Control: "@AC-084" + or + switches,
		Why: "what is not found any more is to be gone everywhere",
		Patches: []Patch{{app, "    agents.refresh(availableAgents);\n",
			"    agents.refresh(availableAgents);\n    send({ type: \"delete_agent\", agentId: select.value }).catch(() => {});\n"}},
	},
}
