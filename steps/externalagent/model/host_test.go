package model

import "strings"

// of returns a message with one member of a complete payload replaced, or removed if the value is "".
func of(kind, member, value string) string {
	whole := map[string][]string{
		"session.started": {"sessionId", `"s"`},
		"snapshot.state":  {"uiSpec", "{}", "messageHistory", "[]", "toolSchema", "[]", "sessionId", `"s"`},
		"tool.result":     {"ok", "true", "toolName", `"next"`},
		"state.updated":   {"source", `"host"`, "uiSpec", "{}", "messageHistory", "[]", "toolSchema", "[]"},
		"user.message":    {"text", `"Hi"`, "stage", `"time"`},
		"session.ended":   {"sessionId", `"s"`, "logFile", `"l"`, "stateReset", "true"},
		"error":           {"code", `"UNKNOWN_TOOL"`, "message", `"m"`},
		"relay.join":      {"role", `"agent"`, "sessionId", `"default"`},
		"session.start":   {"studyId", `"p"`, "participantId", `"P07"`},
		"tool.call":       {"toolName", `"next"`, "params", "{}", "reason", `"r"`},
		"agent.message":   {"text", `"Hi"`},
		"session.end":     {"reason", `"r"`},
	}[kind]
	var members []string
	there := false
	for i := 0; i < len(whole); i += 2 {
		v := whole[i+1]
		if whole[i] == member {
			v, there = value, true
		}
		if v != "" {
			members = append(members, `"`+whole[i]+`":`+v)
		}
	}
	if !there && member != "" {
		members = append(members, `"`+member+`":`+value)
	}
	id := ""
	if kind == "relay.join" {
		id = "#j "
	}
	return "A < " + kind + " " + id + "{" + strings.Join(members, ",") + "}\n"
}

const (
	snapshotClauses = "EA-043 EA-044 EA-045"
	resultClauses   = "EA-048 EA-052a"
	stateClauses    = "EA-056 EA-056a EA-057 EA-058 EA-059"
	userClauses     = "EA-061 EA-062"
	endClauses      = "EA-065 EA-067"
)

