package driver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/transport/transcript"
)

// What stands between the harness and a target (a gateway, a balancer) limits rates, and answers while it restarts or
// cannot reach the target. Such an answer is not the target's. A request that it refuses is sent again by these rules:
//
//   - after the time of Retry-After, if that is at most maxRetryAfter;
//   - else after retryPause, twice as long each time, if the target has answered before, and, after 502 and 504, if the
//     request changes nothing: the target may have received it;
//   - at most maxRetries times, and only while no later request of its connection has been sent. Later ones wait.
//
// After 429 and 503, requests over the driver are sent more slowly than those that led to it.
const (
	maxRetryAfter = 5 * time.Second
	retryPause    = 500 * time.Millisecond
	maxRetries    = 3

	busy        = 10                     // requests in a second from which on a refusal is due to their number
	slowest     = 250 * time.Millisecond // the most between two requests
	perceptible = 50 * time.Millisecond  // shorter delays are not recorded
)

// HeldBack starts a remark about a request that is delayed; a duration and a colon follow.
const HeldBack = "held back for "

// ByGateway reports whether a record is the answer of a gateway, after all attempts.
func ByGateway(r *transcript.Record) bool {
	return r.Kind == transcript.Response && r.Dir == transcript.Received && IsGateway(r.Status)
}

// IsGateway reports whether an HTTP status is that of a gateway: 429, 502, 503 or 504.
func IsGateway(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}

// HeldFor returns how long a record says that a request is held back; 0 if it says nothing of the kind.
func HeldFor(r *transcript.Record) time.Duration {
	rest, ok := strings.CutPrefix(r.Label, HeldBack)
	if r.Kind != transcript.Remark || !ok {
		return 0
	}
	text, _, _ := strings.Cut(rest, ":")
	d, _ := time.ParseDuration(text)
	return d
}

// Gateway is what a driver knows about what stands before its target. The zero value is ready. It is safe for
// concurrent use.
type Gateway struct {
	mu       sync.Mutex
	answered bool        // by the target
	sent     []time.Time // requests of the last second
	next     time.Time   // the earliest time of the next request
	interval time.Duration
	counts   map[int]int // status → answers
	slowed   time.Time   // when interval was last raised
}

// Counts returns how often each status was answered, and how many requests a second are sent since; 0: any number.
func (g *Gateway) Counts() (statuses map[int]int, rate float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.interval > 0 {
		rate = float64(time.Second) / float64(g.interval)
	}
	return g.counts, rate
}

// Reserve returns how long a request has to wait that is about to be sent. Whoever calls it sends one.
func (g *Gateway) Reserve() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	at := now
	if g.next.After(now) {
		at = g.next
	}
	if g.interval > 0 {
		g.next = at.Add(g.interval)
	}
	for len(g.sent) > 0 && at.Sub(g.sent[0]) > time.Second {
		g.sent = g.sent[1:]
	}
	g.sent = append(g.sent, at)
	return at.Sub(now)
}

// AwaitDelay waits for a reserved delay, and has a remark recorded if it is noticeable. It extends the limits of ctx.
func AwaitDelay(ctx context.Context, delay time.Duration, party string, sink Sink) error {
	if delay <= 0 {
		return nil
	}
	if delay > perceptible {
		gatewayRemark(party, sink, delay, "so that the gateway does not refuse it")
	}
	return waitUncounted(ctx, delay)
}

// Attempt is a request that was answered.
type Attempt struct {
	Try   int         // from 1
	Safe  bool        // it changes nothing
	Alone func() bool // reports whether it may be sent again, and keeps later ones from being sent; nil: it may
}

// WaitAndRetry reports whether a request is to be sent again because a gateway has answered it, and waits before. It
// extends the limits of ctx.
func (g *Gateway) WaitAndRetry(ctx context.Context, resp *http.Response, a Attempt, party string, sink Sink) bool {
	delay, ok := g.delayAfterRefusal(resp, a)
	if !ok || a.Alone != nil && !a.Alone() {
		return false
	}
	gatewayRemark(party, sink, delay, "the gateway answered "+resp.Status)
	return waitUncounted(ctx, delay) == nil
}

// delayAfterRefusal learns from an answer, and returns the delay before the request is sent again; false if it is not.
func (g *Gateway) delayAfterRefusal(resp *http.Response, a Attempt) (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !IsGateway(resp.StatusCode) {
		g.answered = true
		return 0, false
	}
	if g.counts == nil {
		g.counts = map[int]int{}
	}
	g.counts[resp.StatusCode]++
	delay, named := retryAfter(resp.Header.Get("Retry-After"))
	full := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
	if now := time.Now(); full && len(g.sent) >= busy && now.Sub(g.slowed) > max(delay, time.Second) {
		g.slowed = now
		g.interval = min(slowest, max(g.interval*3/2, time.Second*4/3/time.Duration(len(g.sent))))
	}
	if !named {
		delay = retryPause << (a.Try - 1)
	}
	switch {
	case a.Try > maxRetries, named && delay > maxRetryAfter, !named && (!g.answered || !full && !a.Safe):
		return 0, false
	case full && named:
		if until := time.Now().Add(delay); until.After(g.next) {
			g.next = until
		}
	}
	return delay, true
}

// retryAfter reads Retry-After: seconds, or a date.
func retryAfter(value string) (time.Duration, bool) {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 {
		return time.Duration(min(n, 1<<20)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0), true
	}
	return 0, false
}

func gatewayRemark(party string, sink Sink, delay time.Duration, why string) {
	sink(transcript.Record{Conn: party, Dir: transcript.Noted, Kind: transcript.Remark,
		Label: fmt.Sprintf("%s%s: %s", HeldBack, delay.Round(time.Millisecond), why)})
}

// waitUncounted waits for a time that the limits of ctx do not count.
func waitUncounted(ctx context.Context, d time.Duration) error {
	deadline.Extend(ctx, d)
	over := make(chan struct{})
	stop := deadline.In(d).AfterFunc(func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
