package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/coder/websocket"
)

// booking is a hostile host or relay of external-agent.
type booking struct {
	name   string
	talk   func(ctx context.Context, c *websocket.Conn) // handles a connection until it returns
	may    []string                                     // binding clauses that such a peer may pass
	reason string
	why    string // the sentence that blames; "": it is judged
}

// lost means that a peer may send more than a transcript holds, depending on its speed.
const lost = flooded + "|within|nothing of external-agent came"

// bookingRows are the rows of both roles.
func bookingRows() (all []row) {
	for _, role := range []string{"host", "relay"} {
		for _, b := range bookings {
			r := row{name: b.name, peer: role, of: "external-agent/" + role, does: b.reason, serve: chat(b.talk),
				may:  b.may,
				keys: "external-agent: {session: 's-{nonce}'}\n", exit: 3, says: regexp.QuoteMeta(b.why)}
			r.night = b.name == "says yes" // it is found out by the whole suite alone
			switch b.why {
			case "":
				r.exit, r.says = 1, "EA-"
			case lost:
				r.exit, r.exits, r.says = 5, []int{1, 3}, lost
			}
			all = append(all, r)
		}
	}
	return all
}

// answering answers each envelope by a function of its type and id; "" means no answer.
func answering(say func(kind, id string, got []byte) string) func(context.Context, *websocket.Conn) {
	return each(func(got []byte) []byte {
		var e struct{ Type, ID string }
		_ = json.Unmarshal(got, &e)
		if out := say(e.Type, e.ID, got); out != "" {
			return []byte(out)
		}
		return []byte(`{"v":"mvp-0.2","type":"x.nothing","payload":{}}`)
	})
}

// welcomes answers relay.join correctly and leaves other messages to rest.
func welcomes(rest func(kind, id string, got []byte) string) func(context.Context, *websocket.Conn) {
	return answering(func(kind, id string, got []byte) string {
		if kind != "relay.join" {
			return rest(kind, id, got)
		}
		return string(bytes.Replace(bytes.Replace(got, []byte(`"relay.join"`), []byte(`"relay.joined"`), 1),
			[]byte(`"id"`),
			[]byte(`"replyTo"`), 1))
	})
}

func envelopeText(kind, replyTo, payload string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":%q,"replyTo":%q,"payload":%s}`, kind, replyTo, payload)
}

// form are the clauses about the form of envelopes, kept by any target that sends well-formed ones.
var form = []string{"EA-018", "EA-019", "EA-021", "EA-022a", "EA-024"}

// welcome are the clauses kept by a target that lets an agent join.
var welcome = append([]string{"EA-023a", "EA-028", "EA-029", "EA-030", "EA-103", "EA-106"}, form...)

var bookings = []booking{
	{name: "silent", why: `opens, but sends nothing`, reason: "accepts and never says a word", talk: ears},
	{name: "never reads", why: `opens, but sends nothing`, reason: "hangs after the handshake", talk: deaf},
	{name: "closes at once", why: `ends without sending anything`,
		reason: "ends each connection in order", talk: leaves},
	{name: "resets", why: `ends without sending anything`, reason: "drops each connection", talk: drops},
	{name: "echo", why: `it sends `, reason: "sends back what it gets",
		talk: each(echoes)},
	{name: "no JSON", why: `it sends "hello?"`, reason: "speaks another language", talk: always("hello?")},
	{name: "arrays", reason: "speaks in lists", talk: always(`[{"v":"mvp-0.2"}]`)},
	{name: "a flood", why: lost, reason: "never stops talking", may: form,
		talk: func(ctx context.Context,
			c *websocket.Conn) {
			for i := 0; ctx.Err() == nil; i++ {
				if c.Write(ctx, websocket.MessageText,
					fmt.Appendf(nil, `{"v":"mvp-0.2","type":"noise","payload":{"n":%d}}`, i)) != nil {
					return
				}
			}
		}},
	{name: "a huge message", why: `limits.max-event`, reason: "answers with more than is ever read",
		talk: each(func([]byte) []byte {
			return []byte(`{"v":"mvp-0.2","type":"relay.joined","payload":{"x":"` + strings.Repeat("x", 9<<20) + `"}}`)
		})},
	{name: "refuses everything", may: append([]string{"EA-068", "EA-069", "EA-070", "EA-084", "EA-023a"}, form...),
		reason: "answers every envelope with one error",
		talk: answering(func(_, id string, _ []byte) string {
			return envelopeText("error", id, `{"code":"SESSION_NOT_ACTIVE","message":"no"}`)
		})},
	{name: "refuses without a word", may: append([]string{"EA-069", "EA-070", "EA-084"}, form...),
		reason: "answers with errors that name no request",
		talk:   always(`{"v":"mvp-0.2","type":"error","payload":{"code":"INVALID_MESSAGE","message":"no"}}`)},
	{name: "a relay alone", may: welcome, reason: "lets an agent join, but has no host",
		talk: welcomes(func(string, string, []byte) string { return "" })},
	{name: "joined and refused", may: append([]string{"EA-068", "EA-069", "EA-070", "EA-084"}, welcome...),
		reason: "lets an agent join, and refuses the rest",
		talk: welcomes(func(_, id string, _ []byte) string {
			return envelopeText("error", id, `{"code":"UNKNOWN_TOOL","message":"no"}`)
		})},
	{name: "started and no more", may: append([]string{"EA-038", "EA-039", "EA-025"}, welcome...),
		reason: "starts sessions in which nothing happens",
		talk: welcomes(func(kind, id string, _ []byte) string {
			if kind != "session.start" {
				return ""
			}
			return envelopeText("session.started", id, `{"sessionId":"s-1"}`)
		})},
	{name: "says yes", reason: "confirms every request, and has nothing to show",
		may: append([]string{"EA-038", "EA-039", "EA-025", "EA-004", "EA-005", "EA-006", "EA-016", "EA-041", "EA-042",
			"EA-043", "EA-044", "EA-045", "EA-077a",
			"EA-063", "EA-064", "EA-065", "EA-067", "EA-008", "EA-008a", "EA-011", "EA-015", "EA-102", "EA-048",
			"EA-052a"}, welcome...),
		talk: welcomes(func(kind, id string, _ []byte) string {
			switch kind {
			case "session.start":
				return envelopeText("session.started", id, `{"sessionId":"s-1"}`)
			case "snapshot.get":
				return envelopeText("snapshot.state", id,
					`{"sessionId":"s-1","uiSpec":{},"messageHistory":[],"toolSchema":[]}`)
			case "tool.call":
				return envelopeText("tool.result", id, `{"ok":true,"toolName":"select"}`)
			case "session.end":
				return envelopeText("session.ended", id, `{"sessionId":"s-1","logFile":"x","stateReset":true}`)
			}
			return ""
		})},
}
