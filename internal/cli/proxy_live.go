package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/internal/cut"
	"parley/simulator/proxy"
)

// liveView shows what passes: findings and connections in lines and, on a terminal, one line that counts. It is safe
// for concurrent use.
type liveView struct {
	s     *streams
	roles bool // there are several
	done  chan struct{}
	work  sync.WaitGroup

	mu    sync.Mutex
	shown bool // the counting line is there
	told  int  // connections that were printed
}

// maxTold bounds the connections that are printed; all are counted.
const maxTold = 1000

func newLiveView(s *streams, roles bool) *liveView {
	return &liveView{s: s, roles: roles, done: make(chan struct{})}
}

// line prints a line above the counting one.
func (v *liveView) line(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	fmt.Fprintln(v.s.Err, text)
}

func (v *liveView) clear() {
	if v.shown {
		fmt.Fprint(v.s.Err, "\r\x1b[K")
		v.shown = false
	}
}

// found prints a finding.
func (v *liveView) found(f proxy.Found) {
	what := f.Clause
	if v.roles {
		what += " (" + f.Role + ")"
	}
	v.line(strings.TrimSpace(fmt.Sprintf("%s %s: %s", f.Outcome, what,
		cut.Head(strings.Join(strings.Fields(f.Observed), " "), 200))))
}

// event prints that a connection opens or ends.
func (v *liveView) event(e proxy.Event) {
	v.mu.Lock()
	v.told++
	told := v.told
	v.mu.Unlock()
	switch {
	case v.s.ErrTTY || told > maxTold: // the counting line has it
	case e.Open:
		v.line(fmt.Sprintf("%s opens: %s", e.Conn, withoutQuery(e.Text)))
	default:
		v.line(fmt.Sprintf("%s ended: %s", e.Conn, cut.Head(e.Text, 100)))
	}
}

// withoutQuery returns a request without its query, which may have secrets.
func withoutQuery(text string) string {
	head, rest, found := strings.Cut(text, "?")
	if _, kind, more := strings.Cut(rest, " "); found && more {
		return head + " " + kind
	}
	return head
}

// follow shows on a terminal what has passed, every second.
func (v *liveView) follow(stats func() proxy.Stats) {
	if !v.s.ErrTTY {
		return
	}
	v.work.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		before := int64(0)
		for {
			select {
			case <-v.done:
				return
			case <-tick.C:
			}
			now := stats()
			text := fmt.Sprintf("%d open of %d connections · %d messages, %d/s · %d findings", now.Open, now.Conns,
				now.Messages, now.Messages-before, now.Broken)
			before = now.Messages
			if v.s.ErrWidth > 1 {
				text = cut.Head(text, v.s.ErrWidth-1)
			}
			v.mu.Lock()
			v.clear()
			fmt.Fprint(v.s.Err, text)
			v.shown = true
			v.mu.Unlock()
		}
	})
}

// stop ends the counting line.
func (v *liveView) stop() {
	close(v.done)
	v.work.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}
