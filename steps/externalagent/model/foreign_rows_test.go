package model

import "strings"

const (
	open    = "A open\n"
	pick    = `{"name":"select","parameters":{"itemId":{"type":"string"}}}`
	forward = `{"name":"next","parameters":{}}`
	fits    = `{"itemId":"m1"}`
	wrong   = `{"itemId":7}`
	said    = `{"id":"c1","text":"Hello there"}`
)

// Parts of transcripts.
var (
	join    = ask("relay.join", "j", `{"role":"agent","sessionId":"default"}`)
	joined  = hear("relay.joined", "j", `{"role":"agent","sessionId":"default"}`)
	start   = ask("session.start", "r1", `{"studyId":"p","participantId":"P"}`)
	started = hear("session.started", "r1", `{"sessionId":"s-1"}`)
	end     = ask("session.end", "r9", `{"reason":"done"}`)
	ended   = hear("session.ended", "r9", `{"sessionId":"s-1","logFile":"l","stateReset":true}`)
	movies  = showing(`{"at":1}`, "", pick+","+forward)
	date    = showing(`{"at":2}`, "", pick)
	nothing = showing("null", "", pick)
	blank   = showing("null", "", "")
	begun   = open + join + joined + start + started
	stage   = begun + updated(movies)
	picks   = call("c", "select", fits)
	picked  = hear("tool.result", "c", `{"ok":true,"toolName":"select","uiSpec":{}}`)
	moves   = call("n", "next", "{}")
	moved   = hear("tool.result", "n", `{"ok":true}`)
	talks   = ask("agent.message", "m", `{"text":"Hello there"}`)
	later   = snap("g8", movies) + snap("g9", movies)
	another = ask("session.start", "r2", `{"studyId":"p","participantId":"P"}`) +
		hear("session.started", "r2", `{"sessionId":"s-2"}`)
	talked = stage + talks + updated(showing(`{"at":1}`, said, pick)) + end + ended
)

// get2 is the first snapshot of a second session, with a history.
func get2(history string) string {
	return ask("snapshot.get", "g2", "{}") +
		hear("snapshot.state", "g2", `{"sessionId":"s-2",`+showing(`{"at":1}`, history, pick)+"}")
}

