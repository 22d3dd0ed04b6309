package model

const (
	// movie and ticket are what the host announces at two stages.
	movie = `{"uiSpec":{},"messageHistory":[],"toolSchema":[{"name":"select","parameters":{"itemId":{"type":"string",` +
		`"enum":["m1","m2"]}}},{"name":"next"}]}`
	ticket = `{"uiSpec":{},"messageHistory":[],"toolSchema":[{"name":"setQuantity","parameters":{"type":"object",` +
		`"properties":{"quantity":{"type":"integer","minimum":0}},"required":["quantity"]}},{"name":"next"},{"name":"prev"}]}`
	closed = `{"uiSpec":null,"messageHistory":[],"toolSchema":[]}`
	odd    = `{"uiSpec":{},"messageHistory":[],"toolSchema":[7]}`

	joins  = "A < relay.join #j {\"role\":\"agent\",\"sessionId\":\"default\"}\nA > relay.joined @j\n"
	starts = "A < session.start #s\nA > session.started @s {\"sessionId\":\"s-1\"}\n"
	asks   = "A < snapshot.get #g\n"
	speaks = "A < agent.message #m {\"text\":\"Hi\"}\n"
)

func says(kind, payload string) string { return "A > " + kind + " " + payload + "\n" }

func calls(tool, params string) string {
	return `A < tool.call #c {"toolName":"` + tool + `","params":` + params + `,"reason":"r"}` + "\n"
}

const callClauses = "EA-033 EA-034 EA-035"

