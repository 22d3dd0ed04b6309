package llm

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// held is an answer that runs in another goroutine.
type held struct {
	parts []Part
	err   error
	done  bool
}

// hold starts an answer and returns when it blocks. It must be called in a synctest bubble; the fields are stable
// after synctest.Wait.
func hold(ctx context.Context, b *Brain, text string) *held {
	h := &held{}
	go func() {
		h.err = b.Answer(ctx, Request{Messages: []Message{user(text)}}, func(p Part) error {
			h.parts = append(h.parts, p)
			return nil
		})
		h.done = true
	}()
	synctest.Wait()
	return h
}

func (h *held) expect(t *testing.T, done bool, err error, parts ...string) {
	t.Helper()
	synctest.Wait()
	if h.done != done || !errors.Is(h.err, err) {
		t.Errorf("done %v, error %v; want %v, %v", h.done, h.err, done, err)
	}
	if diff := cmp.Diff(texts(parts...), h.parts); diff != "" {
		t.Errorf("parts: (-want +got)\n%s", diff)
	}
}

func TestHold(t *testing.T) {
	const first, last = "holding a", "\nreleased a"
	tests := []struct {
		reason string
		run    func(*testing.T, *Brain)
	}{
		{"says the first part, then waits for the release", func(t *testing.T, b *Brain) {
			h := hold(t.Context(), b, "[[hold a]]")
			h.expect(t, false, nil, first)
			b.Release("other")
			h.expect(t, false, nil, first)
			b.Release("a")
			h.expect(t, true, nil, first, last)
		}},
		{"a release frees all of its nonce, now and later", func(t *testing.T, b *Brain) {
			one, two := hold(t.Context(), b, "[[hold a]]"), hold(t.Context(), b, "[[hold a]]")
			b.Release("a")
			b.Release("a")
			for _, h := range []*held{one, two, hold(t.Context(), b, "[[hold a]]")} {
				h.expect(t, true, nil, first, last)
			}
		}},
		{"the end of the context frees only its own", func(t *testing.T, b *Brain) {
			ctx, cancel := context.WithCancel(t.Context())
			one, two := hold(ctx, b, "[[hold a]]"), hold(t.Context(), b, "[[hold a]]")
			cancel()
			one.expect(t, true, context.Canceled, first)
			two.expect(t, false, nil, first)
			b.Release("a")
			two.expect(t, true, nil, first, last)
		}},
		{"knows when the last request is given up", func(t *testing.T, b *Brain) {
			ctx, cancel := context.WithCancel(t.Context())
			one, two := hold(ctx, b, "[[hold a]]"), hold(t.Context(), b, "[[hold b]]")
			short, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			if b.Abandoned(short, "a") {
				t.Error("a held request is called abandoned")
			}
			cancel()
			one.expect(t, true, context.Canceled, first)
			if !b.Abandoned(t.Context(), "a") || !b.Abandoned(t.Context(), "never held") {
				t.Error("a request that was given up is not called abandoned")
			}
			b.Release("b")
			two.expect(t, true, nil, "holding b", "\nreleased b")
			if b.Abandoned(t.Context(), "b") {
				t.Error("a released request is called abandoned")
			}
		}},
		{"forgetting releases held answers, and later ones are held again", func(t *testing.T, b *Brain) {
			h := hold(t.Context(), b, "[[hold a]]")
			b.Forget("a")
			h.expect(t, true, nil, first, last)
			b.Release("a")
			b.Forget("a")
			h = hold(t.Context(), b, "[[hold a]]")
			h.expect(t, false, nil, first)
			b.Release("a")
			h.expect(t, true, nil, first, last)
		}},
		{"goes on with the directives after it", func(t *testing.T, b *Brain) {
			h := hold(t.Context(), b, "[[hold a]] [[stream b]]")
			b.Release("a")
			h.expect(t, true, nil, first, last, "\nstream b 1/1 ")
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.run(t, New()) })
		})
	}
}

func TestGatesAreBounded(t *testing.T) {
	g := newGates(10)
	for i := range 100 {
		g.releaseNonce(strconv.Itoa(i))
	}
	if len(g.released) != 10 || g.order.Len() != 10 || g.released["99"] == nil || g.released["89"] != nil {
		t.Errorf("%d marks, %d in order; want the last 10", len(g.released), g.order.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.awaitRelease(ctx, "0"); err == nil || len(g.held) != 0 {
		t.Errorf("wait: %v, %d gates; want an error and none", err, len(g.held))
	}
}
