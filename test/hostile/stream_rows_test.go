package hostile_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// connecting are the clauses kept by a server of agent-select that only connects its clients.
var connecting = []string{"AS-008", "AS-009", "AS-016", "AS-029", "AS-030", "AS-031", "AS-033", "AS-040", "AS-083",
	"AS-105", "AS-113", "AS-114", "AS-115", "AS-117", "AS-118", "AS-123", "AS-129", "AC-110"}

// again says a text, again and again.
func again(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// block repeats a text to about 64 KB.
func block(text string) string { return strings.Repeat(text, 64<<10/len(text)) }

// deep is JSON of many levels.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// nothingCame is the blame of a stream on which nothing of the protocol came.
const nothingCame = "GET /events opens, but nothing of agent-select came"

// streamRows are servers of agent-select whose event streams are hostile from the first byte on.
var streamRows = rowsOf("server", "agent-select", []row{
	{name: "silent streams", exit: 3, says: "GET /events opens, but sends nothing",
		does: "opens the stream and sends nothing", serve: answers(stream)},
	{name: "a stream that ends at once", exit: 3, says: "GET /events (opens, but )?ends",
		does: "ends each stream before it has begun", serve: breaks(stream)},
	{name: "one endless line", exit: 3, says: nothingCame + "; it sends ",
		does: "sends a line that never ends", serve: repeats(stream+"data: ", func(int) string { return block("x") })},
	{name: "an endless name of a field", exit: 3, says: nothingCame,
		does: "sends a field whose name never ends", serve: repeats(stream, func(int) string { return block("x") })},
	{name: "an endless event", exit: 3, says: nothingCame,
		does: "sends lines of an event that never ends", serve: repeats(stream,
			func(int) string { return block("data: x\n") })},
	{name: "a flood of comments", exit: 3, says: nothingCame + "|sends nothing",
		does: "sends comments alone, for ever", serve: repeats(stream, func(int) string { return block(": x\n") })},
	{name: "a flood of long comments", exit: 3, says: nothingCame + "|sends nothing",
		does:  "sends comments of a megabyte each, for ever",
		serve: repeats(stream, func(int) string { return ": " + strings.Repeat("x", 1<<20) + "\n" })},
	{name: "a flood of retries", exit: 3, says: nothingCame + "|sends nothing",
		does:  "sets the time of reconnecting again and again",
		serve: repeats(stream, func(n int) string { return fmt.Sprintf("retry: %d\n", n) })},
	{name: "a flood of empty lines", exit: 3, says: nothingCame + "|sends nothing",
		does: "sends empty lines alone, for ever", serve: repeats(stream, func(int) string { return block("\n") })},
	{name: "a flood of empty events", exit: 3, says: nothingCame + "; it sends empty messages",
		does: "sends events without data, for ever", serve: repeats(stream,
			func(int) string { return block("data:\n\n") })},
	{name: "a flood of ids", exit: 3, says: nothingCame + "|sends nothing",
		does:  "sends ids without events, for ever",
		serve: repeats(stream, func(n int) string { return fmt.Sprintf("id: %d\n\n", n) })},
	{name: "a flood of noise", exit: 3, says: nothingCame,
		does:  "sends events of some other protocol, for ever",
		serve: repeats(stream, func(n int) string { return fmt.Sprintf("event: noise\ndata: {\"n\":%d}\n\n", n) })},
	{name: "a flood of large noise", exit: 3, says: nothingCame,
		does:  "sends events of a megabyte each, for ever",
		serve: repeats(stream, func(int) string { return "data: \"" + strings.Repeat("x", 1<<20) + "\"\n\n" })},
	{name: "a flood of small objects", exit: 3, says: nothingCame,
		does: "sends events that take 30 times their bytes when decoded",
		serve: repeats(stream, func(int) string {
			return `data: {"type":"noise","data":[` + strings.Repeat("{},", 1<<20) + "{}]}\n\n"
		})},
	{name: "deep JSON", exit: 3, says: nothingCame,
		does: "nests its events 100,000 times", serve: answers(stream + "data: " + deep(100_000) + "\n\n")},
	{name: "a huge number", exit: 3, says: nothingCame,
		does: "sends a number of a million digits", serve: answers(stream + "data: 1" + strings.Repeat("0", 1<<20) +
			"\n\n")},
	{name: "a thousand equal keys", exits: []int{1}, exit: 3, says: nothingCame + "|duplicate",
		does:  "gives one member 1,000 times",
		serve: answers(stream + "data: {" + strings.Repeat(`"type":"connected",`, 1000) + "\"type\":\"connected\"}\n\n")},
	{name: "broken UTF-8", exit: 3, exits: []int{1}, says: "UTF-8|" + nothingCame,
		does: "sends bytes that are no UTF-8", serve: answers(stream + "data: {\"type\":\"\xff\xfe\"}\n\n")},
	{name: "UTF-16", exit: 3, says: nothingCame + "|sends nothing",
		does: "encodes its stream as UTF-16", serve: answers(stream +
			"\xff\xfed\x00a\x00t\x00a\x00:\x00x\x00\n\x00\n\x00")},
	{name: "control codes", exit: 3, says: nothingCame + `; it sends "\\x1b`,
		does:  "sends codes that clear a terminal and reorder its text",
		serve: answers(stream + "data: \x1b[2J\x1b]0;pwned\x07\u202e{}\n\n")},
	{name: "JSON instead of a stream", exit: 1, says: "the target ended the stream",
		does: "answers GET /events as an API call", serve: web(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type":"connected","data":{"connectionId":"c"}}`)
		})},
	{name: "closes after each event", exit: 1, may: []string{"AS-029", "AS-030", "AS-031"},
		says: "ended the stream", does: "treats a stream as a response", serve: web(func(w http.ResponseWriter,
			_ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"type\":\"connected\",\"data\":{\"connectionId\":\"c\"}}\n\n")
		})},
	{name: "a stream that breaks off within an event", exit: 1,
		says: "broke off", does: "resets its streams in the middle of the greeting",
		may: []string{"AS-029", "AS-030", "AS-031"},
		serve: breaks(chunked + fmt.Sprintf("%x\r\n%s\r\n", len(connected), connected) +
			"ff\r\ndata: {\"type\":\"agent_l")},
	{name: "greets a byte at a time", exit: 1, exits: []int{5}, may: connecting,
		limits: map[string]string{"event": "3s"}, says: "AS-",
		does:  "sends its greeting a byte at a time, and answers nothing",
		serve: web(slowly)},
})