var agentRows = []row{
	{subject: "agent-joins-first", reason: "after relay.joined", kept: "EA-026", in: joins +
		"A < session.start #s"},
	{subject: "agent-joins-first", reason: "on each connection", kept: "EA-026", in: joins +
		"A < session.start #s\nA closed\nB < relay.join #j\nB > relay.joined @j\nB < snapshot.get #g"},
	{subject: "agent-joins-first", reason: "a join that is sent twice", kept: "EA-026",
		in: "A < relay.join #j\nA < relay.join #k\nA > relay.joined @j\nA < session.start #s"},
	{subject: "agent-joins-first", reason: "a join once it has joined", in: joins + "A < relay.join #k"},
	{subject: "agent-joins-first", reason: "before it joins", broken: "EA-026", in: "A open\nA < session.start #s"},
	{subject: "agent-joins-first", reason: "before relay.joined", broken: "EA-026",
		in: "A < relay.join #j\nA < session.start #s\nA > relay.joined @j"},
	{subject: "agent-joins-first", reason: "a message of an unknown type", broken: "EA-026",
		in: "A < hello.world\n" + joins},
	{subject: "agent-joins-first", reason: "having joined over another connection", broken: "EA-026", in: joins +
		"B < snapshot.get #g"},
	{subject: "agent-joins-first", reason: "having asked over another connection", broken: "EA-026",
		in: "A < relay.join #j\nB > relay.joined @j\nA < snapshot.get #g"},
	{subject: "agent-joins-first", reason: "a join that was refused", broken: "EA-026",
		in: "A < relay.join #j\nA > error @j\nA < session.start #s"},
	{subject: "agent-joins-first", reason: "what comes later does not make up for it", kept: "EA-026", broken: "EA-026",
		in: "A < session.start #s\n" + joins + "A < session.start #t"},
	{subject: "agent-joins-first", reason: "it has only joined", kept: "EA-026", in: "A open\n" + joins + "A closed"},

	{subject: "agent-messages", reason: "relay.join", kept: "EA-027", in: of("relay.join", "", "")},
	{subject: "agent-messages", reason: "another relay session", kept: "EA-027",
		in: of("relay.join", "sessionId", `"s-n"`)},
	{subject: "agent-messages", reason: "another role", kept: "EA-027", broken: "EA-027",
		in: of("relay.join", "role", `"host"`)},
	{subject: "agent-messages", reason: "no role", kept: "EA-027", broken: "EA-027", in: of("relay.join", "role", "")},
	{subject: "agent-messages", reason: "a relay session that is a number", kept: "EA-027", broken: "EA-027",
		in: of("relay.join", "sessionId", "1")},
	{subject: "agent-messages", reason: "no relay session", kept: "EA-027", broken: "EA-027",
		in: of("relay.join", "sessionId", "")},
	{subject: "agent-messages", reason: "a join without an id", kept: "EA-027", broken: "EA-027",
		in: `A < relay.join {"role":"agent","sessionId":"default"}`},
	{subject: "agent-messages", reason: "a join whose id is a number", kept: "EA-027", broken: "EA-027",
		in: `A < {"type":"relay.join","id":1,"payload":{"role":"agent","sessionId":"default"}}`},
	{subject: "agent-messages", reason: "a join whose payload is null", broken: "EA-027",
		in: `A < {"type":"relay.join","payload":null}`},

	{subject: "agent-messages", reason: "session.start", kept: "EA-031", in: of("session.start", "", "")},
	{subject: "agent-messages", reason: "no studyId", kept: "EA-031", broken: "EA-031",
		in: of("session.start", "studyId", "")},
	{subject: "agent-messages", reason: "a participantId that is a number", kept: "EA-031", broken: "EA-031",
		in: of("session.start", "participantId", "7")},

	{subject: "agent-messages", reason: "snapshot.get", kept: "EA-032", in: "A < snapshot.get #g {}"},
	{subject: "agent-messages", reason: "a snapshot.get that says more", broken: "EA-032",
		in: `A < snapshot.get #g {"since":1}`},
	{subject: "agent-messages", reason: "a snapshot.get whose payload is null", broken: "EA-032",
		in: `A < snapshot.get #g null`},
	{subject: "agent-messages", reason: "a snapshot.get whose payload is an empty list", broken: "EA-032",
		in: `A < snapshot.get #g []`},
	{subject: "agent-messages", reason: "a snapshot.get without a payload", broken: "EA-032",
		in: `A < {"type":"snapshot.get"}`},

	{subject: "agent-messages", reason: "tool.call", kept: callClauses, in: of("tool.call", "", "")},
	{subject: "agent-messages", reason: "a call with members that no clause names", kept: callClauses,
		in: of("tool.call", "turn", "7")},
	{subject: "agent-messages", reason: "an empty reason is a string", kept: callClauses,
		in: of("tool.call", "reason", `""`)},
	{subject: "agent-messages", reason: "no toolName", broken: "EA-033", kept: without(callClauses, "EA-033"),
		in: of("tool.call", "toolName", "")},
	{subject: "agent-messages", reason: "a toolName that is null", broken: "EA-033", kept: without(callClauses, "EA-033"),
		in: of("tool.call", "toolName", "null")},
	{subject: "agent-messages", reason: "no params", broken: "EA-034", kept: without(callClauses, "EA-034"),
		in: of("tool.call", "params", "")},
	{subject: "agent-messages", reason: "params that are a list", broken: "EA-034", kept: without(callClauses, "EA-034"),
		in: of("tool.call", "params", "[]")},
	{subject: "agent-messages", reason: "params that are encoded", broken: "EA-034", kept: without(callClauses, "EA-034"),
		in: of("tool.call", "params", `"{}"`)},
	{subject: "agent-messages", reason: "no reason", broken: "EA-035", kept: without(callClauses, "EA-035"),
		in: of("tool.call", "reason", "")},
	{subject: "agent-messages", reason: "a reason that is null", broken: "EA-035", kept: without(callClauses, "EA-035"),
		in: of("tool.call", "reason", "null")},

	{subject: "agent-messages", reason: "agent.message", kept: "EA-036", in: of("agent.message", "", "")},
	{subject: "agent-messages", reason: "no text", broken: "EA-036", in: of("agent.message", "text", "")},
	{subject: "agent-messages", reason: "a text that is a list", broken: "EA-036", in: of("agent.message", "text", "[]")},
	{subject: "agent-messages", reason: "session.end", kept: "EA-037", in: of("session.end", "", "")},
	{subject: "agent-messages", reason: "session.end without a reason", broken: "EA-037",
		in: of("session.end", "reason", "")},
	{subject: "agent-messages", reason: "a reason that is a number", broken: "EA-037",
		in: of("session.end", "reason", "0")},
	{subject: "agent-messages", reason: "types that it does not name",
		in: "A < state.updated\nA < agent.thinks\nA < hello\nA < {}"},
	{subject: "agent-messages", reason: "what the harness says",
		in: "A > relay.join\nA > tool.call\nA > snapshot.get [1]"},

	{subject: "agent-replies", reason: "a text", kept: "EA-023a",
		in: `A < {"v":"mvp-0.2","type":"agent.message","replyTo":"x","payload":{}}`},
	{subject: "agent-replies", reason: "a number", broken: "EA-023a",
		in: `A < {"v":"mvp-0.2","type":"agent.message","replyTo":7,"payload":{}}`},
	{subject: "agent-ids", reason: "two requests", kept: "EA-022b", in: "A < relay.join #a\nA < session.start #b"},
	{subject: "agent-ids", reason: "in other capitals", kept: "EA-022b", in: "A < relay.join #a\nA < session.start #A"},
	{subject: "agent-ids", reason: "over two connections", kept: "EA-022b", in: "A < relay.join #a\nB < relay.join #b"},
	{subject: "agent-ids", reason: "the same id twice", broken: "EA-022b",
		in: "A < snapshot.get #a\nA < snapshot.get #a"},
	{subject: "agent-ids", reason: "the same id over two connections", broken: "EA-022b",
		in: "A < relay.join #a\nA closed\nB < relay.join #a"},
	{subject: "agent-ids", reason: "the same id in another life", kept: "EA-022b",
		in: "A < relay.join #a\nA < session.start #b\nA closed\nB < relay.join #a\nB < session.start #b"},
	{subject: "agent-ids", reason: "the same id once its session has ended, on a new connection", kept: "EA-022b",
		in: "A < relay.join #a\nA < session.start #b\nA > session.started @b\nA < session.end #c\nA > session.ended @c\n" +
			"A closed\nB < relay.join #a"},
	{subject: "agent-ids", reason: "the same id once its session has ended, on the same connection", kept: "EA-022b",
		broken: "EA-022b", in: "A < relay.join #a\nA < session.start #b\nA > session.started @b\nA < session.end #c\n" +
			"A > session.ended @c\nA < session.start #b"},
	{subject: "agent-ids", reason: "the same id where it goes on", kept: "EA-022b", broken: "EA-022b",
		in: "A < relay.join #a\nA < session.start #b\nA closed\nB < relay.join #a\nB < snapshot.get #c"},
	{subject: "agent-ids", reason: "the same id of another agent, which does no more", kept: "EA-022b",
		in: "A < relay.join #a\nA < snapshot.get #b\nA closed\n- " + AnotherAgent +
			"\nB < relay.join #a\nB < snapshot.get #b"},
	{subject: "agent-ids", reason: "the same id twice of another agent", kept: "EA-022b", broken: "EA-022b",
		in: "A < relay.join #a\nA < snapshot.get #b\nA closed\n- " + AnotherAgent +
			"\nB < relay.join #a\nB closed\nC < relay.join #a"},
	{subject: "agent-ids", reason: "the id of the request before the last", kept: "EA-022b", broken: "EA-022b",
		in: "A < snapshot.get #a\nA < snapshot.get #b\nA < snapshot.get #a"},
	{subject: "agent-ids", reason: "an empty id twice", broken: "EA-022b", in: `A < {"id":""}` + "\n" + `A < {"id":""}`},
	{subject: "agent-ids", reason: "one request", in: "A < relay.join #a"},
	{subject: "agent-ids", reason: "no message has an id",
		in: "A < snapshot.get\nA < snapshot.get\nA < {\"id\":null}\nA < {\"id\":7}\nA < {\"id\":7}"},
	{subject: "agent-ids", reason: "ids of the harness",
		in: "A > snapshot.state #a\nA < snapshot.get #a\nA > snapshot.state #a"},
}

