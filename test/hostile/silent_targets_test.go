package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// badChat is a peer that talks over WebSockets.
type badChat struct {
	talk func(ctx context.Context, c *websocket.Conn) // handles a connection until it returns
}

// slowChat answers a chat after more than limits.event, and everything else at once with quick.
func slowChat(first string, quick func(ctx context.Context, c *websocket.Conn, got string)) badChat {
	return badChat{talk: func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil {
				return
			}
			_, rest, _ := strings.Cut(string(got), `"agent_id":"`)
			id, _, chats := strings.Cut(rest, `"`)
			if !chats {
				quick(ctx, c, string(got))
				continue
			}
			says := func(kind, message string) {
				_ = c.Write(ctx, websocket.MessageText,
					fmt.Appendf(nil,
						`{"message_type":%q,"agent_id":%q,"session_id":"s-%[2]s","message":%s,"timestamp":"2026-01-01T00:00:00Z"}`,
						kind, id, message))
			}
			if first != "" {
				says(first, `{"subtype":"init"}`)
			}
			select {
			case <-time.After(5 * muteEvent / 2): // the delay under test
			case <-ctx.Done():
			}
			says("assistant", `{"text":"hello"}`)
			says("result", `{"subtype":"success"}`)
		}
	}}
}

const muteEvent = time.Second

func repliesTo(want, with string) func(context.Context, *websocket.Conn, string) {
	return func(ctx context.Context, c *websocket.Conn, got string) {
		if strings.Contains(got, want) {
			_ = c.Write(ctx, websocket.MessageText, []byte(with))
		}
	}
}

// TestMute checks that a silent target costs limits.event, not the limit of a turn, and that the suite waits for a slow
// one, however it shows that it is alive.
func TestMute(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *websocket.Conn, string) {}
	for _, row := range []struct {
		reason string
		target badChat
		turn   time.Duration
		mute   bool
	}{
		{"never says a word", badChat{talk: ears}, time.Hour, true},
		{"never reads", badChat{talk: deaf}, time.Hour, true},
		{"answers a ping",
			slowChat("",
				repliesTo(`"ping"`,
					`{"message_type":"pong","agent_id":null,"session_id":null,"message":{},"timestamp":"t"}`)),
			time.Minute, false},
		{"answers no ping, and refuses",
			slowChat("",
				repliesTo(`"chat"`,
					`{"message_type":"error","agent_id":null,"session_id":null,"message":{"code":"x","text":"x"},"timestamp":"t"}`)),
			time.Minute, false},
		{"answers no ping, and refuses in words of its own", slowChat("", repliesTo(`"chat"`, `{"oops":1}`)), time.Minute,
			false},
		{"answers no ping, and closes", slowChat("", func(_ context.Context, c *websocket.Conn, got string) {
			if strings.Contains(got, `"chat"`) {
				_ = c.Close(websocket.StatusPolicyViolation, "no agent_id")
			}
		}), time.Minute, false},
		{"says at once that a session begins, and nothing else", slowChat("system", nothing), time.Minute, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p, err := protocols.Kinds().ForURL("session-chat", chat(row.target.talk)(t))
			if err != nil {
				t.Fatal(err)
			}
			p.Limits.Event.Duration, p.Limits.Turn.Duration, p.Limits.Scenario.Duration = muteEvent, row.turn, 2*time.Hour
			res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "@SC-045", AllowIncomplete: true})
			if row.mute {
				unjudged(t, res, "opens, but sends nothing")
				return
			}
			if res.Exit == verdict.ExitUnreachable {
				t.Errorf("not judged: %s", res.Runs[0].Environment)
			}
			if o := suitetest.Outcome(res, "the turn of a chat ends"); o != verdict.Passed {
				t.Errorf("its slow turn is %s\n%s", o, suitetest.Console(t, res))
			}
		})
	}
}

// slowRelay answers a join after half of limits.event, and nothing else.
var slowRelay = badChat{talk: func(ctx context.Context, c *websocket.Conn) {
	for {
		_, got, err := c.Read(ctx)
		if err != nil {
			return
		}
		says := func(kind, payload string) {
			_ = c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"v":"mvp-0.2","type":%q,"replyTo":%q,"payload":%s}`,
				kind, textOf(string(got), "id"), payload))
		}
		if !strings.Contains(string(got), `"relay.join"`) {
			continue
		}
		select {
		case <-time.After(muteEvent / 2): // the delay under test
		case <-ctx.Done():
		}
		says("relay.joined", fmt.Sprintf(`{"role":%q,"sessionId":%q}`, textOf(string(got), "role"),
			textOf(string(got), "sessionId")))
	}
}}

// textOf returns the first text member with a name.
func textOf(doc, name string) string {
	_, rest, _ := strings.Cut(doc, `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// TestMuteRelaysAndOrchestrators checks that a silent relay costs limits.event, not the limit of a join, and that the
// suite waits for a slow one; likewise for orchestrators.
func TestMuteRelaysAndOrchestrators(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, protocol string
		target           badChat
		turn             time.Duration
		joins            bool
	}{
		{"a relay that never says a word", "external-agent", badChat{talk: ears}, time.Hour, false},
		{"a relay that never reads", "external-agent", badChat{talk: deaf}, time.Hour, false},
		{"a relay that is slow to let an agent in", "external-agent", slowRelay, time.Minute, true},
		{"an orchestrator that never says a word", "session-runtime", badChat{talk: ears}, time.Hour, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p, err := protocols.Kinds().ForURL(row.protocol, chat(row.target.talk)(t))
			if err != nil {
				t.Fatal(err)
			}
			p.Limits.Event.Duration, p.Limits.Turn.Duration, p.Limits.Scenario.Duration = muteEvent, row.turn, 2*time.Hour
			o := runner.Options{Profile: p, AllowIncomplete: true}
			if row.protocol == "external-agent" {
				o.Role, o.Tags = "relay", "@EA-028"
			}
			res := suitetest.Judge(t, o)
			if !row.joins {
				unjudged(t, res, "opens, but sends nothing")
			} else if o := suitetest.Outcome(res, "an agent joins"); o != verdict.Passed {
				t.Errorf("its slow join is %s\n%s", o, suitetest.Console(t, res))
			}
		})
	}
}
