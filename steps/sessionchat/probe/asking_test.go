package probe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// telling is a message of a server, and its delay after the previous one.
type telling struct {
	after time.Duration
	text  string
}

// teller is a connection whose server always sends the same, whatever it receives.
type teller struct {
	t    *transcript.Transcript
	says []telling
}

func (c *teller) Send(_ context.Context, m driver.Message) (int, error) {
	frame := transcript.Record{Conn: "probe", Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Bytes: m.Body}
	mark := c.t.Append(frame)
	go func() {
		for _, s := range c.says {
			time.Sleep(s.after) // synthetic
			answer := frame
			answer.Dir, answer.Bytes = transcript.Received, []byte(s.text)
			c.t.Append(answer)
		}
	}()
	return mark, nil
}

func (c *teller) Close(driver.CloseMode) error { return nil }

// TestAsk checks that the result of a failed turn is awaited after its error, and that no time is lost after a
// result, a pong, or an error that stays alone.
func TestAsk(t *testing.T) {
	const (
		failure = `{"message_type":"error","agent_id":"me","message":{"code":"model_failed"}}`
		result  = `{"message_type":"result","agent_id":"me","message":{"subtype":"error"}}`
		words   = `{"message_type":"assistant","agent_id":"me","message":{"content":"ok"}}`
		pong    = `{"message_type":"pong","message":{}}`
		ms      = time.Millisecond
	)
	limits := target.DefaultLimits()
	quiet, event, turn := limits.Quiet.Duration, limits.Event.Duration, limits.Turn.Duration
	for _, row := range []struct {
		what  string
		event time.Duration // limits.event
		says  []telling
		heard int
		took  time.Duration
	}{
		{"a result behind an error", event, []telling{{10 * ms, failure}, {lateResult - ms, result}}, 2,
			10*ms + lateResult - ms + quiet},
		{"one that comes too late", event, []telling{{10 * ms, failure}, {lateResult + ms, result}}, 1, 10*ms + lateResult},
		{"an error alone", event, []telling{{10 * ms, failure}}, 1, 10*ms + lateResult},
		{"an error alone, of a server with a short limit", 400 * ms, []telling{{10 * ms, failure}}, 1, 410 * ms},
		{"of one whose limit is shorter than the quiet window", quiet / 2, []telling{{10 * ms, failure}}, 1, 10*ms + quiet},
		{"an error in the middle of a turn", event, []telling{
			{0, words}, {0, failure}, {500 * ms, words}, {5 * time.Second, result},
		}, 4, 5500*ms + quiet},
		{"a turn", event, []telling{{0, words}, {9 * time.Second, result}, {quiet + ms, words}}, 2, 9*time.Second + quiet},
		{"a pong", event, []telling{{0, pong}, {quiet + ms, words}}, 1, quiet},
		{"nothing", event, nil, 0, turn},
	} {
		t.Run(row.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &target.Profile{Limits: target.DefaultLimits()}
				p.Limits.Event.Duration = row.event
				tr := transcript.New(nil)
				c := &chatter{p.Limits, probe.NewLine(t.Context(), &teller{tr, row.says}, tr)}
				began := time.Now()
				heard := c.ask(map[string]any{"type": "chat"}, p.Limits.Turn)
				if took := time.Since(began); len(heard) != row.heard || took != row.took {
					t.Errorf("%d messages in %v, want %d in %v: %v", len(heard), took, row.heard, row.took, heard)
				}
				time.Sleep(time.Minute) // synthetic: the rest is never received
			})
		})
	}
}
