package pages

const (
	showPrompt  = "  prompts.show(text, options);\n"
	takeList    = "    agents.refresh(availableAgents);\n    options.details = namesOf(availableAgents);\n"
	serverWords = "  return printed(message) || printed(errorCode) || t(\"errorUnknown\");\n"
)

// promptFaults tell of an error in other words than those of the document (3.5).
var promptFaults = []Mutant{
	{
		ID: "errors-unhandled", Clauses: []string{"AC-009", "AC-014", "AC-037", "AC-038", "AC-048"}, Control: switches,
		Why:     "error is what EventSource calls the loss of the connection, and is not listened to as an event",
		Patches: []Patch{{app, "  error: errorEvent,\n", ""}},
	},
	{
		ID: "errors-on-the-console", Clauses: []string{"AC-009", "AC-014", "AC-049", "AC-066", "AC-068", "AC-070", "AC-073", "AC-075", "AC-084", "AC-115"}, Control: switches,
		Why:     "prompts were to be made later, and the console was at hand",
		Patches: []Patch{{app, showPrompt, "  console.error(text, options);\n"}},
	},
	{
		ID: "errors-in-the-log-alone", Clauses: []string{"AC-009", "AC-014", "AC-073", "AC-075"}, Control: switches + or + "@AC-091",
		Why:     "the log is in sight, so errors are thought to be",
		Patches: []Patch{{app, showPrompt, ""}},
	},
	{
		ID: "errors-all-alike", Clauses: []string{"AC-014", "AC-049", "AC-066", "AC-068", "AC-073", "AC-075"}, Control: switches,
		Why:     "one sentence is thought to do for all that can go wrong",
		Patches: []Patch{{app, "if (knows(`error.${errorCode}`)) return t(`error.${errorCode}`);", "if (errorCode) return \"切换主代理失败\";"}},
	},
	{
		ID: "errors-in-the-servers-words", Clauses: []string{"AC-049", "AC-066", "AC-068", "AC-073", "AC-075"}, Control: switches,
		Why:     "the server has a message for every error, which is shown",
		Patches: []Patch{{app, "  if (knows(`error.${errorCode}`)) return t(`error.${errorCode}`);\n", ""}},
	},
	{
		ID: "english-by-default", Clauses: []string{"AC-044", "AC-093", "AC-108", "AC-120"}, Control: asks,
		Why:     "the page is English until somebody chooses otherwise, whatever the browser asks for",
		Patches: []Patch{{words, "recall(\"language\") ?? navigator.language ?? \"\"", "recall(\"language\") ?? \"en\""}},
	},
	{
		ID: "empty-id-in-the-servers-words", Clauses: []string{"AC-066"}, Control: switches + or + refuses,
		Why:     "the page never sends an empty id, so this code was left out",
		Patches: []Patch{{words, "  \"error.invalid_agent_id\": \"主代理 ID 不能为空\",\n", ""}},
	},
	{
		ID: "format-shortened", Clauses: []string{"AC-068"}, Control: switches + or + refuses,
		Why:     "the toast has room for a few words",
		Patches: []Patch{{words, "主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符", "主代理 ID 格式错误"}},
	},
	{
		ID: "busy-shortened", Clauses: []string{"AC-073"}, Control: switches + or + refuses,
		Why:     "the example has no more of the sentence than this",
		Patches: []Patch{{words, "当前会话有进行中的任务,请先终止对话后再切换主代理", "当前会话有进行中的任务…"}},
	},
	{
		ID: "busy-untold", Clauses: []string{"AC-049", "AC-073"}, Control: switches,
		Why:     "the answer is being written in plain sight",
		Patches: []Patch{{app, showPrompt, "  if (errorCode !== \"agent_busy\") prompts.show(text, options);\n"}},
	},
	{
		ID: "no-session-in-the-log-alone", Clauses: []string{"AC-075"}, Control: switches + or + refuses,
		Why:     "without a session the page makes one, and there is nothing to tell",
		Patches: []Patch{{app, showPrompt, "  if (errorCode !== \"session_not_found\") prompts.show(text, options);\n"}},
	},
	{
		ID: "texts-of-two-codes-swapped", Clauses: []string{"AC-066", "AC-068"}, Control: switches + or + refuses,
		Why: "invalid_agent_id is matched as the beginning of invalid_agent_id_format",
		Patches: []Patch{
			{words, "\"error.invalid_agent_id\": \"主代理 ID 不能为空\"", "\"error.invalid_agent_id_format\": \"主代理 ID 不能为空\""},
			{words, "\"error.invalid_agent_id_format\": \"主代理 ID 格式错误", "\"error.invalid_agent_id\": \"主代理 ID 格式错误"},
		},
	},
}

