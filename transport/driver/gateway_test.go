package driver

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/deadline"
	"parley/transport/transcript"
)

func refusal(status int, retryAfter string) *http.Response {
	h := http.Header{}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status), Header: h}
}

// TestAgain: what is sent again, and when. The wait extends the limits of the request.
func TestAgain(t *testing.T) {
	for _, row := range []struct {
		name     string
		resp     *http.Response
		a        Attempt
		answered bool
		delay    time.Duration // 0: not sent again
	}{
		{"an answer", refusal(200, ""), Attempt{Try: 1}, true, 0},
		{"a refusal by the target", refusal(400, "1"), Attempt{Try: 1}, true, 0},
		{"in seconds", refusal(429, "2"), Attempt{Try: 1}, false, 2 * time.Second},
		{"as a date", refusal(503, "Sat, 01 Jan 2000 00:00:03 GMT"), Attempt{Try: 1}, false, 3 * time.Second},
		{"too long", refusal(429, "6"), Attempt{Try: 1}, true, 0},
		{"too often", refusal(429, "1"), Attempt{Try: 4}, true, 0},
		{"a target that never answered", refusal(503, ""), Attempt{Try: 1}, false, 0},
		{"twice as long", refusal(503, ""), Attempt{Try: 2}, true, time.Second},
		{"a message that may have come through", refusal(502, ""), Attempt{Try: 1}, true, 0},
		{"a request that changes nothing", refusal(502, ""), Attempt{Try: 1, Safe: true}, true, 500 * time.Millisecond},
		{"with a later message", refusal(429, "1"), Attempt{Try: 1, Alone: func() bool { return false }}, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := Gateway{answered: row.answered}
				ctx, cancel := deadline.WithLimit(t.Context(), time.Second)
				defer cancel()
				log, began := transcript.New(nil), time.Now()
				again := g.WaitAndRetry(ctx, row.resp, row.a, "A", log.Append)
				if again != (row.delay > 0) || time.Since(began) != row.delay || ctx.Err() != nil {
					t.Errorf("again %v after %v, %v", again, time.Since(began), ctx.Err())
				}
				if all := log.All(); again && (len(all) != 1 || HeldFor(&all[0]) != row.delay) {
					t.Errorf("recorded is %v", all)
				}
			})
		})
	}
}

// TestPace: after a refusal among many requests, they are sent more slowly.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gateway
		for range 40 {
			if d := g.Reserve(); d != 0 {
				t.Fatalf("a request waits for %v", d)
			}
		}
		g.WaitAndRetry(t.Context(), refusal(429, "1"), Attempt{Try: 1}, "A", transcript.New(nil).Append)
		var last time.Duration
		for range 30 {
			last = g.Reserve()
		}
		counts, rate := g.Counts()
		if last < 900*time.Millisecond || counts[429] != 1 || rate < 25 || rate > 35 {
			t.Errorf("the 30th waits for %v; %v, %.1f", last, counts, rate)
		}
	})
}
