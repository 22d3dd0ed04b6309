package model

import "strings"

const (
	hi     = "A > chat red: Hi\n"
	ok     = `A < result {"agent_id":"red","session_id":"s-1","subtype":"success"}` + "\n"
	turn   = hi + "A < system red s-1: \n" + ok
	ping   = "A > ping {}\n"
	pong   = "A < pong {}\n"
	hiBlue = "A > chat blue: Hi\n"
	blueB  = "B > chat blue: Hi\n"
	okB    = `A < result {"agent_id":"blue","session_id":"s-2","subtype":"success"}` + "\n"
	two    = turn + hiBlue + "A < system blue s-2: \n" + okB
	answer = `A < assistant {"agent_id":"red","message":{"content":"one two three"}}`
	first  = `A < stream {"agent_id":"red","piece":true,"text":"one "}` + "\n"
	next   = `A < stream {"agent_id":"red","piece":true,"text":"two three"}` + "\n"
	inter2 = `B > interrupt {"agent_id":"red"}` + "\n"
	inter  = `A > interrupt {"agent_id":"red"}` + "\n"
)

// foreign are about the traffic of others.
var foreign = []row{
	{"one-session-per-agent-id", "it stays", "A open\n" + turn, "SC-042 SC-056", ""},
	{"one-session-per-agent-id", "it goes on", "A open\n" + turn + turn, "SC-006 SC-042 SC-050 SC-056", ""},
	{"one-session-per-agent-id", "it changes", "A open\n" + turn + hi + "A < system red s-9: ", "SC-042 SC-056",
		"SC-006 SC-042 SC-050"},
	{"one-session-per-agent-id", "after a pause it may", "A open\n" + turn + "+ 2s\n" + hi + "A < system red s-9: ",
		"SC-042 SC-056", ""},
	{"one-session-per-agent-id", "over another connection it may", "A open\n" + turn + "A closed\nB open\n" +
		"B > chat red: Hi\nB < system red s-9: ", "SC-042 SC-056", ""},
	{"one-session-per-agent-id", "it is forgotten", "A open\n" + hi + "A < system red s-1: \nA < stream red null: x",
		"", "SC-056"},
	{"one-session-per-agent-id", "two have one", "A open\n" + turn + hiBlue + "A < system blue s-1: ", "SC-042 SC-056",
		"SC-009 SC-027"},
	{"one-session-per-agent-id", "it is the agent_id", "A open\n" + hi + "A < system red red: ", "", "SC-042"},
	{"one-session-per-agent-id", "the client took it up", "A open\n" + turn + "A > chat s-1: Hi\nA < system s-1 s-1: ",
		"SC-042 SC-056", ""},
	{"one-session-per-agent-id", "two have two, and return", "A open\n" + two + turn,
		"SC-006 SC-009 SC-027 SC-028 SC-042 SC-050 SC-056", ""},
	{"one-session-per-agent-id", "it has changed at its return", "A open\n" + two + hi + "A < system red s-9: ",
		"SC-009 SC-027 SC-042 SC-056", "SC-006 SC-028 SC-042 SC-050"},
	{"chats-answered", "plainly", "A open\n" + turn, "SC-005 SC-013 SC-021 SC-041 SC-060", ""},
	{"chats-answered", "with an error that says why", "A open\n" + hi +
		`A < error {"agent_id":"red","code":"overloaded"}`, "", ""},
	{"chats-answered", "as if it lacked something", "A open\n" + hi +
		`A < error {"agent_id":"red","code":"missing_field"}`, "", "SC-013"},
	{"chats-answered", "under its agent_id in capitals", "A open\n" + hi + "A < system RED s-1: ", "",
		"SC-005 SC-021 SC-041 SC-060"},
	{"chats-answered", "somebody else is", "A open\n" + hi + "A < system green s-1: ", "", ""},
	{"chats-answered", "with its session_id, and no client's agent_id", "A open\n" + hi + "A < system red s-1: \n" +
		"A < stream zzz s-1: x\n" + ok, "SC-005 SC-013 SC-021 SC-041 SC-060", "SC-021 SC-041"},
	{"chats-answered", "a whole turn has no client's agent_id", "A open\n" + hi +
		"A < system zzz s-1: \nA < result zzz s-1: ", "", "SC-005 SC-021 SC-041 SC-060"},
	{"chats-answered", "a turn of somebody else begins before", "A open\nA < system zzz s-1: \n" + hi +
		"A < result zzz s-1: ", "", ""},
	{"chats-answered", "the turn of somebody else ends before", "A open\n" + hi +
		"A < system zzz s-1: \nA < result zzz s-1: \nA < system red s-2: ", "SC-005 SC-021 SC-041 SC-060", ""},
	{"chats-answered", "two connections chat", "A open\nB open\nB > chat blue: Hi\n" + hi +
		"A < system zzz s-1: \nA < result zzz s-1: ", "", ""},
	{"chats-answered", "joined in the middle", "A < system red s-1: x\nA < result red s-1: ", "", ""},
	{"sessions-side-by-side", "both are answered", "A open\n" + two, "SC-004 SC-024 SC-025 SC-026 SC-052 SC-057", ""},
	{"sessions-side-by-side", "under the first's agent_id", "A open\n" + turn + hiBlue + "A < system red s-1: \n" + ok, "",
		"SC-004 SC-024 SC-052 SC-057"},
	{"sessions-side-by-side", "the second is refused", "A open\n" + turn + hiBlue +
		`A < error {"agent_id":"blue","code":"unknown_type"}`, "", "SC-004 SC-025 SC-026 SC-052 SC-057"},
	{"sessions-side-by-side", "the second's comes later", "A open\n" + turn + hiBlue + "A < system red s-1: \n" + ok +
		"A < system blue s-2: ", "", ""},
	{"one-end", "one", "A open\n" + turn, "SC-020", ""},
	{"one-end", "two", "A open\n" + turn + ok, "SC-020", "SC-020"},
	{"one-end", "that of an interrupt", "A open\n" + turn + inter + ok, "SC-020", ""},
	{"one-end", "a turn of another client", "A open\n" + turn + "A < system red s-1: \n" + ok, "SC-020", ""},
	{"one-end", "two connections chat", "A open\nB open\n" + turn + "B > chat red: Hi\n" + ok, "SC-020", ""},
	{"pieces-in-order", "they are", "A open\n" + hi + first + next + answer, "SC-012 SC-020", ""},
	{"pieces-in-order", "they are not", "A open\n" + hi + next + first + answer, "", "SC-012 SC-020"},
	{"pieces-in-order", "other words", "A open\n" + hi + first + first + answer, "", ""},
	{"idle-at-first", "a chat is answered", "A open\nA < system {}\n" + turn, "SC-001 SC-045", ""},
	{"idle-at-first", "a heartbeat is", "A open\n" + ping + pong, "SC-001 SC-002 SC-045 SC-055", ""},
	{"idle-at-first", "a session at once", `A open` + "\n" + `A < system {"session_id":"s-1"}`, "", "SC-001 SC-045"},
	{"idle-at-first", "a session by a heartbeat", "A open\n" + ping + `A < pong {"session_id":"s-1"}`, "",
		"SC-001 SC-002 SC-045 SC-055"},
	{"idle-at-first", "again", "A open\nA closed\nB open\n" + `B < system {"session_id":"s-1"}`, "",
		"SC-001 SC-045 SC-054"},
	{"idle-at-first", "again, and rightly", "A open\nA closed\nB open\nB > ping {}\nB < pong {}",
		"SC-001 SC-002 SC-045 SC-054 SC-055", ""},
	{"no-crossing", "a turn of another connection", "A open\nB open\n" + hi + "B < stream red s-1: x", "", "SC-001"},
	{"no-crossing", "a turn of another connection comes to one that chats", "A open\nB open\n" + blueB + hi +
		"A < stream red s-1: x\nB < stream red s-1: x\n", "SC-001", "SC-001"},
	{"no-crossing", "each has its own", "A open\nB open\n" + blueB + hi +
		"A < stream red s-1: x\nB < stream blue s-2: x\n", "SC-001", ""},
	{"no-crossing", "a client has asked for it in its own way", "A open\nB open\n" + hi + `B > watch {"session":"s-1"}` +
		"\nB < stream red s-1: x\n", "", ""},
	{"one-session-per-agent-id", "two clients have one", "A open\nB open\n" + turn + blueB + "B < system blue s-1: \n",
		"SC-042 SC-056", "SC-009 SC-027"},
	{"one-session-per-agent-id", "two clients have one, and the second comes later", "A open\n" + turn + "B open\n" +
		blueB + "B < system blue s-1: \n" + turn + "B < stream blue s-1: x\n",
		"SC-006 SC-042 SC-050 SC-056", "SC-009 SC-027"},
	{"one-session-per-agent-id", "two clients have one, as the first shows with a heartbeat", "A open\n" + turn +
		"B open\n" + blueB + "B < system blue s-1: \n" + ping + pong, "SC-042 SC-056", "SC-009 SC-027"},
	{"one-session-per-agent-id", "the server may have begun anew", "A open\n" + turn + "B open\n" + blueB +
		"B < system blue s-1: \nA closed\n", "SC-042 SC-056", ""},
	{"one-session-per-agent-id", "the server has begun anew", "A open\n" + turn + "A closed\nB open\n" + blueB +
		"B < system blue s-1: \n", "SC-042 SC-056", ""},
	{"one-session-per-agent-id", "two clients have one conversation", "A open\nB open\n" + turn +
		strings.ReplaceAll(turn, "A ", "B "), "SC-042 SC-056", ""},
	{"no-crossing", "a turn of a connection that has ended", "A open\nB open\n" + hi + "A closed\nB < stream red s-1: x",
		"", ""},
	{"no-crossing", "a turn that both connections know", "A open\nB open\n" + hi + inter2 + "B < stream red s-1: x",
		"", ""},
	{"no-crossing", "a turn of somebody else", "A open\nB open\n" + hi + "B < stream zzz s-1: x", "", ""},
	{"idle-at-first", "joined in the middle", `A < system {"session_id":"s-1"}`, "", ""},
	{"heartbeats", "answered", "A open\n" + ping + pong, "SC-037 SC-037a", ""},
	{"heartbeats", "refused", "A open\n" + ping + `A < error {"code":"unknown_type"}`, "", "SC-037 SC-037a"},
	{"heartbeats", "unanswered", "A open\n" + ping + turn, "", "SC-037a"},
	{"heartbeats", "answered late", "A open\n" + ping + turn + pong, "SC-037 SC-037a", ""},
	{"heartbeats", "one of two answered late", "A open\n" + ping + turn + ping + pong, "SC-037 SC-037a", ""},
	{"heartbeats", "one of two unanswered", "A open\n" + ping + ping + pong + turn, "SC-037 SC-037a", "SC-037a"},
	{"heartbeats", "not yet answered", "A open\n" + ping, "", ""},
	{"incomplete-chats", "refused", "A open\n" + turn + `A > chat {"agent_id":"new"}` + "\nA < error {}", "SC-031", ""},
	{"incomplete-chats", "without an agent_id, refused",
		"A open\n" + turn + `A > chat {"content":"Hi"}` + "\nA < error {}", "SC-030", ""},
	{"incomplete-chats", "of another type, refused by a close", "A open\n" + turn + "A > chit new: Hi\nA closed 1008",
		"SC-029", ""},
	{"incomplete-chats", "a close for no reason", "A open\n" + turn + "A > chit new: Hi\nA closed 1001", "", ""},
	{"incomplete-chats", "another message is in progress",
		"A open\n" + turn + `A > chat {"agent_id":"new"}` + "\n" + ping + "A < error {}", "", ""},
	{"incomplete-chats", "everything is refused", "A open\n" + `A > chat {"agent_id":"new"}` + "\nA < error {}", "", ""},
	{"incomplete-chats", "no content", "A open\n" + `A > chat {"agent_id":"new"}` + "\nA < system new s-1: ", "",
		"SC-031"},
	{"incomplete-chats", "no agent_id", "A open\n" + `A > chat {"content":"Hi"}` + "\n" +
		`A < system {"session_id":"s-1"}`, "", "SC-030"},
	{"incomplete-chats", "another type", "A open\nA > chit new: Hi\nA < system new s-1: ", "", "SC-029"},
	{"interrupts", "its own", "A open\n" + hi + inter + `A < result {"agent_id":"red","subtype":"interrupted"}`,
		"SC-035 SC-036", ""},
	{"interrupts", "another", "A open\n" + hi + hiBlue + inter + `A < result {"agent_id":"blue","subtype":"interrupted"}`,
		"", "SC-036"},
	{"interrupts", "refused", "A open\n" + hi + "A < system red s-1: \n" + inter +
		`A < error {"agent_id":"red","code":"unknown_type"}`, "", "SC-035"},
	{"interrupts", "it had ended", "A open\n" + turn + inter + `A < error {"agent_id":"red","code":"not_running"}`,
		"", ""},
}
