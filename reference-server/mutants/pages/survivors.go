package pages

// survivor is a fault that is right and that nothing finds.
type survivor struct {
	Mutant
	Found string // what would find it
}

// survivors are kept in step with the page, and become part of All when the suite finds them.
var survivors = []survivor{
	{
		Found: "AC-2-02: sessions of other ids on the second page; both servers give the same, so that no request shows whose it is",
		Mutant: Mutant{
			ID: "session-in-local-storage", Clauses: []string{"AC-017", "AC-051", "AC-055"}, Control: switches + or + refuses,
			Why: "the session is to outlive a reload, and all tabs share what is kept for that",
			Patches: []Patch{
				{sessions, "    bound = id;\n    resume = null;\n", "    bound = id;\n    localStorage.setItem(\"parley.session\", id);\n    resume = null;\n"},
				{app, "  const sessionId = sessions.bound();\n", "  const sessionId = sessions.bound() && localStorage.getItem(\"parley.session\");\n"},
			},
		},
	},
	{
		Found: "AC-3.2-01: hold the selector's right edge against that of the chat's box, not its middle against the box's middle alone",
		Mutant: Mutant{
			ID: "selector-in-the-next-panel", Clauses: []string{"AC-027"}, Control: switches,
			Why: "the agent is a property of the session, and goes where the sessions are listed",
			Patches: []Patch{
				{index, theSelect, ""},
				{index, "        <button id=\"refreshBtn\"", theSelect + "        <button id=\"refreshBtn\""},
			},
		},
	},
	{
		Found: "AC-5.3-01: ask that the selector can be seen, in \"the only option is\" or in \"the option is enabled\"",
		Mutant: Mutant{
			ID: "one-agent-hides", Clauses: []string{"AC-099"}, Control: switches,
			Why:     "there is nothing to choose from",
			Patches: []Patch{{agents, usable, usable + "    select.hidden = agents.length === 1;\n"}},
		},
	},
	{
		Found: "AC-3.2-05: no dialog between the choice and the request; the browser accepts it at once",
		Mutant: Mutant{
			ID: "confirmed-in-a-dialog", Clauses: []string{"AC-033"}, Control: switches,
			Why:     "a switch is not to happen by accident",
			Patches: []Patch{{app, "  switchAgent(agentId, sessionId);\n}", "  if (!confirm(\"切换主代理?\")) return agents.render();\n  switchAgent(agentId, sessionId);\n}"}},
		},
	},
	{
		Found: "\"the chat tells of a switch\": exactly one more such message, up to a fence",
		Mutant: Mutant{
			ID: "success-told-twice", Clauses: []string{"AC-060"}, Control: refuses,
			Why:     "the stream is listened to again with each connection, and once more for the type of the event",
			Patches: []Patch{{app, chatSystem, chatSystem + chatSystem}},
		},
	},
	{
		Found: "a scenario of 5.6 in which the user disconnects and connects again between the preselection and the session",
		Mutant: Mutant{
			ID: "preselection-lost-by-disconnecting", Clauses: []string{"AC-107"}, Control: preselects,
			Why:     "whoever disconnects is done, and begins anew",
			Patches: []Patch{{app, "  connection.close();\n", "  connection.close();\n  agents.prefer(null);\n"}},
		},
	},
	{
		Found: "a scenario of 5.2 in which the first message makes the session, where a page does that",
		Mutant: Mutant{
			ID: "preselection-not-sent-by-a-message", Clauses: []string{"AC-043", "AC-096"}, Control: preselects,
			Why: "the first message makes a session too, in another place",
			Patches: []Patch{
				{sessions, "    return bound ?? create();\n", "    return bound ?? create(false);\n"},
				{sessions, "  function create() {\n    creating ??= whileBinding(createNow)", "  function create(chosen = true) {\n    creating ??= whileBinding(() => createNow(chosen))"},
				{sessions, "  async function createNow() {\n    const initialAgentId = agents.preselected() ?? undefined;\n", "  async function createNow(chosen) {\n    const initialAgentId = (chosen && agents.preselected()) || undefined;\n"},
			},
		},
	},
	{
		Found: "AC-3.2-18: the prompt, after the second choice as well",
		Mutant: Mutant{
			ID: "preselection-said-once", Clauses: []string{"AC-044"}, Control: preselects,
			Why: "the hint is shown where a preselection begins, and not where it changes",
			Patches: []Patch{
				{agents, "{ name: nameOf(preselected()) }", "{ name: firstName ??= nameOf(preselected()) }"},
				{agents, "  let switching = null;", "  let firstName = null;\n  let switching = null;"},
			},
		},
	},
}
