package hostile_test

import (
	"strings"
)

// python is a command that runs a program in Python, as keys of a profile.
func python(program string) string {
	text := "import json, os, socket, struct, sys, threading, time\n" + program
	return "command:\n  stop: 1s\n  run:\n    - python3\n    - -c\n    - |\n      " +
		strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}

// onStdio are the keys of an orchestrator that is reached by stdin and stdout.
func onStdio(program string) string { return "drivers: [stdio]\n" + python(program) }

// works answers set-ups and fences of an orchestrator, and runs more for each line.
func works(more string) string {
	return "for line in sys.stdin:\n    f = json.loads(line)\n" +
		"    if f.get('parley') == 'setup': print('{\"parley\":\"ready\"}', flush=True)\n" +
		"    if f.get('parley') == 'fence': print(json.dumps({'parley': 'fenced', 'id': f['id']}), flush=True)\n    " + more
}

// listening is a server of agent-select that listens, and then does something for each connection c.
func listening(before, talk string) string {
	return python(before + "\ns = socket.create_server(('127.0.0.1', int(os.environ['PARLEY_PORT'])), backlog=128)\n" +
		"while True:\n    c, _ = s.accept()\n    " + talk)
}

// unready says when a server of a command counts as started, for a row that is never ready.
const unready = "  ready: {within: 2s}\n"

// daemon leaves a process in a session of its own.
const daemon = "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\n"

