package pages

const (
	logList     = "log.add(\"info\", event.type, t(\"log.list\", { count: agents.all().length, current }), event);"
	logSwitched = "  log.add(\"info\", event.type, `${from} → ${to}`, event);\n"
	logError    = "  log.add(\"error\", event.type, [errorCode, text].filter(Boolean).map(printed).join(\" · \"), event);\n"
	listWords   = `"log.list": "收到 {count} 个主代理,currentAgentId: {current}"`
)

// logFaults write an event into the log wrongly, or not at all (3.4, 4).
var logFaults = []Mutant{
	{
		ID: "list-not-logged", Clauses: []string{"AC-087", "AC-088"}, Control: switches + or + refuses,
		Why:     "lists come often, and would fill the log",
		Patches: []Patch{{app, "  " + logList + "\n", ""}},
	},
	{
		ID: "list-logged-without-count", Clauses: []string{"AC-087"}, Control: switches + or + refuses,
		Why:     "the count is in the selector",
		Patches: []Patch{{words, listWords, `"log.list": "收到主代理列表,currentAgentId: {current}"`}},
	},
	{
		ID: "list-logged-without-current", Clauses: []string{"AC-087"}, Control: switches + or + refuses,
		Why:     "the current agent is in the selector",
		Patches: []Patch{{words, listWords, `"log.list": "收到 {count} 个主代理"`}},
	},
	{
		ID: "list-logged-with-the-count-before", Clauses: []string{"AC-087"}, Control: switches + or + refuses,
		Why: "an event is logged before it is handled, by what is stored",
		Patches: []Patch{
			{app, "  agents.list(event.data);\n", "  const count = agents.all().length;\n  agents.list(event.data);\n"},
			{app, "{ count: agents.all().length, current }", "{ count, current }"},
		},
	},
	{
		ID: "list-logged-by-name", Clauses: []string{"AC-087"}, Control: switches + or + refuses,
		Why:     "an id is nothing to show to people",
		Patches: []Patch{{app, "const current = printed(event.data.currentAgentId ?? null);", "const current = agents.nameOf(event.data.currentAgentId);"}},
	},
	{
		ID: "list-logged-as-debug", Clauses: []string{"AC-087"}, Control: switches + or + refuses,
		Why:     "lists come often, and are nothing to look at",
		Patches: []Patch{{app, logList, "log.add(\"debug\", event.type, t(\"log.list\", { count: agents.all().length, current }), event);"}},
	},
	{
		ID: "success-not-logged", Clauses: []string{"AC-061", "AC-062", "AC-065", "AC-089", "AC-090"}, Control: refuses,
		Why:     "the chat has it already",
		Patches: []Patch{{app, logSwitched, ""}},
	},
	{
		ID: "success-logged-by-ids", Clauses: []string{"AC-089"}, Control: switches + or + refuses,
		Why:     "the log is for developers, and has what came over the wire",
		Patches: []Patch{{app, logSwitched, "  log.add(\"info\", event.type, `${event.data.previousAgentId} → ${event.data.currentAgentId}`, event);\n"}},
	},
	{
		ID: "success-logged-without-the-former", Clauses: []string{"AC-089"}, Control: switches + or + refuses,
		Why:     "the event has one name, and the log has what came over the wire",
		Patches: []Patch{{app, logSwitched, "  log.add(\"info\", event.type, to, event);\n"}},
	},
	{
		ID: "success-logged-without-a-level", Clauses: []string{"AC-089"}, Control: switches + or + refuses,
		Why:     "the level is optional where rows are added, and was left out",
		Patches: []Patch{{app, logSwitched, "  log.add(\"\", event.type, `${from} → ${to}`, event);\n"}},
	},
	{
		ID: "success-logged-without-its-type", Clauses: []string{"AC-065"}, Control: refuses,
		Why:     "types are translated, as everything else on the page is",
		Patches: []Patch{{app, logSwitched, "  log.add(\"info\", \"主代理切换\", `${from} → ${to}`, event);\n"}},
	},
	{
		ID: "error-not-logged", Clauses: []string{"AC-091"}, Control: switches + or + refuses,
		Why:     "the prompt has it already",
		Patches: []Patch{{app, logError, ""}},
	},
	{
		ID: "error-logged-as-a-warning", Clauses: []string{"AC-091"}, Control: switches + or + refuses,
		Why:     "the page works on, so it is none of its errors",
		Patches: []Patch{{app, logError, "  log.add(\"warn\", event.type, [errorCode, text].filter(Boolean).map(printed).join(\" · \"), event);\n"}},
	},
	{
		ID: "error-logged-without-its-code", Clauses: []string{"AC-091"}, Control: switches + or + refuses,
		Why:     "what the prompt says is logged, and no more",
		Patches: []Patch{{app, logError, "  log.add(\"error\", event.type, text, event);\n"}},
	},
	{
		ID: "error-logged-by-its-code", Clauses: []string{"AC-091"}, Control: switches + or + refuses,
		Why:     "the log is for developers, who know the codes",
		Patches: []Patch{{app, logError, "  log.add(\"error\", event.type, printed(errorCode), event);\n"}},
	},
	{
		ID: "error-logged-in-the-servers-words", Clauses: []string{"AC-091"}, Control: switches + or + refuses,
		Why:     "the log has what came over the wire, and the prompt what people read",
		Patches: []Patch{{app, logError, "  log.add(\"error\", event.type, `${errorCode} · ${event.data.message}`, event);\n"}},
	},
	{
		ID: "local-time-always", Clauses: []string{"AC-061", "AC-088", "AC-090", "AC-091"}, Control: switches + or + refuses,
		Why:     "a row is given its time by the log, when it is added",
		Patches: []Patch{{logs, "  return said || new Date();\n", "  return new Date();\n"}},
	},
	{
		ID: "no-local-time", Clauses: []string{"AC-062", "AC-088"}, Control: switches + or + refuses,
		Why:     "all events that were ever seen had a timestamp",
		Patches: []Patch{{logs, "  return said || new Date();\n", "  return said;\n"}},
	},
	{
		ID: "no-time", Clauses: []string{"AC-061", "AC-062", "AC-088", "AC-090", "AC-091"}, Control: switches + or + refuses,
		Why:     "a narrow panel has no room for the time",
		Patches: []Patch{{logs, "      timeElement(time),\n", ""}},
	},
	{
		ID: "time-without-clock", Clauses: []string{"AC-061", "AC-062", "AC-088", "AC-090", "AC-091"}, Control: switches + or + refuses,
		Why:     "times are written as dates, as they are in the list of sessions",
		Patches: []Patch{{logs, "  return `${day} ${clock}`;\n", "  return day;\n"}},
	},
}
