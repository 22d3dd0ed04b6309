package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/coder/websocket"
)

// echoes sends back what it gets.
func echoes(got []byte) []byte { return got }

// leaves ends each connection in order.
func leaves(_ context.Context, c *websocket.Conn) { _ = c.Close(websocket.StatusNormalClosure, "") }

// drops resets each connection.
func drops(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() }

// dropsFirst resets the connection that speaks.
func dropsFirst(ctx context.Context, c *websocket.Conn) {
	_, _, _ = c.Read(ctx)
	_ = c.CloseNow()
}

// inBinary sends back what it gets in binary frames.
func inBinary(ctx context.Context, c *websocket.Conn) {
	for {
		_, got, err := c.Read(ctx)
		if err != nil || c.Write(ctx, websocket.MessageBinary, got) != nil {
			return
		}
	}
}

// is answers everything with a message of session-chat.
func is(kind, members string) serve {
	return chat(always(`{"message_type":"` + kind + `",` + members + `,"timestamp":"t"}`))
}

const noAgent = `"agent_id":null,"session_id":null`

// chatRows are servers that speak WebSocket, and no session-chat, or none that is right.
var chatRows = rowsOf("server", "session-chat", []row{
	{name: "silent", exit: 3, says: "opens, but sends nothing",
		does: "accepts sockets and never says a word", serve: chat(ears)},
	{name: "never reads", exit: 3, says: "opens, but sends nothing",
		does: "hangs after the handshake", serve: chat(deaf)},
	{name: "closes at once", exit: 3, says: "ends without sending anything",
		does: "ends each connection in order", serve: chat(leaves)},
	{name: "resets sockets", exit: 3, says: "ends without sending anything",
		does: "drops each connection", serve: chat(drops)},
	{name: "crashes at the first message", exit: 3,
		says: "ends without sending anything", does: "drops the connection that speaks", serve: chat(dropsFirst)},
	{name: "echo", exit: 3, says: "it sends ", does: "sends back what it gets",
		serve: chat(each(echoes))},
	{name: "no JSON", exit: 3, says: `it sends "hello\?"`,
		does: "speaks another language", serve: chat(always("hello?"))},
	{name: "nested frames", exit: 3, says: `it sends "\[\[\[`,
		does: "nests its frames 100,000 times", serve: chat(always(deep(100_000)))},
	{name: "arrays", exit: 1, says: "SC-", does: "speaks in lists",
		serve: chat(always(`[{"message_type":"result"}]`))},
	{name: "errors", exit: 1, says: "SC-", does: "refuses everything",
		serve: is("error", noAgent+`,"message":{"code":"no","text":"no"}`)},
	{name: "pongs", exit: 1, says: "SC-", does: "takes everything for a ping",
		serve: is("pong", noAgent+`,"message":{}`)},
	{name: "another agent_id", exit: 1, says: "SC-", does: "answers as somebody else",
		serve: is("result", `"agent_id":"xxx","session_id":"yyy","message":{"subtype":"success"}`)},
	{name: "no agent_id", exit: 1, says: "SC-",
		may: []string{"SC-039", "SC-040", "SC-043", "SC-044"}, does: "answers nobody",
		serve: is("result", `"session_id":"yyy","message":{"subtype":"success"}`)},
	{name: "type in place of message_type", exit: 1, says: "SC-",
		may:  []string{"SC-038", "SC-039", "SC-042", "SC-043", "SC-044", "SC-056"},
		does: "calls the type by the client's name", serve: chat(each(func(got []byte) []byte {
			return bytes.Replace(got, []byte(`"type":"chat"`),
				[]byte(`"type":"result","session_id":"s","message":{},"timestamp":"t"`), 1)
		}))},
	{name: "binary", exit: 3, says: "it sends ", does: "answers in binary frames",
		serve: chat(inBinary)},
	{name: "a flood", exit: 5, exits: []int{1, 3}, does: "never stops talking",
		says: flooded + "|nothing of session-chat came|within",
		serve: chat(floods(func(n int) string {
			return fmt.Sprintf(`{"message_type":"noise","agent_id":null,"n":%d}`, n)
		}))},
	{name: "a flood of megabytes", exit: 5, exits: []int{1, 3},
		does: "sends frames of a megabyte each, for ever",
		says: flooded + "|nothing of session-chat came|within",
		serve: chat(floods(func(int) string {
			return `{"message_type":"noise","agent_id":null,"x":"` + strings.Repeat("x", 1<<20) + `"}`
		}))},
	{name: "a flood of small objects in frames", exit: 5, exits: []int{1, 3},
		does: "sends frames that grow 30 times when decoded",
		says: flooded + "|nothing of session-chat came|within",
		serve: chat(floods(func(int) string {
			return `{"message_type":"noise","agent_id":null,"x":[` + strings.Repeat("{},", 1<<20) + `{}]}`
		}))},
	{name: "a huge message", exit: 3, says: "limits.max-event",
		does: "answers with more than is ever read", serve: chat(each(func([]byte) []byte {
			return []byte(`{"message_type":"assistant","text":"` + strings.Repeat("x", 9<<20) + `"}`)
		}))},
})

