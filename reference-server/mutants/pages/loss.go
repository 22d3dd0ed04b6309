package pages

const usable = "    select.disabled = !listed || agents.length === 0 || switching !== null;\n"

// lossFaults take wrongly that there is no connection yet, or none any more (5.1, 5.6).
var lossFaults = []Mutant{
	{
		ID: "usable-without-connection", Clauses: []string{"AC-092", "AC-105"}, Control: asks + or + switches,
		Why:     "only an empty list and a switch are thought to need it disabled",
		Patches: []Patch{{agents, usable, "    select.disabled = listed && (agents.length === 0 || switching !== null);\n"}},
	},
	{
		ID: "connect-first-unsaid", Clauses: []string{"AC-093"}, Control: asks + or + switches,
		Why:     "the button is in sight",
		Patches: []Patch{{agents, "if (!connected) return [[t(\"agent.connectFirst\"), \"info\"]];", "if (!connected) return [];"}},
	},
	{
		ID: "connect-first-said-when-tried", Clauses: []string{"AC-093"}, Control: asks + or + switches,
		Why: "the hint comes when somebody goes to the selector, which cannot be done while it is disabled",
		Patches: []Patch{
			{agents, "if (!connected) return [[t(\"agent.connectFirst\"), \"info\"]];", "if (!connected) return [];"},
			{app, "", "select.addEventListener(\"click\", () => { if (connection.state() !== \"connected\") prompts.show(t(\"agent.connectFirst\")); });"},
		},
	},
	{
		ID: "loss-unnoticed", Clauses: []string{"AC-105", "AC-106", "AC-108"}, Control: asks + or + switches,
		Why:     "EventSource comes back by itself, so nothing is thought to be lost",
		Patches: []Patch{{connection, "if (!(message instanceof MessageEvent)) return lose();", "if (!(message instanceof MessageEvent)) return;"}},
	},
	{
		ID: "loss-leaves-usable", Clauses: []string{"AC-105"}, Control: begins + or + asks + or + switches,
		Why: "the option says it, and nothing can be chosen that is not there",
		Patches: []Patch{
			{agents, usable, "    select.disabled = (!listed && !select.dataset.used) || (listed && agents.length === 0) || switching !== null;\n    if (listed) select.dataset.used = \"true\";\n"},
		},
	},
	{
		ID: "loss-leaves-the-list", Clauses: []string{"AC-106", "AC-108"}, Control: begins + or + asks + or + switches,
		Why: "the list will be the same after the connection is back, and the selector need not jump",
		Patches: []Patch{
			{agents, "      listed = false;\n      agents = [];\n      currentAgentId = null;\n", ""},
			{agents, usable, "    select.disabled = !connected || agents.length === 0 || switching !== null;\n"},
		},
	},
	{
		ID: "loss-leaves-the-current", Clauses: []string{"AC-106"}, Control: begins + or + asks + or + switches,
		Why: "a list that names no current agent is thought to change nothing",
		Patches: []Patch{
			{agents, "      currentAgentId = null;\n", ""},
			{agents, "currentAgentId = data.currentAgentId ?? null;", "currentAgentId = data.currentAgentId ?? currentAgentId;"},
		},
	},
	{
		ID: "loss-leaves-no-option", Clauses: []string{"AC-108"}, Control: begins + or + asks + or + switches,
		Why:     "the options are removed, as there are none",
		Patches: []Patch{{agents, "if (!listed) return note(t(\"agent.notConnected\"));", "if (!listed) return [];"}},
	},
	{
		ID: "loss-in-other-words", Clauses: []string{"AC-108"}, Control: begins + or + asks + or + switches,
		Why:     "the page is coming back already, and says so",
		Patches: []Patch{{words, `"agent.notConnected": "(未连接)"`, `"agent.notConnected": "(正在重连…)"`}},
	},
	{
		ID: "disconnect-leaves-the-stream", Clauses: []string{"AC-105"}, Control: begins + or + asks + or + switches,
		Why:     "the variable is set to null, which is thought to close what it was",
		Patches: []Patch{{connection, "  function close() {\n    drop();\n", "  function close() {\n    source = null;\n"}},
	},
	{
		ID: "back-before-the-list", Clauses: []string{"AC-109"}, Control: begins + or + asks + or + switches,
		Why:     "what the loss disabled, the connection enables",
		Patches: []Patch{{agents, usable, "    select.disabled = !connected || (listed && agents.length === 0) || switching !== null;\n"}},
	},
	{
		ID: "back-with-the-old-list", Clauses: []string{"AC-109"}, Control: begins + or + asks + or + switches,
		Why: "what was listed is kept beside, to be there at once",
		Patches: []Patch{
			{agents, "      agents = [];\n", "      kept = agents.length > 0 ? agents : kept;\n      agents = [];\n"},
			{agents, "    connected = now;\n", "    connected = now;\n    if (connected && kept.length > 0) {\n      listed = true;\n      agents = kept;\n    }\n"},
			{agents, "  let switching = null;", "  let kept = [];\n  let switching = null;"},
		},
	},
	{
		ID: "back-for-good-disabled", Clauses: []string{"AC-111"}, Control: begins + or + asks + or + switches,
		Why: "the selector is enabled by the first list, as part of setting the page up",
		Patches: []Patch{
			{agents, usable, "    if (!connected && select.dataset.used) select.dataset.lost = \"true\";\n    if (listed) select.dataset.used = \"true\";\n" +
				"    select.disabled = !listed || agents.length === 0 || switching !== null || \"lost\" in select.dataset;\n"},
		},
	},
	{
		ID: "back-with-the-list-ignored", Clauses: []string{"AC-111"}, Control: begins + or + asks + or + switches,
		Why: "the list is listened to once, and the listener goes with the first connection",
		Patches: []Patch{
			{agents, "  function list(data) {\n", "  function list(data) {\n    if (over) return;\n"},
			{agents, "    if (!connected) {\n      listed = false;\n", "    if (!connected) {\n      over = listed || over;\n      listed = false;\n"},
			{agents, "  let switching = null;", "  let over = false;\n  let switching = null;"},
		},
	},
	{
		ID: "switch-outlives-the-connection", Clauses: []string{"AC-111"}, Control: begins + or + asks + or + switches,
		Why:     "what waits for its answer waits on, though that cannot come any more",
		Patches: []Patch{{agents, "      defaultAgentId = null;\n      switching = null;\n", "      defaultAgentId = null;\n"}},
	},
}