var hostRows = []row{
	{subject: "host-messages", reason: "session.started", kept: "EA-039", in: of("session.started", "", "")},
	{subject: "host-messages", reason: "a sessionId that is empty is a string", kept: "EA-039",
		in: of("session.started", "sessionId", `""`)},
	{subject: "host-messages", reason: "no sessionId", broken: "EA-039", in: of("session.started", "sessionId", "")},
	{subject: "host-messages", reason: "a sessionId that is null", broken: "EA-039",
		in: of("session.started", "sessionId", "null")},
	{subject: "host-messages", reason: "a payload that is a list", broken: "EA-039", in: `A < session.started ["s"]`},

	{subject: "host-messages", reason: "snapshot.state", kept: snapshotClauses, in: of("snapshot.state", "", "")},
	{subject: "host-messages", reason: "members that no clause names", kept: snapshotClauses,
		in: of("snapshot.state", "revision", "7")},
	{subject: "host-messages", reason: "a uiSpec that is null while none is active proves nothing of it",
		kept: without(snapshotClauses, "EA-043"), in: of("snapshot.state", "uiSpec", "null")},
	{subject: "host-messages", reason: "no uiSpec", broken: "EA-043", kept: without(snapshotClauses, "EA-043"),
		in: of("snapshot.state", "uiSpec", "")},
	{subject: "host-messages", reason: "a uiSpec that is a list", broken: "EA-043",
		kept: without(snapshotClauses, "EA-043"), in: of("snapshot.state", "uiSpec", "[]")},
	{subject: "host-messages", reason: "a uiSpec that is encoded", broken: "EA-043",
		kept: without(snapshotClauses, "EA-043"), in: of("snapshot.state", "uiSpec", `"{}"`)},
	{subject: "host-messages", reason: "no messageHistory", broken: "EA-044", kept: without(snapshotClauses, "EA-044"),
		in: of("snapshot.state", "messageHistory", "")},
	{subject: "host-messages", reason: "a messageHistory that is null", broken: "EA-044",
		kept: without(snapshotClauses, "EA-044"), in: of("snapshot.state", "messageHistory", "null")},
	{subject: "host-messages", reason: "a toolSchema that is an object", broken: "EA-045",
		kept: without(snapshotClauses, "EA-045"), in: of("snapshot.state", "toolSchema", "{}")},
	{subject: "host-messages", reason: "no toolSchema", broken: "EA-045", kept: without(snapshotClauses, "EA-045"),
		in: of("snapshot.state", "toolSchema", "")},
	{subject: "host-messages", reason: "a snapshot without a payload", broken: snapshotClauses,
		in: `A < {"type":"snapshot.state"}`},

	{subject: "host-messages", reason: "tool.result", kept: resultClauses, in: of("tool.result", "uiSpec", "{}")},
	{subject: "host-messages", reason: "a result that is not ok", kept: "EA-048", in: of("tool.result", "ok", "false")},
	{subject: "host-messages", reason: "a quick uiSpec that is null while none is active", kept: "EA-048",
		in: of("tool.result", "uiSpec", "null")},
	{subject: "host-messages", reason: "a quick uiSpec that is a list", broken: "EA-052a", kept: "EA-048",
		in: of("tool.result", "uiSpec", "[]")},
	{subject: "host-messages", reason: "a quick uiSpec that is a text", broken: "EA-052a", kept: "EA-048",
		in: of("tool.result", "uiSpec", `"{}"`)},
	{subject: "host-messages", reason: "no ok", broken: "EA-048", in: of("tool.result", "ok", "")},
	{subject: "host-messages", reason: "an ok that is a text", broken: "EA-048", in: of("tool.result", "ok", `"true"`)},
	{subject: "host-messages", reason: "an ok that is a number", broken: "EA-048", in: of("tool.result", "ok", "1")},
	{subject: "host-messages", reason: "an ok that is null", broken: "EA-048", in: of("tool.result", "ok", "null")},
	{subject: "host-messages", reason: "no ok, beside a quick uiSpec", broken: "EA-048", kept: "EA-052a",
		in: `A < tool.result {"uiSpec":{}}`},
	{subject: "host-messages", reason: "a result without uiSpec proves nothing of it", kept: "EA-048",
		in: of("tool.result", "", "")},

	{subject: "host-messages", reason: "state.updated", kept: stateClauses, in: of("state.updated", "", "")},
	{subject: "host-messages", reason: "a state while no uiSpec is active", kept: without(stateClauses, "EA-057"),
		in: of("state.updated", "uiSpec", "null")},
	{subject: "host-messages", reason: "another source", broken: "EA-056a",
		kept: without(stateClauses, "EA-056a"),
		in:   of("state.updated", "source", `"agent"`)},
	{subject: "host-messages", reason: "a source in capitals", broken: "EA-056a",
		kept: without(stateClauses, "EA-056a"),
		in:   of("state.updated", "source", `"Host"`)},
	{subject: "host-messages", reason: "a source that is an object", broken: "EA-056",
		kept: "EA-057 EA-058 EA-059", in: of("state.updated", "source", `{"host":1}`)},
	{subject: "host-messages", reason: "an empty source", broken: "EA-056",
		kept: "EA-057 EA-058 EA-059", in: of("state.updated", "source", `""`)},
	{subject: "host-messages", reason: "no source", broken: "EA-056", kept: "EA-057 EA-058 EA-059",
		in: of("state.updated", "source", "")},
	{subject: "host-messages", reason: "a state without uiSpec", broken: "EA-057", kept: without(stateClauses, "EA-057"),
		in: of("state.updated", "uiSpec", "")},
	{subject: "host-messages", reason: "a state whose uiSpec is a list", broken: "EA-057",
		kept: without(stateClauses, "EA-057"), in: of("state.updated", "uiSpec", "[]")},
	{subject: "host-messages", reason: "a state without messageHistory", broken: "EA-058",
		kept: without(stateClauses, "EA-058"), in: of("state.updated", "messageHistory", "")},
	{subject: "host-messages", reason: "a state whose messageHistory is an object", broken: "EA-058",
		kept: without(stateClauses, "EA-058"), in: of("state.updated", "messageHistory", "{}")},
	{subject: "host-messages", reason: "a state whose toolSchema is null", broken: "EA-059",
		kept: without(stateClauses, "EA-059"), in: of("state.updated", "toolSchema", "null")},

	{subject: "host-messages", reason: "user.message", kept: userClauses, in: of("user.message", "", "")},
	{subject: "host-messages", reason: "no text", broken: "EA-061", kept: "EA-062", in: of("user.message", "text", "")},
	{subject: "host-messages", reason: "a text that is a list", broken: "EA-061", kept: "EA-062",
		in: of("user.message", "text", `["Hi"]`)},
	{subject: "host-messages", reason: "no stage", broken: "EA-062", kept: "EA-061", in: of("user.message", "stage", "")},
	{subject: "host-messages", reason: "a stage that is a number", broken: "EA-062", kept: "EA-061",
		in: of("user.message", "stage", "4")},
	{subject: "host-messages", reason: "a stage that is null", broken: "EA-062", kept: "EA-061",
		in: of("user.message", "stage", "null")},

	{subject: "host-messages", reason: "session.ended", kept: endClauses, in: of("session.ended", "", "")},
	{subject: "host-messages", reason: "no logFile", broken: "EA-065", kept: "EA-067",
		in: of("session.ended", "logFile", "")},
	{subject: "host-messages", reason: "a logFile that is null", broken: "EA-065", kept: "EA-067",
		in: of("session.ended", "logFile", "null")},
	{subject: "host-messages", reason: "a stateReset that is false", broken: "EA-067", kept: "EA-065",
		in: of("session.ended", "stateReset", "false")},
	{subject: "host-messages", reason: "a stateReset that is a text", broken: "EA-067", kept: "EA-065",
		in: of("session.ended", "stateReset", `"true"`)},
	{subject: "host-messages", reason: "no stateReset", broken: "EA-067", kept: "EA-065",
		in: of("session.ended", "stateReset", "")},

	{subject: "host-messages", reason: "types that it does not name",
		in: "A < relay.joined\nA < relay.presence\nA < error\nA < hello\nA < {\"payload\":{}}"},
	{subject: "host-messages", reason: "what the harness says", in: "A > session.ended\nA > state.updated"},
	{subject: "host-messages", reason: "one state that is whole does not make up for one that is not", kept: stateClauses,
		broken: "EA-056", in: of("state.updated", "", "") + of("state.updated", "source", "")},

	{subject: "no-backend-data", reason: "a snapshot", kept: "EA-015 EA-102", in: of("snapshot.state", "", "")},
	{subject: "no-backend-data", reason: "a state", kept: "EA-015 EA-102", in: of("state.updated", "", "")},
	{subject: "no-backend-data", reason: "a result", kept: "EA-015 EA-102", in: of("tool.result", "", "")},
	{subject: "no-backend-data", reason: "business data under other keys", kept: "EA-015 EA-102",
		in: of("state.updated", "uiSpec",
			`{"backenddata":1,"backend_data":{},"data":{"backend":1},"movies":[{"price":7}]}`)},
	{subject: "no-backend-data", reason: "the words in a text", kept: "EA-015 EA-102",
		in: of("state.updated", "uiSpec", `{"title":"backendData","items":["backendData"]}`)},
	{subject: "no-backend-data", reason: "in the payload", broken: "EA-015 EA-102",
		in: of("snapshot.state", "backendData", "{}")},
	{subject: "no-backend-data", reason: "though it is null", broken: "EA-015 EA-102",
		in: of("snapshot.state", "backendData", "null")},
	{subject: "no-backend-data", reason: "deep within the uiSpec", broken: "EA-015 EA-102",
		in: of("state.updated", "uiSpec", `{"items":[[{"a":{"backendData":1}}]]}`)},
	{subject: "no-backend-data", reason: "in the messageHistory", broken: "EA-015 EA-102",
		in: of("state.updated", "messageHistory", `[{"text":"a"},{"backendData":[]}]`)},
	{subject: "no-backend-data", reason: "in the toolSchema", broken: "EA-015 EA-102",
		in: of("state.updated", "toolSchema", `[{"name":"a","parameters":{"backendData":{}}}]`)},
	{subject: "no-backend-data", reason: "in a result", broken: "EA-015 EA-102",
		in: of("tool.result", "backendData", "{}")},
	{subject: "no-backend-data", reason: "in a user.message", broken: "EA-015 EA-102",
		in: of("user.message", "backendData", "{}")},
	{subject: "no-backend-data", reason: "in an error", broken: "EA-015 EA-102",
		in: of("error", "details", `{"backendData":{}}`)},
	{subject: "no-backend-data", reason: "in a message that no clause names", broken: "EA-015 EA-102",
		in: `A < relay.presence {"backendData":1}`},
	{subject: "no-backend-data", reason: "beside the payload", broken: "EA-015 EA-102",
		in: `A < {"type":"x","payload":{},"backendData":1}`},
	{subject: "no-backend-data", reason: "one message without it does not make up for one with it", kept: "EA-015 EA-102",
		broken: "EA-015 EA-102", in: of("state.updated", "backendData", "1") + of("state.updated", "", "")},
	{subject: "no-backend-data", reason: "that other messages lack it proves nothing", in: of("session.started", "", "") +
		of("user.message", "", "") + of("error", "", "") + "A < hello\n"},
	{subject: "no-backend-data", reason: "what the agent sends is free", in: `A > tool.call #r1 {"backendData":1}`},
}