// busRows are orchestrators behind a bus that do nothing, or nothing right.
var busRows = rowsOf("orchestrator", "session-runtime", []row{
	{name: "silent", exit: 3, says: "opens, but sends nothing",
		does: "accepts and never says a word", serve: chat(ears)},
	{name: "never reads", exit: 3, says: "opens, but sends nothing",
		does: "hangs after the handshake", serve: chat(deaf)},
	{name: "resets", exit: 3, says: "ends without sending anything",
		does: "drops each connection", serve: chat(drops)},
	{name: "echo", exit: 3, says: "it sends ",
		does: "sends back what it gets", serve: chat(each(echoes))},
	{name: "junk", exit: 3, says: `it sends "hello\?"`,
		does: "speaks another language", serve: chat(always("hello?"))},
	{name: "arrays", exit: 1, says: "RT-", does: "speaks in lists",
		serve: chat(always(`[{"parley":"ready"}]`))},
	{name: "always ready", exit: 1, says: "RT-",
		does: "answers everything with ready", serve: chat(always(`{"parley":"ready"}`))},
	{name: "a huge frame", exit: 3, says: "limits.max-event",
		does: "answers with more than is ever read", serve: chat(each(func([]byte) []byte {
			return []byte(`{"parley":"ready","pad":"` + strings.Repeat("x", 9<<20) + `"}`)
		}))},
	{name: "binary", exit: 3, says: "it sends ",
		does: "answers in binary frames", serve: chat(inBinary)},
	{name: "a flood", exit: 5, exits: []int{1, 3}, does: "never stops talking",
		says: flooded + "|nothing of session-runtime came|within",
		serve: chat(floods(func(n int) string {
			return fmt.Sprintf(`{"id":"n%d","event":"NOISE","target":"LOGGER","payload":null}`, n)
		}))},
	{name: "floods behind a right answer", exit: 5, exits: []int{1},
		does: "answers set-ups and fences, and never stops talking", says: "more than a transcript holds|no such message",
		serve: chat(orchestrating(func(f frameOf) []string {
			return strings.Split(strings.Repeat(published(f, "NOISE", "", "LOGGER", "", nil)+"\n", 2000), "\n")[:2000]
		}))},
	{name: "does nothing", exit: 1, says: "RT-",
		does: "answers set-ups and fences alone", serve: chat(orchestrating(func(frameOf) []string { return nil }))},
	{name: "hands back", exit: 1, says: "RT-",
		does:  "publishes what was delivered",
		serve: chat(orchestrating(func(f frameOf) []string { return []string{f.Text} }))},
	{name: "errors", exit: 1, says: "RT-", does: "refuses everything",
		serve: chat(orchestrating(func(f frameOf) []string {
			return []string{published(f, "ERROR", "NO", "FRONTEND", "", map[string]any{"code": "NO"})}
		}))},
	// A first plain input to that agent is routed correctly. What else it publishes follows from its first deviation.
	{name: "routes to nobody in particular", exit: 1, says: "RT-", night: true,
		may: []string{"RT-001", "RT-009", "RT-030", "RT-053", "RT-055", "RT-067", "RT-070", "RT-074", "RT-076", "RT-093",
			"RT-169", "RT-170"},
		does: "routes every message to one agent", serve: chat(orchestrating(func(f frameOf) []string {
			return []string{published(f, "USER_INPUT", "", "AGENT", "agent-a", f.Payload),
				published(f, "EVENT", "TURN_ACCEPTED", "FRONTEND", "", map[string]any{"target_agent": "agent-a"})}
		}))},
})