// processRows are processes that Parley starts.
var processRows = []row{
	{name: "ends at once", peer: "process", of: "session-runtime", exit: 1, keys: onStdio(`pass`),
		says: "exit status 0|ended", does: "is gone before it is asked"},
	{name: "crashes at the first line", peer: "process", of: "session-runtime", exit: 1, says: "no idea",
		keys: onStdio(`sys.stdin.readline(); sys.exit("no idea")`), does: "fails when it is asked"},
	{name: "silent on stdio", peer: "process", of: "session-runtime", exit: 3, says: "writes nothing to its stdout",
		keys: onStdio(`sys.stdin.read()`), does: "reads and never says a word"},
	{name: "never reads", peer: "process", of: "session-runtime", exit: 3, says: "writes nothing to its stdout",
		keys: onStdio(`threading.Event().wait()`), does: "neither reads nor writes"},
	{name: "junk", peer: "process", of: "session-runtime", exit: 3, says: `writes "hello\?"`,
		keys: onStdio("for line in sys.stdin: print('hello?', flush=True)"), does: "speaks another language"},
	{name: "no line", peer: "process", of: "session-runtime", exit: 3, says: `writes "{`,
		keys: onStdio("for line in sys.stdin: sys.stdout.write('{\"parley\":\"ready\"}'); sys.stdout.flush()"),
		does: "ends no line: nothing of the protocol ever came"},
	{name: "an endless line", peer: "process", of: "session-runtime", exit: 1, exits: []int{3}, says: "RT-|max-event",
		keys: onStdio("sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)"), does: "never ends its line"},
	{name: "endless lines", peer: "process", of: "session-runtime", exit: 3, exits: []int{1, 5},
		says: `writes ".*noise|more than a transcript holds`,
		keys: onStdio("while True: sys.stdout.write('\"noise\"\\n' * 4096)"),
		does: "writes lines that mean nothing, for ever"},
	{name: "endless empty lines", peer: "process", of: "session-runtime", exit: 3, exits: []int{1, 5},
		says: "stdout|RT-",
		keys: onStdio("while True: sys.stdout.write('\\n' * 65536)"), does: "writes empty lines for ever"},
	{name: "endless stderr", peer: "process", of: "session-runtime", exit: 3, says: "writes nothing to its stdout",
		keys: onStdio("while True: sys.stderr.write('x' * 65536)"), does: "complains for ever"},
	{name: "echo", peer: "process", of: "session-runtime", exit: 3, says: "writes ",
		keys: onStdio("for line in sys.stdin: print(line, end='', flush=True)"), does: "sends back what it gets"},
	{name: "does nothing", peer: "process", of: "session-runtime", exit: 1, says: "RT-", keys: onStdio(works("pass")),
		does: "answers set-ups and fences alone"},
	{name: "null bytes", peer: "process", of: "session-runtime", exit: 3, says: "writes ",
		keys: onStdio("for line in sys.stdin: print('\\0' * 100, flush=True)"), does: "writes bytes of nothing"},
	{name: "nested lines", peer: "process", of: "session-runtime", exit: 3, says: "writes ",
		keys: onStdio("for line in sys.stdin: print('[' * 100000, flush=True)"), does: "nests its lines 100,000 times"},
	{name: "closes its stdout", peer: "process", of: "session-runtime", exit: 1, exits: []int{3}, says: "RT-|stdout",
		keys: onStdio("os.close(1)\ntime.sleep(600)"), does: "closes its stdout and stays"},
	{name: "closes its stdin", peer: "process", of: "session-runtime", exit: 1, exits: []int{3},
		says: "RT-|stdout|stdin",
		keys: onStdio("os.close(0)\ntime.sleep(600)"), does: "closes its stdin and stays"},
	{name: "will not end", peer: "process", of: "session-runtime", exit: 1, says: "RT-",
		keys: onStdio("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + works("pass") +
			"\nwhile True: time.sleep(1)"),
		does: "stays when it is told to end"},
	{name: "leaves daemons", peer: "process", of: "session-runtime", exit: 1, says: "RT-",
		keys: onStdio(daemon + works("pass")), does: "leaves a process that has left its group"},
	{name: "stopped by itself", peer: "process", of: "session-runtime", exit: 3, says: "writes nothing to its stdout",
		keys: onStdio("import signal\nos.kill(os.getpid(), signal.SIGSTOP)"), does: "stops itself"},

	{name: "no such program", peer: "process", of: "agent-select", exit: 3, says: "no-such-program",
		keys: "command: {run: [no-such-program]}\n", does: "cannot be started"},
	{name: "exits before it listens", peer: "process", of: "agent-select", exit: 3, says: "no config",
		keys: python(`sys.exit("no config")`), does: "ends before it listens"},
	{name: "exits and floods stderr", peer: "process", of: "agent-select", exit: 3, says: "exit|ended",
		keys: python(`sys.stderr.write("\x1b[2Jx" * 10000000); sys.exit(7)`), does: "ends with 60 MB of last words"},
	{name: "never listens", peer: "process", of: "agent-select", exit: 3, says: "was not ready within 2s",
		keys: python("time.sleep(600)") + unready, does: "does not listen"},
	{name: "listens and floods its output", peer: "process", of: "agent-select", exit: 3, says: "sends nothing",
		keys: listening("def shout():\n    while True: sys.stdout.write('x' * 65536)\n"+
			"threading.Thread(target=shout, daemon=True).start()\nkept = []", "kept.append(c)"),
		does: "writes for ever and answers nobody"},
	{name: "exits at the first request", peer: "process", of: "agent-select", exit: 1,
		says: "process (ended|exited)|exit status 3",
		keys: listening("", "c.recv(100); os._exit(3)"), does: "is ended by each request"},
	{name: "kills itself at the first request", peer: "process", of: "agent-select", exit: 1, says: "signal|killed",
		keys: listening("", "c.recv(100); os.kill(os.getpid(), 9)"), does: "is killed by each request"},
	{name: "forks without end", peer: "process", of: "agent-select", exit: 3, says: "sends nothing|closes",
		keys: listening("kept = []", "kept.append(c); os.fork() if len(kept) < 5 else None"),
		does: "starts processes and answers nobody"},
	{name: "leaves daemons and never listens", peer: "process", of: "agent-select", exit: 3,
		says: "was not ready within 2s",
		keys: python(daemon+"time.sleep(600)") + unready, does: "leaves a process that has left its group"},
}

func init() { // an interpreter may take long to start on a busy machine
	for i := range processRows {
		if processRows[i].of == "session-runtime" {
			processRows[i].limits = map[string]string{"open": "10s"}
		}
	}
}

