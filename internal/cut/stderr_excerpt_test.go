package cut

import (
	"strings"
	"testing"
)

const (
	nodeCrash = `listening on 3000
/srv/host.js:12
    throw new Error("no such stage: checkout");
    ^

Error: no such stage: checkout
    at next (/srv/host.js:12:11)
    at onMessage (/srv/host.js:80:5)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at process.emit (node:events:518:28)

Node.js v20.11.1
`
	pythonCrash = `INFO listening
Traceback (most recent call last):
  File "/srv/relay.py", line 40, in handle
    self.book(seat)
  File "/srv/relay.py", line 71, in book
    return self.seats[seat]
KeyError: 'A7'
`
	javaCrash = `Exception in thread "main" java.lang.IllegalStateException: no session
	at chat.Server.open(Server.java:31)
	at chat.Server.main(Server.java:9)
Caused by: java.sql.SQLException: locked
	at chat.Store.save(Store.java:4)
	at chat.Store.init(Store.java:2)
	... 7 more
`
	goCrash = `2026/01/02 03:04:05 http: panic serving 127.0.0.1:5: runtime error: index out of range [3] with length 3
goroutine 7 [running]:
net/http.(*conn).serve.func1()
	/usr/lib/go/src/net/http/server.go:1947 +0xbe
panic({0x1, 0x2})
	/usr/lib/go/src/runtime/panic.go:792 +0x132
`
)

// TestTrouble: the error is told, with the stack nearest to it, whatever follows it.
func TestTrouble(t *testing.T) {
	logs := strings.Repeat("GET /health 200\n", 3)
	for _, c := range []struct{ reason, in, want string }{
		{"nothing", "", ""},
		{"no error", "1\n\n2\n 3\n4\n", "2 / 3 / 4"},
		{"Node.js: the error stands above its stack", nodeCrash,
			"Error: no such stage: checkout / at next (/srv/host.js:12:11) / at onMessage (/srv/host.js:80:5)"},
		{"Node.js: an error whose class has another name", "start\nToolFailed: no\n  at a (b.js:1:2)\n  at c\n  at d\n",
			"ToolFailed: no / at a (b.js:1:2) / at c"},
		{"Python: it stands below", pythonCrash,
			`File "/srv/relay.py", line 71, in book / return self.seats[seat] / KeyError: 'A7'`},
		{"Python, and the server goes on", pythonCrash + logs,
			`File "/srv/relay.py", line 71, in book / return self.seats[seat] / KeyError: 'A7'`},
		{"Java: the last cause", javaCrash, "Caused by: java.sql.SQLException: locked / at chat.Store.save(Store.java:4) / " +
			"at chat.Store.init(Store.java:2)"},
		{"Go", goCrash, "2026/01/02 03:04:05 http: panic serving 127.0.0.1:5: runtime error: index out of range [3] with " +
			"length 3 / goroutine 7 [running]: / net/http.(*conn).serve.func1()"},
		{"an error of long ago", pythonCrash + strings.Repeat(logs, 10),
			"GET /health 200 / GET /health 200 / GET /health 200"},
	} {
		if got := ErrorLine(c.in, 3, 0); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.reason, got, c.want)
		}
	}
}

// TestTroubleLine: what is shortened is not the beginning of the error.
func TestTroubleLine(t *testing.T) {
	long := strings.Repeat("x", 400)
	for _, c := range []struct{ reason, in, want string }{
		{"it fits", nodeCrash, "Error: no such stage: checkout / at next (/srv/host.js:12:11)"},
		{"no error", long + "end", "…" + strings.Repeat("x", 87) + "end"},
		{"a long stack", "Error: no\n  at " + long, "Error: no / at " + strings.Repeat("x", 78) + "…"},
		{"a long error", "Error: no " + long, "Error: no " + strings.Repeat("x", 50) + "…"},
		{"a long line above", long + "\nError: no", "…" + strings.Repeat("x", 81) + " / Error: no"},
	} {
		if got := ErrorLine(c.in, 2, 90); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.reason, got, c.want)
		}
	}
}
