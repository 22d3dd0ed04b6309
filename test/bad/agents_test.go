package bad_test

import (
	"cmp"
	"testing"

	"parley/runner"
	agentwire "parley/steps/externalagent/binding"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
	"parley/verdict"
)

// badAgents are agents that do nothing, or nothing right: Python programs with their own WebSocket code.
var badAgents = []struct {
	name, script, reason string
	exit                 int // 0: non-conformant
	may                  []string
}{
	{name: "ends at once", script: `pass`, reason: "never connects"},
	{name: "knocks only", script: `connect()`, reason: "connects, and leaves", may: []string{"EA-016", "EA-106"}},
	{name: "knocks and waits", script: `connect(); wait()`, reason: "connects, and says nothing",
		may: []string{"EA-016", "EA-106"}},
	{name: "no WebSocket",
		script: `s = socket.create_connection((host, port)); s.sendall(b"hello\r\n\r\n"); s.recv(1000)`,
		reason: "speaks another language"},
	{name: "junk", script: `connect(); text("hello?"); wait()`, reason: "says what is no envelope",
		may: []string{"EA-016", "EA-106"}},
	// No clause requires an agent to act: a clause that it does not show is not tested.
	{name: "joins and waits", script: `connect(); text(join); wait()`, reason: "joins, and sends nothing more",
		exit: verdict.ExitIncomplete,
		may: []string{"EA-016", "EA-106", "EA-018", "EA-019", "EA-021", "EA-022a", "EA-023a", "EA-024", "EA-026",
			"EA-027"}},
	{name: "talks at once", reason: "does not join",
		may: []string{"EA-016", "EA-106", "EA-018", "EA-019", "EA-021", "EA-022a", "EA-023a", "EA-024", "EA-031",
			"EA-103"},
		script: `connect()
text('{"v":"mvp-0.2","type":"session.start","id":"a","payload":{"studyId":"a","participantId":"b"}}'); wait()`},
}

// badAgent is the beginning of every script.
const badAgent = `
import os, socket, struct, sys, time
host, port = os.environ["PARLEY_URL"].split("/")[2].split(":")
port = int(port)
s = None
def connect():
    global s
    s = socket.create_connection((host, port))
    s.sendall(("GET /agent/ws HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % (host, port)).encode())
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(1000)
def text(t):
    b = t.encode()
    n = bytes([0x80 | len(b)]) if len(b) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(b))
    s.sendall(b"\x81" + n + b"\0\0\0\0" + b)
def wait():
    while s.recv(1000): pass
join = '{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"default"}}'
`

// TestBadAgents checks the verdicts on agents that do nothing, or nothing right.
func TestBadAgents(t *testing.T) {
	t.Parallel()
	suitetest.Needs(t, "python3")
	for _, b := range badAgents {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p := protocols.Kinds().New("external-agent")
			p.Role, agentwire.Of(p).Session = "agent", "s-{nonce}"
			p.Command = &target.Command{Run: []string{"python3", "-c", badAgent + b.script}}
			agentwire.Of(p).Agent.Join.Duration, agentwire.Of(p).Agent.Pace.Duration = runner.MutantLimit, runner.MutantLimit
			judgesBad(t, p, cmp.Or(b.exit, verdict.ExitNonConformant), b.may, b.reason)
		})
	}
}
