package pages

// survivor is a fault that is right and that nothing finds.
type survivor struct {
	Mutant
	Found string // what would find it
}

// survivors are kept in step with the page, and become part of All when the suite finds them.
var survivors = []survivor{
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
}