var callRows = []row{
	{subject: "agent-calls", reason: "an announced tool", kept: "EA-081a EA-096a", in: starts +
		says("state.updated", movie) + calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "a tool without parameters", kept: "EA-081a EA-096a", in: starts +
		says("state.updated", movie) + calls("next", `{}`)},
	{subject: "agent-calls", reason: "announced by a snapshot", kept: "EA-081a EA-096a", in: asks +
		says("snapshot.state", ticket) + calls("prev", `{}`)},
	{subject: "agent-calls", reason: "announced over the connection before", kept: "EA-081a EA-096a", in: starts +
		says("state.updated", movie) + "A closed\nB < tool.call #c {\"toolName\":\"next\",\"params\":{},\"reason\":\"r\"}"},
	{subject: "agent-calls", reason: "a number that no float64 has", kept: "EA-081a EA-096a", in: starts +
		says("state.updated", ticket) + calls("setQuantity", `{"quantity":9007199254740993}`)},

	{subject: "agent-calls", reason: "before anything is announced", broken: "EA-096a", in: starts + calls("next", `{}`) +
		says("state.updated", movie)},
	{subject: "agent-calls", reason: "a tool that does not exist", broken: "EA-096a", in: starts +
		says("state.updated", movie) + calls("book", `{}`)},
	{subject: "agent-calls", reason: "no tool", broken: "EA-096a", in: starts + says("state.updated", movie) +
		"A < tool.call #c {}"},
	{subject: "agent-calls", reason: "in other capitals", broken: "EA-096a", in: starts + says("state.updated", movie) +
		calls("Next", `{}`)},
	{subject: "agent-calls", reason: "of another stage", broken: "EA-096a", in: starts + says("state.updated", ticket) +
		calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "while nothing is announced", broken: "EA-096a", in: starts +
		says("state.updated", movie) + calls("next", `{}`) + says("state.updated", closed) + calls("next", `{}`),
		kept: "EA-081a EA-096a"},
	{subject: "agent-calls", reason: "a param that is missing", broken: "EA-081a", kept: "EA-096a", in: starts +
		says("state.updated", movie) + calls("select", `{}`)},
	{subject: "agent-calls", reason: "a value that is not in the enum", broken: "EA-081a", kept: "EA-096a", in: starts +
		says("state.updated", movie) + calls("select", `{"itemId":"m3"}`)},
	{subject: "agent-calls", reason: "a value below the minimum", broken: "EA-081a", kept: "EA-096a", in: starts +
		says("state.updated", ticket) + calls("setQuantity", `{"quantity":-1}`)},
	{subject: "agent-calls", reason: "params that are a list", broken: "EA-081a", kept: "EA-096a", in: starts +
		says("state.updated", movie) + calls("next", `[]`)},
	{subject: "agent-calls", reason: "no params", broken: "EA-081a", kept: "EA-096a", in: starts +
		says("state.updated", movie) + `A < tool.call #c {"toolName":"next"}`},

	{subject: "agent-calls", reason: "what was announced before the state that it waited for", kept: "EA-081a EA-096a",
		broken: "EA-096a",
		in: starts + says("state.updated", movie) + calls("next", `{}`) + says("state.updated", ticket) +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "what was announced before the snapshot that it asked for", broken: "EA-096a",
		in: starts + says("state.updated", movie) + asks + says("snapshot.state", ticket) +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "what was announced just before an unrequested state",
		kept: "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) + "+ 200ms\n" +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "or what that state announces", kept: "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) + "+ 200ms\n" +
			calls("prev", `{}`)},
	{subject: "agent-calls", reason: "params as they were announced before it", kept: "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated",
			`{"toolSchema":[{"name":"select","parameters":{"itemId":{"type":"integer"}}}]}`) +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "params that fit neither", broken: "EA-081a", kept: "EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) +
			calls("select", `{"itemId":"m9"}`)},
	{subject: "agent-calls", reason: "what was announced before two such states", kept: "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) + says("state.updated", closed) +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "what was announced before that, once the moment has passed", broken: "EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) + "+ 250ms\n" +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "of two such states the first is old", broken: "EA-096a",
		in: starts + says("state.updated", movie) + speaks + says("state.updated", ticket) + "+ 1s\n" +
			says("state.updated", closed) + calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "an invalid announcement leaves the previous one in force", kept: "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + asks + says("snapshot.state", odd) + calls("next", `{}`)},
	{subject: "agent-calls", reason: "what was announced before an unrequested state after an awaited one",
		kept: "EA-081a EA-096a",
		in: starts + says("state.updated", ticket) + calls("prev", `{}`) + says("tool.result @c", `{"ok":true}`) +
			says("state.updated", movie) + "+ 5s\n" + says("state.updated", ticket) + "+ 10ms\n" +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "a state before the result and one after it belong to the call",
		kept: "EA-081a EA-096a", broken: "EA-096a",
		in: starts + says("state.updated", movie) + calls("next", `{}`) + says("state.updated", movie) +
			says("tool.result @c", `{"ok":true}`) + says("state.updated", ticket) + calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls",
		reason: "a call that was sent while another was under way may have crossed the state of that",
		kept:   "EA-081a EA-096a",
		in: starts + says("state.updated", movie) + calls("next", `{}`) +
			`A < tool.call #d {"toolName":"next","params":{}}` +
			"\n" + says("tool.result @c", `{"ok":true}`) + says("state.updated", ticket) + "+ 10ms\n" +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "for a moment", kept: "EA-081a EA-096a", broken: "EA-096a",
		in: starts + says("state.updated", movie) + calls("next", `{}`) +
			`A < tool.call #d {"toolName":"next","params":{}}` +
			"\n" + says("tool.result @c", `{"ok":true}`) + says("state.updated", ticket) + "+ 1s\n" +
			calls("select", `{"itemId":"m1"}`)},
	{subject: "agent-calls", reason: "what was under way is lost with its connection", kept: "EA-081a EA-096a",
		broken: "EA-096a",
		in: starts + says("state.updated", movie) + calls("next", `{}`) + again + getB + "B > snapshot.state @h " + ticket +
			"\n" + "B < tool.call #d {\"toolName\":\"select\",\"params\":{\"itemId\":\"m1\"}}"},

	{subject: "agent-calls", reason: "no calls", in: joins + starts + says("state.updated", movie) + asks + speaks},
	{subject: "agent-calls", reason: "what is no JSON", in: starts + says("state.updated", movie) + "A < tool.call?"},
}

