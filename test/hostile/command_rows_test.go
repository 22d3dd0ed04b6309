package hostile_test

import (
	"net"
	"strings"
	"time"
)

// asked is a row of a server that doctor or init meets.
func asked(name, does string, s serve, says string, args ...string) row {
	return row{name: name, peer: "server", does: does, serve: s, says: says, args: args, exit: 3, exits: []int{1}}
}

// commandRows are servers that are met by doctor and init.
var commandRows = []row{
	asked("silent, for doctor", "accepts and never says a word to doctor", answers(""),
		"sends nothing|no answer|within",
		"doctor", "--target", "{url}"),
	asked("101, for doctor", "wants to speak another protocol with doctor", web(switching), "101",
		"doctor", "--target", "{url}"),
	asked("a flood, for doctor", "never stops talking to doctor", repeats(stream,
		func(int) string { return block("data: x\n\n") }),
		"nothing of agent-select came|failed", "doctor", "--target", "{url}"),
	asked("colours, for doctor", "sends doctor codes of a terminal",
		breaks("HTTP/1.1 404 \x1b[2J\r\nContent-Length: 8\r\n\r\n\x1b[2J\u202exx"), "404", "doctor", "--target", "{url}"),
	asked("silent, for init", "accepts and never says a word to init", answers(""),
		"sends nothing|no answer|within|cannot be",
		"init", "{url}"),
	asked("101, for init", "wants to speak another protocol with init", web(switching), "101", "init", "{url}"),
	asked("a flood, for init", "never stops talking to init", repeats(stream,
		func(int) string { return block("data: x\n\n") }),
		"nothing of agent-select|does not", "init", "{url}"),
	asked("an endless refusal, for init", "refuses init with a body that never ends",
		repeats("HTTP/1.1 403 No\r\n\r\n", func(int) string { return strings.Repeat("x", 32<<10) }), "403", "init",
		"{url}"),
	asked("drips, for init", "sends init its head a byte at a time", drips("HTTP/1.1 200 OK\r\n", "X: y\r\n",
		20*time.Millisecond),
		"sends nothing|no answer|within|cannot be", "init", "{url}"),
	asked("resets, for init", "drops every connection of init",
		raw(func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }),
		"closes the connection|reset|cannot be", "init", "{url}"),
}