var foreignRows = []foreignRow{
	{"forms", "in their form", stage, "018 019 021 024", ""},
	{"forms", "with an id", open + `A < {"v":"mvp-0.2","type":"x","id":"h1","payload":{}}`, "022a", ""},
	{"forms", "an id that is a number", open + `A < {"v":"mvp-0.2","type":"x","id":7,"payload":{}}`, "", "022a"},
	{"forms", "another version", open + `A < {"v":"mvp-0.1","type":"x","payload":{}}`, "", "019"},
	{"forms", "no type", open + `A < {"v":"mvp-0.2","payload":{}}`, "", "021"},
	{"forms", "no payload", open + `A < {"v":"mvp-0.2","type":"x"}`, "", "024"},
	{"forms", "no JSON", open + "A < hello", "", "018"},
	{"forms", "what the other party sends", open + "A > hello", "-", ""},

	{"joins", "echoed", open + join + joined, "028 029 030", ""},
	{"joins", "another role", open + join + hear("relay.joined", "j", `{"role":"host","sessionId":"default"}`), "",
		"029"},
	{"joins", "another session", open + join + hear("relay.joined", "j", `{"role":"agent","sessionId":"x"}`), "", "030"},
	{"joins", "without replyTo", open + join + hear("relay.joined", "", `{"role":"agent","sessionId":"default"}`) +
		start +
		started, "", "028"},
	{"joins", "that of somebody else, first", open + join + hear("relay.joined", "",
		`{"role":"host","sessionId":"default"}`) +
		joined + start + started, "028", ""},
	{"joins", "the id as that of the answer", open + join + strings.ReplaceAll(joined, "replyTo", "id"), "", "028"},
	{"joins", "a replyTo that is a list", open + join + strings.ReplaceAll(joined, `"j"`, `["j"]`), "", "028"},
	{"joins", "not answered, although what came later was", open + join + start + started + snap("g", movies) +
		"+ 31s\n" + snap("h", movies), "", "028"},
	{"joins", "not answered so far", open + join + start + started + snap("g", movies), "", ""},
	{"joins", "answered late", open + join + start + started + snap("g", movies) + "+ 31s\n" + snap("h", movies) +
		joined, "028", ""},
	{"joins", "what a host says to it", open + join + joined + start + hear("session.started", "r1", "{}") +
		picks + picked + picked, "028", ""},
	{"joins", "joined in the middle", joined + start + started, "-", ""},

	{"codes", "in their form", begun + refuse("r1", "UNKNOWN_TOOL"), "069 070 084", ""},
	{"codes", "another code", begun + refuse("r1", "unknownTool"), "", "084"},
	{"codes", "no code and no message", begun + hear("error", "r1", "{}"), "", "069 070 084"},

	{"answers", "answered", stage + snap("g", movies) + picks + picked + end + ended,
		"004 005 006 007 023a 038 041 046 047 063 077a", ""},
	{"answers", "refused", stage + call("c", "nothing", "{}") + refuse("c", "UNKNOWN_TOOL"), "068", ""},
	{"answers", "a snapshot refused as invalid", stage + ask("snapshot.get", "g", "{}") + refuse("g", "INVALID_MESSAGE") +
		later, "", "004 005 006 041 077a"},
	{"answers", "a snapshot refused as invalid, as the host has gone", stage + ask("snapshot.get", "g", "{}") +
		refuse("g", "INVALID_MESSAGE") + another + later, "", ""},
	{"answers", "a snapshot refused as invalid, and nothing follows", stage + ask("snapshot.get", "g", "{}") +
		refuse("g", "INVALID_MESSAGE"), "", ""},
	{"answers", "a deep message refused", stage +
		`A > {"v":"mvp-0.2","type":"snapshot.get","id":"g","payload":{},"x":[]}` +
		"\n" + refuse("g", "INVALID_MESSAGE") + later, "", ""},
	{"answers", "a call refused as invalid", stage + picks + refuse("c", "INVALID_MESSAGE") + later, "", "007 046 047"},
	{"answers", "a call with other params refused as invalid", stage + call("c", "select", wrong) +
		refuse("c", "INVALID_MESSAGE") + later, "", ""},
	{"answers", "by another type", stage + picks + hear("session.ended", "c", "{}") + later, "", "007 046 047"},
	{"answers", "by its own type, behind another", stage + picks + hear("snapshot.state", "c", "{}") + picked + later,
		"007",
		""},
	{"answers", "an end by another type", stage + end + hear("session.started", "r9", "{}") + snap("g", movies), "",
		"063"},
	{"answers", "a start by another type", open + join + joined + start + hear("session.ended", "r1", "{}") +
		ask("session.start", "r2", `{"studyId":"p","participantId":"P"}`) + hear("session.started", "r2", "{}"), "", "038"},
	{"answers", "no answer", stage + picks + later + "+ 31s\n" + snap("g", movies), "", "007 046 047"},
	{"answers", "no answer, so far", stage + picks + later, "", ""},
	{"answers", "answered late", stage + picks + later + "+ 31s\n" + picked, "007", ""},
	{"answers", "without replyTo", stage + picks + refuse("", "UNKNOWN_TOOL") + later + "+ 31s\n" + later, "", "068"},
	{"answers", "a snapshot without replyTo", stage + ask("snapshot.get", "g", "{}") + refuse("", "UNKNOWN_TOOL") + later,
		"", "068"},
	{"answers", "an error of its own accord, and a slow call", stage + picks + refuse("", "UNKNOWN_TOOL") + later, "",
		""},
	{"answers", "an error of its own accord", stage + picks + refuse("", "TOOL_EXECUTION_FAILED") + picked + later, "",
		""},
	{"answers", "an error about what cannot be read", begun + "A > hello\n" + refuse("", "INVALID_MESSAGE") + later, "",
		""},
	{"answers", "of another id", stage + picks + hear("tool.result", "c7", `{"ok":true}`) + later +
		"+ 31s\n" + later, "", "023a 047"},
	{"answers", "of another id, since another agent asks", stage + picks + hear("tool.result", "c7",
		`{"ok":true}`) + picked +
		later, "", ""},
	{"answers", "a replyTo that is a number", stage + picks + `A < {"v":"mvp-0.2","type":"tool.result","replyTo":7,` +
		`"payload":{"ok":true}}`, "", "023a"},
	{"answers", "an empty replyTo", stage + picks + `A < {"v":"mvp-0.2","type":"tool.result","replyTo":"",` +
		`"payload":{"ok":true}}`, "", "023a"},
	{"answers", "the id in quotes", stage + ask("snapshot.get", "g", "{}") +
		hear("snapshot.state", `\"g\"`, "{}"), "", "023a"},
	{"answers", "the id in capitals, of one of two requests", stage + ask("snapshot.get", "g", "{}") +
		ask("snapshot.get", "h", "{}") + hear("snapshot.state", "G", "{}"), "", ""},
	{"answers", "the id as that of the answer", stage + ask("snapshot.get", "g", "{}") +
		strings.ReplaceAll(hear("snapshot.state", "g", "{}"), "replyTo", "id"), "", "004 005 006 041 077a"},
	{"answers", "an id of the host's own", stage + ask("snapshot.get", "g", "{}") +
		strings.ReplaceAll(hear("snapshot.state", "x", "{}"), "replyTo", "id") + hear("snapshot.state", "g", "{}"), "041",
		""},
	{"answers", "the replyTo in the payload", stage + picks +
		hear("tool.result", "", `{"ok":true,"replyTo":"c"}`), "", "007 046 047"},
	{"answers", "no answer to the first join", open + join + start + started + later + "+ 31s\n" + later, "", ""},
	{"answers", "the user speaks", stage + hear("user.message", "", `{"text":"x","stage":"y"}`), "060", ""},
	{"answers", "the user answers", stage + hear("user.message", "r1", `{"text":"x","stage":"y"}`), "", "060"},
	{"answers", "one id for two requests", stage + picks + picks + picked + picked + later, "", ""},
	{"answers", "joined in the middle", picked + ended + snap("g", movies), "", ""},
	{"answers", "the connection is cut", stage + picks + "A closed\n" + "B open\n" + strings.ReplaceAll(join+joined,
		"A ", "B "),
		"", ""},

	{"failures", "carried out", stage + picks + picked, "049 074", ""},
	{"failures", "with a code", stage + picks + refuse("c", "TOOL_EXECUTION_FAILED"), "104", ""},
	{"failures", "in a result", stage + picks + hear("tool.result", "c",
		`{"ok":false,"toolName":"select","error":{"code":"TOOL_EXECUTION_FAILED"}}`), "104 049", ""},
	{"failures", "in a result without a code", stage + picks + hear("tool.result", "c",
		`{"ok":false,"toolName":"select"}`), "",
		"104"},
	{"failures", "in both ways", stage + picks + picked + refuse("c", "TOOL_EXECUTION_FAILED"), "", "074 104"},
	{"failures", "another tool", stage + picks + hear("tool.result", "c", `{"ok":true,"toolName":"sort"}`), "", "049"},
	{"failures", "no tool", stage + picks + hear("tool.result", "c", `{"ok":true}`), "", "049"},
	{"failures", "ok alone", stage + moves + moved, "105", ""},
	{"failures", "next, and another tool", stage + moves + hear("tool.result", "n", `{"ok":true,"toolName":"prev"}`), "",
		"049 105"},

	{"sessions", "one session", stage + snap("g", movies) + end + ended, "042 064", ""},
	{"sessions", "a snapshot of another", stage + strings.ReplaceAll(snap("g", movies), "s-1", "s-7"), "", "042"},
	{"sessions", "a snapshot of none", stage + strings.ReplaceAll(snap("g", movies), `"sessionId":"s-1",`, ""), "",
		"042"},
	{"sessions", "the end of another", stage + end + strings.ReplaceAll(ended, "s-1", "s-7"), "", "064"},
	{"sessions", "clean", talked + another + get2(""), "011", ""},
	{"sessions", "not clean", talked + another + get2(said), "", "011"},
	{"sessions", "the agent says it again", talked + another + strings.ReplaceAll(talks, `"m"`, `"m2"`) + get2(said), "",
		""},
	{"sessions", "what the host says each time", stage + updated(showing(`{"at":1}`, `{"text":"Welcome"}`, pick)) +
		end + ended +
		another + get2(`{"text":"Welcome"}`), "", ""},
	{"sessions", "joined in the middle", snap("g", movies) + end + ended, "-", ""},

	{"tools", "an unknown tool", stage + call("c", "fly", "{}") + refuse("c", "UNKNOWN_TOOL"), "080 096", ""},
	{"tools", "an unknown tool is carried out", stage + call("c", "fly", "{}") + hear("tool.result", "c", `{"ok":true}`) +
		updated(movies), "", "080 096"},
	{"tools", "the state that announces it was under way", stage + call("c", "fly", "{}") +
		hear("tool.result", "c", `{"ok":true}`) + updated(showing("{}", "", `{"name":"fly","parameters":{}}`)), "", ""},
	{"tools", "a tool of an earlier state", stage + updated(date) + moves + moved + updated(movies), "", ""},
	{"tools", "other params", stage + call("c", "select", wrong) + refuse("c", "INVALID_PARAMS"), "081", ""},
	{"tools", "other params are taken", stage + call("c", "select", wrong) + picked + updated(movies), "", "081"},
	{"tools", "params that are a list are taken", stage + call("c", "select", "[]") + picked + updated(movies), "",
		"081"},
	{"tools", "params that are a list are refused", stage + call("c", "select", "[]") +
		refuse("c", "INVALID_MESSAGE") + updated(movies), "", ""},
	{"tools", "nothing is shown, and another reason is given", begun + updated(movies) + updated(blank) + picks +
		refuse("c", "UNKNOWN_TOOL") + updated(blank), "", "082"},
	{"tools", "nothing is shown, and there is another reason", begun + updated(movies) + updated(blank) +
		call("c", "fly", "{}") + refuse("c", "UNKNOWN_TOOL") + updated(blank), "", ""},
	{"tools", "nothing is shown, and another reason is given, but for a moment", begun + updated(movies) +
		updated(blank) + picks + refuse("c", "INVALID_PARAMS") + updated(movies), "", ""},
	{"tools", "nothing is shown", begun + updated(nothing) + picks + refuse("c", "NO_ACTIVE_SPEC"), "082", ""},
	{"tools", "nothing is showing, and it is carried out", begun + updated(blank) + picks + picked + updated(blank), "",
		"082"},
	{"tools", "nothing was shown, but for the call", begun + updated(nothing) + picks + picked + updated(movies), "", ""},
	{"tools", "behind the end", stage + end + ended + picks + refuse("c", "SESSION_NOT_ACTIVE"), "079", ""},
	{"tools", "behind the end, and carried out", stage + end + ended + picks + picked, "", "079"},
	{"tools", "the end was under way", stage + end + picks + picked + ended, "", ""},
	{"tools", "joined in the middle", updated(movies) + call("c", "fly", "{}") + hear("tool.result", "c", `{"ok":true}`) +
		updated(movies), "", ""},

	{"states", "announced", stage + moves + moved + updated(date) + snap("g", date), "054 072 073", ""},
	{"states", "not announced", stage + moves + moved + "+ 31s\n" + snap("g", date) + snap("g7", date), "", "054"},
	{"states", "announced before the result", stage + moves + updated(date) + moved + "+ 31s\n" + later, "", ""},
	{"states", "without an effect", stage + moves + moved + "+ 31s\n" + later, "", ""},
	{"states", "not announced so far", stage + moves + moved + later, "", ""},
	{"states", "a snapshot shows what was not announced", stage + snap("g", date) + "+ 31s\n" + snap("g7", date),
		"", "072 073"},
	{"states", "it is announced late", stage + snap("g", date) + "+ 31s\n" + updated(date) + snap("g7", date),
		"072 073", ""},
	{"states", "it has changed meanwhile", stage + snap("g", date) + "+ 1s\n" + snap("g7", date), "", ""},
	{"states", "never any state", begun + snap("g", movies) + "+ 31s\n" + snap("g7", movies), "", ""},

	{"notes", "taken", stage + talks + snap("g", movies), "008 008a", ""},
	{"notes", "refused", stage + talks + refuse("m", "INVALID_MESSAGE") + later, "", "008"},
	{"notes", "carried out", stage + talks + hear("tool.result", "m", `{"ok":true}`), "", "008a"},

	{"refusals", "another version", stage + strings.ReplaceAll(ask("snapshot.get", "g", "{}"), "mvp-0.2", "mvp-9") +
		refuse("g", "INVALID_MESSAGE"), "020", ""},
	{"refusals", "another version is served", stage + strings.ReplaceAll(snap("g", movies), `> {"v":"mvp-0.2"`,
		`> {"v":"x"`), "",
		"020"},
	{"refusals", "a payload that is a list", stage + ask("snapshot.get", "g", "[]") + refuse("g", "INVALID_MESSAGE"),
		"024a",
		""},
	{"refusals", "a payload that is a list is served", stage + ask("snapshot.get", "g", "[]") +
		hear("snapshot.state", "g", "{}"), "", "024a"},
	{"refusals", "an unknown type", stage + ask("fly", "f", "{}") + refuse("f", "INVALID_MESSAGE"), "078", ""},
	{"refusals", "an unknown type is an unknown tool", stage + ask("fly", "f", "{}") + refuse("f", "UNKNOWN_TOOL"),
		"", "078"},
	{"refusals", "no JSON", stage + "A > hello\n" + refuse("", "INVALID_MESSAGE"), "078", ""},

	{"refusals", "no JSON is about params", stage + "A > hello\n" + refuse("", "INVALID_PARAMS"), "", "078"},
	{"refusals", "no JSON, or a call without an id", stage + "A > hello\n" +
		strings.Replace(picks, `"id":"c",`, "", 1) + refuse("", "INVALID_PARAMS"), "", ""},
	{"refusals", "no JSON, or an agent.message", stage + talks + "A > hello\n" +
		refuse("", "INVALID_PARAMS"), "", ""},
	{"refusals", "a list is served", stage + `A > [{"v":"mvp-0.2","type":"snapshot.get","id":"g","payload":{}}]` +
		"\n" + hear("snapshot.state", "g", "{}"), "", "078"},
	{"refusals", "an unknown type is served", stage + ask("Snapshot.Get", "g", "{}") +
		hear("snapshot.state", "g", "{}"), "", "078"},
	{"refusals", "another version is an unknown tool", stage +
		strings.ReplaceAll(ask("snapshot.get", "g", "{}"), "mvp-0.2", "mvp-9") + refuse("g", "UNKNOWN_TOOL"), "", "020"},

	{"admission", "another version", open + strings.ReplaceAll(join, "mvp-0.2", "mvp-9") +
		refuse("j", "INVALID_MESSAGE"), "020", ""},
	{"admission", "another version is let in", open + strings.ReplaceAll(join, "mvp-0.2", "mvp-9") + joined, "", "020"},
	{"admission", "a payload that is a list", open + ask("relay.join", "j", "[]") + refuse("j", "INVALID_MESSAGE"),
		"024a", ""},
	{"admission", "a payload that is a list is let in", open + ask("relay.join", "j", "[]") + joined, "", "024a"},
	{"admission", "named", open + join + joined, "023a", ""},
	{"admission", "a replyTo that is a number", open + join + strings.ReplaceAll(joined, `"j"`, "7"), "", "023a"},
	{"admission", "a replyTo of a host that is a number", begun + picks + strings.ReplaceAll(picked, `"c"`, "7"), "023a",
		""},

	{"agents", "as it should", flip(stage + picks), "022b 026 081a 096a", ""},
	{"agents", "it does not wait for relay.joined", flip(open + join + start + joined), "", "026"},
	{"agents", "one id twice", flip(stage + picks + picks), "", "022b"},
	{"agents", "a tool that was not announced", flip(stage + call("c", "fly", "{}")), "", "096a"},
	{"agents", "other params", flip(stage + call("c", "select", wrong)), "", "081a"},
	{"agents", "a tool of an earlier state", flip(stage + updated(date) + moves), "096a", ""},
	{"agents", "nothing was announced", flip(begun + picks), "", "096a"},
	{"agents", "announced over another connection", flip(stage+"A closed\n") +
		onB(flip(open+join+joined+picks)), "", "076"},
	{"agents", "a tool of a state that is long over", flip(stage + updated(date) + "+ 31s\n" + moves), "", "096a"},
	{"agents", "a tool of a state that comes again", flip(stage + updated(date) + updated(movies) + "+ 31s\n" +
		moves), "096a", ""},
	{"agents", "it comes back, and gets a snapshot", flip(stage+"A closed\n") +
		onB(flip(open+join+joined+snap("g", movies)+picks)), "076 096a", ""},
	{"agents", "it comes back, and does not wait for the snapshot", flip(stage+"A closed\n") +
		onB(flip(open+join+joined+ask("snapshot.get", "g", "{}")+picks)), "", "076"},
	{"agents", "it comes back, and begins another session", flip(stage+"A closed\n") +
		onB(flip(open+join+joined+another+updated(movies)+picks)), "096a", ""},
	{"agents", "another agent, at the same time", flip(stage) +
		onB(flip(open+join+joined+updated(movies)+picks)), "096a", ""},
	{"agents", "another agent, of another relay session", flip(stage+"A closed\n") +
		onB(flip(open+strings.ReplaceAll(join+joined, "default", "other")+updated(movies)+picks)), "096a", ""},
	{"agents", "joined in the middle", flip(picks), "-", ""},
}
