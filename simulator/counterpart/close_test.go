package counterpart_test

import (
	"context"
	"testing"
	"time"

	"parley/simulator/counterpart"
)

// TestCloseWaits: a play whose context has ended closes by itself, and Close returns only once the target has stopped:
// a program that ends after Close leaves nothing behind.
func TestCloseWaits(t *testing.T) {
	o := options(t, "agent-select", "server")
	start, stopping, stopped := o.Start, make(chan struct{}), make(chan struct{})
	o.Start = func(ctx context.Context, mutant, url string) (counterpart.Peer, error) {
		peer, err := start(ctx, mutant, url)
		stop := peer.Stop
		peer.Stop = func() {
			close(stopping)
			time.Sleep(50 * time.Millisecond) // long enough for a Close that does not wait
			stop()
			close(stopped)
		}
		return peer, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err := counterpart.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-stopping
	p.Close()
	select {
	case <-stopped:
	default:
		t.Error("Close returned before the target had stopped")
	}
}
