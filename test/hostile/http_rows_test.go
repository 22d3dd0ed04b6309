package hostile_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// httpRows are servers that break HTTP, or do not speak it, at the first request.
var httpRows = rowsOf("server", "agent-select", []row{
	{name: "silent connections", exit: 3, says: "accepts connections but sends nothing",
		does: "accepts and never says a word", serve: raw(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })},
	{name: "garbage", exit: 3, says: "is not an HTTP server",
		does: "says what is no HTTP", serve: raw(func(c net.Conn) {
			_,
				_ = c.Write([]byte("\x00\xff\x16garbage\r\n\r\n"))
		})},
	{name: "resets", exit: 3, says: "closes the connection",
		does: "drops every connection at once", serve: raw(func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) })},
	{name: "closes behind the request", exit: 3, says: "closes the connection",
		does: "reads the request and leaves", serve: breaks("")},
	{name: "endless garbage", exit: 3, says: "is not an HTTP server",
		does: "says what is no HTTP for ever", serve: repeats("", func(int) string {
			return strings.Repeat("x",
				32<<10)
		})},
	{name: "an endless header", exit: 3, says: "header",
		does:  "never ends one line of the head of its answer",
		serve: repeats("HTTP/1.1 200 OK\r\nX: ", func(int) string { return strings.Repeat("x", 32<<10) })},
	{name: "endless headers", exit: 3, says: "header|got no answer",
		does:  "adds lines to the head of its answer for ever",
		serve: repeats("HTTP/1.1 200 OK\r\n", func(n int) string { return fmt.Sprintf("X-%d: %[1]d\r\n", n) })},
	{name: "a head that drips", exit: 3, says: "sends nothing|no answer",
		does:  "sends its head a byte at a time and never ends it",
		serve: drips("HTTP/1.1 200 OK\r\n", "X: y\r\n", 20*time.Millisecond)},
	{name: "endless 100 Continue", exit: 3, says: "never answers: .* informational responses .HTTP 100",
		does:  "says for ever that it goes on",
		serve: repeats("", func(int) string { return "HTTP/1.1 100 Continue\r\n\r\n" })},
	{name: "endless 103 Early Hints", exit: 3, says: "never answers: .* informational responses .HTTP 103",
		does: "hints for ever",
		serve: repeats("", func(n int) string {
			return fmt.Sprintf("HTTP/1.1 103 Early Hints\r\nLink: <%d>\r\n\r\n",
				n)
		})},
	{name: "a status of no number", exit: 3, says: "is not an HTTP server",
		does: "answers with an invalid status", serve: breaks("HTTP/1.1 OK fine\r\n\r\n")},
	{name: "a status of 999", exit: 3, says: "HTTP 999",
		does: "answers with a status of nobody's", serve: breaks("HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n")},
	{name: "two lengths", exit: 3, says: "is not an HTTP server",
		does:  "gives two lengths of one body",
		serve: breaks("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello")},
	{name: "a negative length", exit: 3, says: "is not an HTTP server",
		does: "gives a length below nothing", serve: breaks("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")},
	{name: "chunks of no number", exit: 3, says: "broke off",
		does:  "sends a stream whose chunks have no length",
		serve: breaks(chunked + "zz\r\nhello\r\n")},
	{name: "a chunk that is too long", exit: 3, says: `it sends "hello"`,
		does:  "announces a chunk of more bytes than there are",
		serve: breaks(chunked + "ffffffffffffffff\r\nhello\r\n")},
	{name: "endless trailers", exit: 3, says: "ends without sending anything: the stream broke off",
		does:  "ends its stream and adds trailers for ever",
		serve: repeats(chunked+"0\r\n", func(n int) string { return fmt.Sprintf("X-%d: y\r\n", n) })},
	{name: "endless chunk extensions", exit: 3, says: "ends without sending anything: the stream broke off",
		does:  "never ends the line of a chunk's length",
		serve: repeats(chunked+"5;x=", func(int) string { return strings.Repeat("x", 32<<10) })},
	{name: "tiny chunks", exit: 3, says: "opens, but nothing of agent-select came",
		does:  "sends its stream in chunks of one byte each, of which no event is made",
		serve: repeats(chunked, func(int) string { return strings.Repeat("1\r\nx\r\n", 1000) })},
	{name: "a gzip bomb", exit: 3, says: "opens, but nothing of agent-select came|gzip",
		does: "encodes its stream, although nobody asked for it",
		serve: repeats("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08"+
			strings.Repeat("\x00", 7), func(int) string { return strings.Repeat("\x00", 32<<10) })},
	{name: "a redirect to itself", exit: 3, says: "HTTP 302",
		does:  "sends its clients round in circles",
		serve: breaks("HTTP/1.1 302 Found\r\nLocation: /events\r\nContent-Length: 0\r\n\r\n")},
	{name: "a redirect to a file", exit: 3, says: "HTTP 307",
		does:  "sends its clients to a file of theirs",
		serve: breaks("HTTP/1.1 307 Go\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")},
	{name: "500 to everything", exit: 3, says: "GET /events is answered by HTTP 500",
		does: "fails", serve: web(status(500))},
	{name: "404 to everything", exit: 3,
		says: "does not speak agent-select: GET /events is answered by HTTP 404",
		does: "is some other server", serve: web(status(404))},
	{name: "401 in colours", exit: 3, says: `wants credentials: GET /events is answered by HTTP 401`,
		does:  "refuses with codes that move the cursor of a terminal",
		serve: breaks("HTTP/1.1 401 \x1b[2J\x1b]0;x\x07No\r\nContent-Length: 5\r\n\r\n\x1b[2J!")},
	{name: "an endless refusal", exit: 3,
		says: "wants credentials: GET /events is answered by HTTP 403", does: "refuses with a body that never ends",
		serve: repeats("HTTP/1.1 403 No\r\n\r\n", func(int) string { return strings.Repeat("x", 32<<10) })},
	{name: "a refusal that drips", exit: 3,
		says: "GET /events is answered by HTTP 503", does: "refuses with a body that never ends, a byte at a time",
		serve: drips("HTTP/1.1 503 Busy\r\n\r\n", "x", 20*time.Millisecond)},
	{name: "101 to everything", exit: 3, says: "GET /events is answered by HTTP 101",
		does: "wants to speak another protocol", serve: web(switching)},
	{name: "HTTP/2 alone", exit: 3, says: "GET /events got no answer",
		does:  "answers with frames of HTTP/2",
		serve: answers("\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64")},
	{name: "SSH", exit: 3, says: "is not an HTTP server",
		does: "is an SSH server", serve: raw(func(c net.Conn) {
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
			_, _ = io.Copy(io.Discard, c)
		})},
	{name: "SMTP", exit: 3, says: "is not an HTTP server",
		does: "is a mail server", serve: raw(func(c net.Conn) {
			in := bufio.NewReader(c)
			for _, err := io.WriteString(c, "220 mail ready\r\n"); err == nil; {
				if _, err = in.ReadString('\n'); err == nil {
					_, err = io.WriteString(c, "500 what?\r\n")
				}
			}
		})},
	{name: "a proxy's page", exit: 3, says: "HTML|text/html|web page",
		does: "shows a page of HTML where the stream should be", serve: web(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>please log in</html>")
		})},
	{name: "nobody there", exit: 3, says: "refused|nothing listens|not reachable",
		does: "does not listen", serve: nobody},
})

// chunked is the head of an event stream in chunks.
const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