var errorRows = []row{
	{subject: "errors", reason: "whole", kept: "EA-069 EA-070 EA-084", in: of("error", "", "")},
	{subject: "errors", reason: "each of the six", kept: "EA-069 EA-070 EA-084",
		in: of("error", "code", `"INVALID_MESSAGE"`) + of("error", "code", `"SESSION_NOT_ACTIVE"`) +
			of("error", "code", `"UNKNOWN_TOOL"`) +
			of("error", "code", `"INVALID_PARAMS"`) + of("error", "code", `"NO_ACTIVE_SPEC"`) +
			of("error", "code", `"TOOL_EXECUTION_FAILED"`)},
	{subject: "errors", reason: "members that no clause names", kept: "EA-069 EA-070 EA-084",
		in: of("error", "details", "[]")},
	{subject: "errors", reason: "an empty message is a string", kept: "EA-069 EA-070 EA-084",
		in: of("error", "message", `""`)},
	{subject: "errors", reason: "no code", broken: "EA-069 EA-084", kept: "EA-070", in: of("error", "code", "")},
	{subject: "errors", reason: "a code that is a number", broken: "EA-069 EA-084", kept: "EA-070",
		in: of("error", "code", "404")},
	{subject: "errors", reason: "a code that is null", broken: "EA-069 EA-084", kept: "EA-070",
		in: of("error", "code", "null")},
	{subject: "errors", reason: "a code that is none of the six", broken: "EA-084", kept: "EA-069 EA-070",
		in: of("error", "code", `"RELAY_NOT_JOINED"`)},
	{subject: "errors", reason: "a code in small letters", broken: "EA-084", kept: "EA-069 EA-070",
		in: of("error", "code", `"unknown_tool"`)},
	{subject: "errors", reason: "an empty code", broken: "EA-084", kept: "EA-069 EA-070", in: of("error", "code", `""`)},
	{subject: "errors", reason: "no message", broken: "EA-070", kept: "EA-069 EA-084", in: of("error", "message", "")},
	{subject: "errors", reason: "a message that is an object", broken: "EA-070", kept: "EA-069 EA-084",
		in: of("error", "message", "{}")},
	{subject: "errors", reason: "an error without a payload", broken: "EA-069 EA-070 EA-084", in: `A < {"type":"error"}`},
	{subject: "errors", reason: "a code where the profile says", kept: "EA-069 EA-070 EA-084", in: "- " + CodeAt +
		"/payload/error/code\n" + `A < error {"error":{"code":"UNKNOWN_TOOL"},"message":"m"}`},
	{subject: "errors", reason: "a code where the profile does not say", broken: "EA-069 EA-084", kept: "EA-070",
		in: "- " + CodeAt + "/payload/error/code\n" + of("error", "", "")},
	{subject: "errors", reason: "a code at the top", kept: "EA-069 EA-070 EA-084", in: "- " + CodeAt + "/code\n" +
		`A < {"type":"error","code":"UNKNOWN_TOOL","payload":{"message":"m"}}`},
	{subject: "errors", reason: "that the target says so changes nothing", broken: "EA-069 EA-084", kept: "EA-070",
		in: "A < " + CodeAt + "/payload/x\n" + `A < error {"x":"UNKNOWN_TOOL","message":"m"}`},
	{subject: "errors", reason: "what the harness's host says and a relay passes on",
		in: "host > error {}\nA < error {}"},
	{subject: "errors", reason: "a relay's own, beside the host's", broken: "EA-084", kept: "EA-069 EA-070",
		in: "host > error {}\n" + of("error", "code", `"NO"`)},
	// Known gap: as in envelopes, an error that the host sends later excuses an earlier one of the relay's own, as in "A
	// < error {}\nhost > error {}".
	{subject: "errors", reason: "a result that is not ok is no error", in: `A < tool.result {"ok":false}`},
	{subject: "errors", reason: "unknown types", in: "A < errors\nA < hello\nA < {}"},

	{subject: "one-answer", reason: "a call that goes well says nothing of how one fails",
		in: "A > tool.call #r1\nA < tool.result @r1"},
	{subject: "one-answer", reason: "an error", kept: "EA-104", in: "A > tool.call #r1\nA < error @r1"},
	{subject: "one-answer", reason: "a result that is not ok", kept: "EA-104",
		in: "A > tool.call #r1\nA < tool.result @r1 {\"ok\":false,\"code\":\"UNKNOWN_TOOL\"}"},
	{subject: "one-answer", reason: "each of two calls", kept: "EA-104",
		in: "A > tool.call #r1\nA > tool.call #r2\nA < tool.result @r2\nA < error @r1"},
	{subject: "one-answer", reason: "the same id over two connections", kept: "EA-104",
		in: "A > tool.call #r1\nB > tool.call #r1\nA < error @r1\nB < error @r1"},
	{subject: "one-answer", reason: "another agent receives it too", kept: "EA-104",
		in: "A > tool.call #r1\nA < error @r1\nB < error @r1"},
	{subject: "one-answer", reason: "a result and an error", kept: "EA-104", broken: "EA-104",
		in: "A > tool.call #r1\nA < tool.result @r1 {\"ok\":false}\nA < error @r1"},
	{subject: "one-answer", reason: "an error, and a result much later", kept: "EA-104", broken: "EA-104",
		in: "A > tool.call #r1\nA < error @r1\n+ 45s\nA < state.updated\nA > tool.call #r2\nA < tool.result @r1"},
	{subject: "one-answer", reason: "two results", broken: "EA-104",
		in: "A > tool.call #r1\nA < tool.result @r1\nA < tool.result @r1"},
	{subject: "one-answer", reason: "a result that is ok, and an error", broken: "EA-104",
		in: "A > tool.call #r1\nA < tool.result @r1 {\"ok\":true}\nA < error @r1"},
	{subject: "one-answer", reason: "two errors", kept: "EA-104", broken: "EA-104",
		in: "A > tool.call #r1\nA < error @r1\nA < error @r1"},
	{subject: "one-answer", reason: "none", in: "A > tool.call #r1\nA < state.updated\nA < tool.result"},
	{subject: "one-answer", reason: "answers to other requests",
		in: "A > snapshot.get #r1\nA < error @r1\nA < error @r1\nA < error"},
	{subject: "one-answer", reason: "a call without an id",
		in: "A > tool.call\nA < error\nA < error\nA < tool.result @r1"},
	{subject: "one-answer", reason: "before the call", in: "A < tool.result @r1\nA > tool.call #r1"},
}

