package bad_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/steps/protocols"
	"parley/test/suitetest"
)

// badChat is a target that is not a session-chat server.
type badChat struct {
	name   string
	talk   func(ctx context.Context, c *websocket.Conn) // handles a connection until it returns
	may    []string                                     // binding clauses that such a target may pass
	reason string
	why    string // the explanation for a target that is not judged because it never speaks the protocol; "": it is judged
}

// each answers every message of the client.
func each(say func(got []byte) []byte) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil || c.Write(ctx, websocket.MessageText, say(got)) != nil {
				return
			}
		}
	}
}

func always(text string) func(context.Context, *websocket.Conn) {
	return each(func([]byte) []byte { return []byte(text) })
}

var badChats = []badChat{
	{name: "silent", why: `opens, but sends nothing`, reason: "accepts and never says a word",
		talk: func(ctx context.Context, c *websocket.Conn) {
			for {
				if _, _, err := c.Read(ctx); err != nil {
					return
				}
			}
		}},
	{name: "never reads", why: `opens, but sends nothing`, reason: "hangs after the handshake",
		talk: func(ctx context.Context, c *websocket.Conn) { <-ctx.Done() }},
	{name: "closes at once", why: `ends without sending anything`, reason: "ends each connection in order",
		talk: func(_ context.Context, c *websocket.Conn) {
			_ = c.Close(websocket.StatusNormalClosure, "")
		}},
	{name: "resets", why: `ends without sending anything`, reason: "drops each connection",
		talk: func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() }},
	{name: "crashes at the first message", why: `ends without sending anything`,
		reason: "drops the connection that speaks",
		talk: func(ctx context.Context, c *websocket.Conn) {
			_, _, _ = c.Read(ctx)
			_ = c.CloseNow()
		}},
	{name: "echo", why: `it sends `, reason: "sends back what it gets",
		talk: each(func(got []byte) []byte { return got })},
	{name: "no JSON", why: `it sends "hello?"`, reason: "speaks another language", talk: always("hello?")},
	{name: "arrays", reason: "speaks in lists", talk: always(`[{"message_type":"result"}]`)},
	{name: "errors", reason: "refuses everything",
		talk: always(`{"message_type":"error","agent_id":null,"session_id":null,` +
			`"message":{"code":"no","text":"no"},"timestamp":"t"}`)},
	{name: "pongs", reason: "takes everything for a ping",
		talk: always(`{"message_type":"pong","agent_id":null,"session_id":null,"message":{},"timestamp":"t"}`)},
	{name: "another agent_id", reason: "answers as somebody else",
		talk: always(`{"message_type":"result","agent_id":"xxx","session_id":"yyy",` +
			`"message":{"subtype":"success"},"timestamp":"t"}`)},
	{name: "no agent_id", may: []string{"SC-039", "SC-040", "SC-043", "SC-044"}, reason: "answers nobody",
		talk: always(`{"message_type":"result","session_id":"yyy",` +
			`"message":{"subtype":"success"},"timestamp":"t"}`)},
	{name: "type in place of message_type", may: []string{"SC-038", "SC-039", "SC-042", "SC-043", "SC-044", "SC-056"},
		reason: "calls the type by the client's name", talk: each(func(got []byte) []byte {
			return bytes.Replace(got, []byte(`"type":"chat"`),
				[]byte(`"type":"result","session_id":"s","message":{},"timestamp":"t"`), 1)
		})},
	{name: "binary", why: `it sends `, reason: "answers in binary frames",
		talk: func(ctx context.Context, c *websocket.Conn) {
			for {
				_, got, err := c.Read(ctx)
				if err != nil || c.Write(ctx, websocket.MessageBinary, got) != nil {
					return
				}
			}
		}},
	{name: "a flood", why: lost, reason: "never stops talking", talk: func(ctx context.Context, c *websocket.Conn) {
		for i := 0; ctx.Err() == nil; i++ {
			if c.Write(ctx, websocket.MessageText,
				fmt.Appendf(nil, `{"message_type":"noise","agent_id":null,"n":%d}`, i)) != nil {
				return
			}
		}
	}},
	{name: "a huge message", why: `limits.max-event`, reason: "answers with more than is ever read",
		talk: each(func([]byte) []byte {
			return []byte(`{"message_type":"assistant","text":"` + strings.Repeat("x", 9<<20) + `"}`)
		})},
}

// TestBadChatTargets checks the verdicts on targets that answer nothing, or nothing right. Each is non-conformant or
// unreachable, and no clause passes except those that such a target keeps.
func TestBadChatTargets(t *testing.T) {
	t.Parallel()
	for _, b := range suitetest.Some(badChats, 5) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p, err := protocols.Kinds().ForURL("session-chat", b.start(t))
			if err != nil {
				t.Fatal(err)
			}
			judgesOrNot(t, p, b.why, b.may, b.reason)
		})
	}
}

func (b badChat) start(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		b.talk(ctx, c)
	}))
	t.Cleanup(func() { cancel(); s.CloseClientConnections(); s.Close() })
	return s.URL
}