const connected = "data: {\"type\":\"connected\",\"data\":{\"connectionId\":\"c\"}}\n\n"

// slowly greets a byte at a time.
func slowly(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, b := range fmt.Appendf(nil, greeting, "conn_1") {
		if _, err := w.Write([]byte{b}); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
	<-r.Context().Done()
}

// answerRows are servers of agent-select that connect their clients, and are hostile behind that.
var answerRows = rowsOf("server", "agent-select", []row{
	{name: "500 to every POST", exit: 1, may: connecting, says: "500",
		does: "connects, and fails at the first message", serve: greets(status(500))},
	{name: "sessions, then 500", exit: 1, may: append([]string{"AS-098", "AS-099"},
		connecting...), says: "500", does: "fails at the first switch", serve: greets(session(status(500)))},
	{name: "accepts every POST and says nothing", exit: 1,
		may: append([]string{"AS-098"}, connecting...), says: "no such message within",
		does: "takes HTTP 200 for an answer", serve: greets(session(status(200)))},
	{name: "never answers a POST", exit: 1, may: connecting, says: "within",
		does: "hangs at the first message", serve: greets(hangs)},
	{name: "101 to every POST", exit: 1, may: connecting, says: "101",
		does: "wants to speak another protocol at the first message", serve: greets(switching)},
	{name: "an endless answer", exit: 1, may: connecting, says: "AS-",
		does: "answers a POST with a body that never ends", serve: greets(endless)},
	{name: "an answer that drips", exit: 1, may: connecting, says: "within",
		does: "answers a POST a byte at a time, for ever", serve: greets(dripping)},
	{name: "an answer that is too short", exit: 1, may: connecting, says: "broke off|EOF",
		does: "announces more of an answer than it sends", serve: greets(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		})},
	{name: "an answer in HTML", exit: 1, may: connecting, says: "html|JSON",
		does: "answers a POST with a page", serve: greets(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><script>alert(1)</script>")
		})},
	{name: "an answer nested deep", exit: 1, may: connecting, says: "AS-",
		does: "answers a POST with JSON of 100,000 levels", serve: greets(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, deep(100_000))
		})},
	{name: "resets at every POST", exit: 1, may: connecting, says: "reset|EOF",
		does: "drops the connection of each message", serve: greets(func(w http.ResponseWriter, r *http.Request) {
			panic(http.ErrAbortHandler)
		})},
	{name: "greets and floods comments", exit: 1, may: connecting, says: "500",
		does:  "connects, sends comments for ever, and fails at the first message",
		serve: greetsAnd(status(500), again(block(": x\n")))},
	{name: "greets and floods events", exit: 5, exits: []int{1}, may: append([]string{"AS-098"}, connecting...),
		says: "more than a transcript holds|no such message within", does: "connects, and sends noise for ever",
		serve: greetsAnd(session(status(200)), again(block("data: {\"type\":\"noise\",\"data\":{}}\n\n")))},
	{name: "greets and floods small objects", exit: 5, exits: []int{1}, may: append([]string{"AS-098"}, connecting...),
		says: "more than a transcript holds|no such message within",
		does: "connects, and sends events that grow 30 times when decoded",
		serve: greetsAnd(session(status(200)), again(`data: {"type":"noise","data":[`+strings.Repeat("{},",
			300<<10)+"{}]}\n\n"))},
	{name: "greets and floods large events", exit: 5, exits: []int{1}, may: append([]string{"AS-098"}, connecting...),
		says: "more than a transcript holds", does: "connects, and sends events of a megabyte each for ever",
		serve: greetsAnd(session(status(200)), again(`data: {"type":"noise","data":"`+strings.Repeat("x",
			1<<20)+"\"}\n\n"))},
	{name: "greets again and again", exit: 1, exits: []int{5}, may: append([]string{"AS-098"}, connecting...),
		says: "AS-", does: "greets its clients for ever",
		serve: greetsAnd(session(status(200)), again(strings.ReplaceAll(greeting, "%q", `"conn_1"`)))},
	{name: "keeps every wait alive", exit: 5, exits: []int{1}, may: connecting,
		says: "the deadline of the run was over, after 4s", flags: []string{"--deadline", "4s"},
		limits: map[string]string{"event": "30s", "turn": "30s", "http": "30s"},
		does:   "sends a piece of something to everybody ten times a second, and never answers",
		serve:  greetsAnd(hangs, ticks(`data: {"type":"text_delta","data":{"text":"x"}}`+"\n\n"))},
})

func endless(w http.ResponseWriter, r *http.Request) {
	for {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 32<<10)); err != nil {
			return
		}
	}
}

func dripping(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for {
		if _, err := w.Write([]byte("x")); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// ticks says a text ten times a second.
func ticks(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		w.(http.Flusher).Flush()
		time.Sleep(100 * time.Millisecond) // the pace under test
		return err
	}
}