// agent is the begin of the program of an agent that connects.
const agent = `
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
def frame(op, b):
    if len(b) < 126: n = bytes([0x80 | len(b)])
    elif len(b) < 65536: n = bytes([0x80 | 126]) + struct.pack(">H", len(b))
    else: n = bytes([0x80 | 127]) + struct.pack(">Q", len(b))
    s.sendall(bytes([op]) + n + b"\0\0\0\0" + b)
def text(t): frame(0x81, t.encode())
def wait():
    while s.recv(1000): pass
join = ('{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"'
    + os.environ["PARLEY_SESSION"] + '"}}')
`

func joining(program string) string {
	return python(agent+program) + "external-agent: {session: 's-{nonce}', agent: {join: 2s, pace: 2s}}\n"
}

// knocked are the clauses kept by an agent that connects, and spoken those kept by one that sends envelopes.
var (
	knocked = []string{"EA-016", "EA-106"}
	spoken  = append([]string{"EA-018", "EA-019", "EA-021", "EA-022a", "EA-023a", "EA-024"}, knocked...)
)

// agentRows are agents that do nothing, or nothing right.
var agentRows = rowsOf("agent", "external-agent/agent", []row{
	{name: "ends at once", exit: 1, says: "EA-", keys: joining(`pass`),
		does: "never connects"},
	{name: "knocks only", exit: 1, says: "EA-", keys: joining(`connect()`),
		may: knocked, does: "connects, and leaves"},
	{name: "knocks and waits", exit: 1, says: "EA-", may: knocked,
		keys: joining(`connect(); wait()`), does: "connects, and says nothing"},
	{name: "no WebSocket", exit: 1, says: "EA-",
		keys: joining(`s = socket.create_connection((host, port)); s.sendall(b"hello\r\n\r\n"); s.recv(1000)`),
		does: "speaks another language"},
	{name: "half a handshake", exit: 1, says: "EA-",
		keys: joining(`s = socket.create_connection((host, port)); s.sendall(b"GET / HTTP/1.1\r\nX: "); s.recv(1000)`),
		does: "never ends the head of its request"},
	{name: "an endless header", exit: 1, says: "EA-",
		keys: joining("s = socket.create_connection((host, port)); s.sendall(b'GET / HTTP/1.1\\r\\nX: ')\n" +
			"while True: s.sendall(b'x' * 65536)"),
		does: "never ends a line of its request"},
	{name: "junk", exit: 1, says: "EA-", may: knocked,
		keys: joining(`connect(); text("hello?"); wait()`), does: "says what is no envelope"},
	{name: "a flood of envelopes", exit: 1, exits: []int{5}, says: "EA-",
		may: spoken, keys: joining("connect()\nwhile True: text('{\"v\":\"mvp-0.2\",\"type\":\"x\",\"payload\":{}}')"),
		does: "never stops talking"},
	{name: "a flood of megabytes", exit: 1, exits: []int{5}, says: "EA-",
		may: spoken, keys: joining("connect()\nwhile True: text('\"' + 'x' * (1 << 20) + '\"')"),
		does: "sends frames of a megabyte each, for ever"},
	{name: "a flood of pings", exit: 1, exits: []int{5}, says: "EA-", may: knocked,
		keys: joining("connect()\nwhile True: frame(0x89, b'x')"), does: "pings for ever"},
	{name: "a huge envelope", exit: 1, exits: []int{5}, says: "EA-", may: spoken,
		keys: joining("connect(); text('\"' + 'x' * (9 << 20) + '\"'); wait()"), does: "sends more than is ever read"},
	{name: "connects without end", exit: 1, exits: []int{5}, says: "EA-",
		may: spoken, keys: joining("kept = []\nwhile True: connect(); kept.append(s)"), does: "connects again and again"},
	// No clause requires an agent to act: a clause that it does not show is not tested.
	{name: "joins and waits", exit: 5, says: "not tested",
		may: append([]string{"EA-026", "EA-027"}, spoken...), keys: joining(`connect(); text(join); wait()`),
		does: "joins, and sends nothing more"},
	{name: "talks at once", exit: 1, says: "EA-",
		may: append([]string{"EA-031", "EA-103"}, spoken...), keys: joining("connect()\n" +
			`text('{"v":"mvp-0.2","type":"session.start","id":"a","payload":{"studyId":"a","participantId":"b"}}'); wait()`),
		does: "does not join"},
})