// again is a second connection over which the agent joins.
const again = "A closed\nB open\nB < relay.join #k {\"role\":\"agent\",\"sessionId\":\"default\"}\nB > relay.joined " +
	"@k\n"

const (
	callB  = "B < tool.call #d {\"toolName\":\"next\",\"params\":{},\"reason\":\"r\"}\n"
	getB   = "B < snapshot.get #h\n"
	tellB  = "B > snapshot.state @h " + movie + "\n"
	startB = "B < session.start #t\nB > session.started @t\n"
)

var connectionRows = []row{
	{subject: "agent-resynchronises", reason: "it asks, waits, and calls", kept: "EA-076", in: joins + starts + again +
		getB + tellB + callB},
	{subject: "agent-resynchronises", reason: "it speaks before it asks", kept: "EA-076", in: joins + starts + again +
		"B < agent.message #m\n" + getB + tellB + callB},
	{subject: "agent-resynchronises", reason: "it calls again", kept: "EA-076", in: joins + starts + again + getB +
		tellB +
		callB + callB},
	{subject: "agent-resynchronises", reason: "it reconnects twice", kept: "EA-076", in: joins + starts + again + getB +
		tellB + callB + "B closed\nC open\nC < snapshot.get #i\nC > snapshot.state @i\nC < tool.call #e"},
	{subject: "agent-resynchronises", reason: "it calls at once", broken: "EA-076", in: joins + starts + again + callB},
	{subject: "agent-resynchronises", reason: "it asks, and does not wait", kept: "EA-076", broken: "EA-076", in: joins +
		starts + again + getB + callB + tellB},
	{subject: "agent-resynchronises", reason: "not requested", broken: "EA-076", in: joins + starts + again + tellB +
		callB},
	{subject: "agent-resynchronises", reason: "an unrequested state is not a snapshot", kept: "EA-076",
		broken: "EA-076", in: joins + starts + again + getB + "B > state.updated " + movie + "\n" + callB},
	{subject: "agent-resynchronises", reason: "it has asked before it was lost", broken: "EA-076", in: joins + starts +
		asks + says("snapshot.state", movie) + again + callB},
	{subject: "agent-resynchronises", reason: "the second time it does not ask", kept: "EA-076", broken: "EA-076",
		in: joins + starts + again + getB + tellB + callB + "B closed\nC open\nC < tool.call #e"},
	{subject: "agent-resynchronises", reason: "it asks once it has called", broken: "EA-076", in: joins + starts + again +
		callB + getB + tellB + callB},

	{subject: "agent-resynchronises", reason: "it starts another session", in: joins + starts + again + startB + callB},
	{subject: "agent-resynchronises", reason: "its session has ended", in: joins + starts +
		"A < session.end #e\nA > session.ended @e\n" + again + callB},
	{subject: "agent-resynchronises", reason: "it was lost before a session was started", in: joins + again + startB +
		callB},
	{subject: "agent-resynchronises", reason: "it was not lost", in: joins + starts + says("state.updated", movie) +
		calls("next", "{}")},
	{subject: "agent-resynchronises", reason: "it reconnects and calls nothing", kept: "EA-076",
		in: joins + starts + again + getB + tellB},
	{subject: "agent-resynchronises", reason: "it never had a session", in: joins + again + callB},

	{subject: "agent-connection", reason: "one", kept: "EA-016 EA-106", in: "A open\n" + joins},
	{subject: "agent-connection", reason: "one after the other", kept: "EA-016 EA-106 EA-103", in: "A open\n" + joins +
		again},
	{subject: "agent-connection", reason: "one after a failed one", kept: "EA-016 EA-106",
		in: "A open\nA failed\nB open"},
	{subject: "agent-connection", reason: "the same relay session over one connection", kept: "EA-103", in: joins +
		joins},
	{subject: "agent-connection", reason: "the end of the older one is recorded late", kept: "EA-016 EA-106",
		in: "A open\nB open\nA closed"},
	{subject: "agent-connection", reason: "messages in transit", kept: "EA-016 EA-106", in: "A open\nB open\n" +
		asks + speaks + says("snapshot.state", movie) + "A closed"},
	{subject: "agent-connection", reason: "one answer may cross the end", kept: "EA-016 EA-106", in: "A open\nB open\n" +
		asks + says("snapshot.state", movie) + speaks + says("state.updated", movie) + "A closed"},
	{subject: "agent-connection", reason: "messages of the harness there do not count", kept: "EA-016 EA-106",
		in: "A open\nB open\n" + says("state.updated", movie) + says("state.updated", movie)},
	{subject: "agent-connection", reason: "it talks on both", kept: "EA-016 EA-106", broken: "EA-016 EA-106",
		in: "A open\nB open\n" + says("state.updated", movie) + asks + says("snapshot.state", movie) + speaks},
	{subject: "agent-connection", reason: "it talks on the first of three", kept: "EA-016 EA-106",
		broken: "EA-016 EA-106",
		in: "A open\nB open\nB closed\nC open\n" + says("state.updated", movie) + asks + says("snapshot.state", movie) +
			speaks},
	{subject: "agent-connection", reason: "another relay session", broken: "EA-103", in: joins +
		`B < relay.join #k {"role":"agent","sessionId":"s-1"}`},
	{subject: "agent-connection", reason: "no relay session", broken: "EA-103", in: joins + "B < relay.join #k {}"},
	{subject: "agent-connection", reason: "the relay session in other capitals", broken: "EA-103", in: joins +
		`B < relay.join #k {"sessionId":"Default"}`},
	{subject: "agent-connection", reason: "the first join proves nothing", in: joins},
	{subject: "agent-connection", reason: "a connection of the harness", in: "- listening\nA > relay.joined\nA closed"},
}