// notFoundFaults take an agent_not_found wrongly (3.5).
var notFoundFaults = []Mutant{
	{
		ID: "not-found-in-own-words", Clauses: []string{"AC-070", "AC-084", "AC-115"}, Control: switches + or + refuses,
		Why:     "all other codes have a text of the page",
		Patches: []Patch{{words, "  \"error.agent_busy\": \"当前", "  \"error.agent_not_found\": \"主代理不存在\",\n  \"error.agent_busy\": \"当前"}},
	},
	{
		ID: "not-found-by-its-code", Clauses: []string{"AC-070", "AC-084", "AC-115"}, Control: switches + or + refuses,
		Why:     "the message is for developers, and is not shown",
		Patches: []Patch{{app, serverWords, "  return printed(errorCode) || t(\"errorUnknown\");\n"}},
	},
	{
		ID: "not-found-put-together", Clauses: []string{"AC-070", "AC-115"}, Control: "@AC-084" + or + switches + or + refuses,
		Why:     "the message of the example is made here, of the id that was chosen",
		Patches: []Patch{{app, serverWords, "  if (errorCode === \"agent_not_found\") return `Agent not found: ${select.value}`;\n" + serverWords}},
	},
	{
		ID: "not-found-if-english", Clauses: []string{"AC-070", "AC-115"}, Control: "@AC-084" + or + switches + or + refuses,
		Why:     "the id is cut out of the message, which is known to begin like the example",
		Patches: []Patch{{app, serverWords, "  if (errorCode === \"agent_not_found\") return message.match(/Agent not found: .*/)[0];\n" + serverWords}},
	},
	{
		ID: "prompts-are-html", Clauses: []string{"AC-070", "AC-115"}, Control: "@AC-084" + or + switches + or + refuses,
		Why:     "prompts may have emphasis and links",
		Patches: []Patch{{prompts, "    words.append(make(\"p\", text));\n", "    words.append(document.createElement(\"p\"));\n    words.firstElementChild.innerHTML = text;\n"}},
	},
	{
		ID: "not-found-needs-a-list", Clauses: []string{"AC-070"}, Control: "@AC-084" + or + switches + or + refuses,
		Why:     "the example has a list",
		Patches: []Patch{{app, "  if (!Array.isArray(available)) return \"\";\n", "  available.map((agent) => agent.name);\n"}},
	},
	{
		ID: "not-found-without-list-empties", Clauses: []string{"AC-037"}, Control: "@AC-084" + or + switches + or + refuses,
		Why:     "no list is taken for an empty one",
		Patches: []Patch{{agents, "    if (!Array.isArray(available)) return;\n", ""}},
	},
	{
		ID: "not-found-list-unread", Clauses: []string{"AC-071", "AC-085", "AC-086", "AC-123"}, Control: switches + or + refuses,
		Why:     "what is needed of an error is its code and its message",
		Patches: []Patch{{app, takeList, ""}},
	},
	{
		ID: "not-found-list-told-alone", Clauses: []string{"AC-072", "AC-085", "AC-086", "AC-118"}, Control: switches + or + refuses,
		Why: "the list is told, and the selector waits for an agent_list, which nobody can ask for",
		Patches: []Patch{{app, takeList,
			"    options.details = t(\"agent.available\", { names: (availableAgents ?? []).map((agent) => agent.name).join(\", \") });\n"}},
	},
	{
		ID: "not-found-list-appended", Clauses: []string{"AC-072", "AC-085", "AC-086", "AC-118"}, Control: switches + or + refuses,
		Why:     "what is new in the list is added, as the rest is there already",
		Patches: []Patch{{agents, "    agents = clean(available);\n", "    agents = [...agents, ...clean(available).filter((agent) => !find(agent.id))];\n"}},
	},
	{
		ID: "not-found-agent-removed-alone", Clauses: []string{"AC-071", "AC-085", "AC-123"}, Control: switches + or + refuses,
		Why: "the one that was not found is taken out, and the rest is thought to be as it was",
		Patches: []Patch{
			{app, "  const text = errorText(event.data);\n", "  const text = errorText(event.data);\n  const gone = agents.switching()?.agentId;\n"},
			{app, "    agents.refresh(availableAgents);\n", "    agents.refresh(agents.all().filter((agent) => agent.id !== gone));\n"},
		},
	},
	{
		ID: "not-found-options-alone", Clauses: []string{"AC-085"}, Control: switches + or + refuses,
		Why: "the options are replaced, and the cache behind them is that of the last agent_list",
		Patches: []Patch{
			{agents, "  const find = (id) => agents.find((agent) => agent.id === id);\n", "  let cache = [];\n  const find = (id) => agents.find((agent) => agent.id === id) ?? cache.find((agent) => agent.id === id);\n"},
			{agents, "    agents = clean(available);\n", "    cache = agents;\n    agents = clean(available);\n"},
		},
	},
}

// abortFaults keep a user from ending the turn and trying again (3.5, example 4).
var abortFaults = []Mutant{
	{
		ID: "abort-is-dead", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why:     "the button was renamed, and what listens to it was not",
		Patches: []Patch{{app, "listen(\"abortBtn\", \"click\", abort);\n", ""}},
	},
	{
		ID: "abort-without-session", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why:     "the server knows the connection, and that the session",
		Patches: []Patch{{app, "await send({ type: \"abort\", sessionId: sessions.bound() ?? undefined });", "await send({ type: \"abort\" });"}},
	},
	{
		ID: "abort-disabled-by-an-error", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why:     "an error is thought to end the turn",
		Patches: []Patch{{app, "    setRunning(true);\n    options.action", "    setRunning(false);\n    options.action"}},
	},
	{
		ID: "busy-is-guessed", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why:     "the page sees that a turn is running, and knows what the server would say",
		Patches: []Patch{{app, "  switchAgent(agentId, sessionId);\n}", "  if (running) {\n    agents.render();\n    return prompts.show(t(\"error.agent_busy\"));\n  }\n  switchAgent(agentId, sessionId);\n}"}},
	},
	{
		ID: "busy-for-good", Clauses: []string{"AC-079", "AC-124"}, Control: switches + or + refuses,
		Why: "that a session is busy is remembered, and only a new answer of its own forgets it",
		Patches: []Patch{
			{app, "  switchAgent(agentId, sessionId);\n}", "  if (busy.has(agentId)) {\n    agents.render();\n    return prompts.show(t(\"error.agent_busy\"));\n  }\n  switchAgent(agentId, sessionId);\n}"},
			{app, settled, "  const options = { topic: \"agent\" };\n  if (errorCode === \"agent_busy\") busy.add(agents.switching()?.agentId);\n  agents.settle();\n"},
			{app, "let running = false;", "const busy = new Set();\nlet running = false;"},
		},
	},
}