const (
	none  = "A < state.updated {\"uiSpec\":null}\n"
	shown = "A < state.updated {\"uiSpec\":{}}\n"
	call1 = "A > tool.call #c {\"toolName\":\"next\"}\n"
	well  = "A < tool.result @c {\"ok\":true}\n"
	badly = "A < tool.result @c {\"ok\":false,\"code\":\"NO_ACTIVE_SPEC\"}\n"
)

var failureRows = []row{
	{subject: "failures", reason: "a result that says why", kept: "EA-104", in: badly},
	{subject: "failures", reason: "each of the six", kept: "EA-104",
		in: `A < tool.result {"ok":false,"code":"INVALID_MESSAGE"}` + "\n" +
			`A < tool.result {"ok":false,"code":"SESSION_NOT_ACTIVE"}` + "\n" +
			`A < tool.result {"ok":false,"code":"UNKNOWN_TOOL"}` + "\n" +
			`A < tool.result {"ok":false,"code":"INVALID_PARAMS"}` +
			"\n" + `A < tool.result {"ok":false,"code":"TOOL_EXECUTION_FAILED"}`},
	{subject: "failures", reason: "a code where the profile says", kept: "EA-104", in: "- " + CodesAt +
		"/payload/error/code\n" + `A < tool.result {"ok":false,"error":{"code":"UNKNOWN_TOOL"}}`},
	{subject: "failures", reason: "a code at the second of the places", kept: "EA-104", in: "- " + CodesAt +
		"/payload/code /payload/error/code\n" + `A < tool.result {"ok":false,"error":{"code":"UNKNOWN_TOOL"}}`},
	{subject: "failures", reason: "of two codes the first counts", broken: "EA-104", in: "- " + CodesAt +
		"/payload/code /payload/error/code\n" + `A < tool.result {"ok":false,"code":"NO","error":{"code":"UNKNOWN_TOOL"}}`},
	{subject: "failures", reason: "no code", broken: "EA-104", in: `A < tool.result {"ok":false}`},
	{subject: "failures", reason: "a code that is null", broken: "EA-104",
		in: `A < tool.result {"ok":false,"code":null}`},
	{subject: "failures", reason: "a code that is a number", broken: "EA-104",
		in: `A < tool.result {"ok":false,"code":404}`},
	{subject: "failures", reason: "an unknown code", broken: "EA-104",
		in: `A < tool.result {"ok":false,"code":"SOLD_OUT"}`},
	{subject: "failures", reason: "a code in small letters", broken: "EA-104",
		in: `A < tool.result {"ok":false,"code":"unknown_tool"}`},
	{subject: "failures", reason: "a code where the profile does not say", broken: "EA-104", in: "- " + CodesAt +
		"/payload/error/code\n" + badly},
	{subject: "failures", reason: "that the target says so changes nothing", broken: "EA-104", in: "A < " + CodesAt +
		"/payload/x\n" + `A < tool.result {"ok":false,"x":"UNKNOWN_TOOL"}`},
	{subject: "failures", reason: "one that says why does not make up for one that does not", kept: "EA-104",
		broken: "EA-104", in: badly + `A < tool.result {"ok":false}`},
	{subject: "failures", reason: "results that are ok, or say nothing of it", in: well +
		"A < tool.result {}\nA < tool.result {\"ok\":\"false\"}\nA < {\"type\":\"tool.result\"}"},
	{subject: "failures", reason: "errors are the matter of others", in: `A < error {"ok":false}`},
	{subject: "failures", reason: "what the harness says", in: `A > tool.result {"ok":false}`},

	{subject: "nothing-to-act-on", reason: "a call that is carried out while uiSpec is null", broken: "EA-082", in: none +
		call1 + well},
	{subject: "nothing-to-act-on", reason: "by a snapshot", broken: "EA-082", in: `A < snapshot.state {"uiSpec":null}` +
		"\n" + call1 + well},
	{subject: "nothing-to-act-on", reason: "null again after the call", broken: "EA-082", in: none + call1 + none +
		well},
	{subject: "nothing-to-act-on", reason: "null since the booking was over", broken: "EA-082", in: shown + none + call1 +
		well},
	{subject: "nothing-to-act-on", reason: "one that is refused does not make up for it", broken: "EA-082", in: none +
		call1 + well + "A > tool.call #d\nA < error @d"},
	{subject: "nothing-to-act-on", reason: "a call that is refused by a result", in: none + call1 + badly},
	{subject: "nothing-to-act-on", reason: "a call that is refused by an error", in: none + call1 + "A < error @c"},
	{subject: "nothing-to-act-on", reason: "a call that is refused by the code", kept: "EA-082", in: none + call1 +
		`A < error @c {"code":"NO_ACTIVE_SPEC"}`},
	{subject: "nothing-to-act-on", reason: "by a code elsewhere", kept: "EA-082", in: "- " + CodeAt + "/payload/error\n" +
		none + call1 + `A < error @c {"error":"NO_ACTIVE_SPEC"}`},
	{subject: "nothing-to-act-on", reason: "a tool that the same state announces", in: `A < state.updated ` +
		`{"uiSpec":null,"toolSchema":[{"name":"next"}]}` + "\n" + call1 + well},
	{subject: "nothing-to-act-on", reason: "a tool that only an earlier state announced", broken: "EA-082",
		in: `A < state.updated {"uiSpec":{},"toolSchema":[{"name":"next"}]}` + "\n" + none + call1 + well},
	{subject: "nothing-to-act-on", reason: "while a uiSpec is active", in: none + shown + call1 + well},
	{subject: "nothing-to-act-on", reason: "before any state", in: call1 + well},
	{subject: "nothing-to-act-on", reason: "a state without uiSpec does not say that it is null",
		in: "A < state.updated {}\n" + call1 + well},
	{subject: "nothing-to-act-on", reason: "a state that has crossed the call", in: none + call1 + shown + well},
	{subject: "nothing-to-act-on", reason: "the call by which it becomes null", in: shown + call1 + none + well},
	{subject: "nothing-to-act-on", reason: "the answer to another call", in: shown + call1 + none + "A > tool.call #d\n" +
		well},
	{subject: "nothing-to-act-on", reason: "told to another agent only", in: "B < state.updated {\"uiSpec\":null}\n" +
		call1 + well},
	{subject: "nothing-to-act-on", reason: "what the harness says", in: "A > state.updated {\"uiSpec\":null}\n" + call1 +
		well},
}
