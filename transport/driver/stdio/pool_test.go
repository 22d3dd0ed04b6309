//go:build unix

package stdio

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestReuse: a returned process serves the next connection; a reset one does not.
func TestReuse(t *testing.T) {
	s, d := peers(t, "obeys"), newDriver(t)
	first := open(t, d, driver.OpenOptions{Process: s})
	pid := first.pid()
	first.send("not answered yet")
	first.close(driver.Graceful)

	second := open(t, d, driver.OpenOptions{Process: s, MaxEvent: 100})
	if r := second.log.All()[1]; r.Label != "a process of an earlier connection" || r.Reply != 1 ||
		r.Kind != transcript.Open {
		t.Errorf("it is opened by %s", r.Line(200))
	}
	second.send("pid")
	if n := s.started.Load(); n != 1 {
		t.Errorf("%d processes", n)
	}
	second.await("the same pid", func(r *transcript.Record) bool {
		return strings.TrimSpace(string(r.Bytes)) == strconv.Itoa(pid)
	})
	if third := open(t, d, driver.OpenOptions{Process: s}); third.pid() == pid {
		t.Error("two connections have one process")
	}
	second.close(driver.Reset)
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the one that was reset is still there: %v", err)
	}
	if fourth := open(t, d, driver.OpenOptions{Process: s}); fourth.pid() == pid {
		t.Error("the one that was reset goes on")
	}
	n := first.log.Len()
	if first.close(driver.Reset); first.log.Len() != n {
		t.Error("the first connection receives messages of the others")
	}
}

// TestPools: each starter has its own pool.
func TestPools(t *testing.T) {
	d, x := newDriver(t), newPuppet()
	s, other := &stage{next: []*puppet{x}}, &stage{}
	open(t, d, driver.OpenOptions{Process: s}).close(driver.Graceful)
	if _, err := d.Open(t.Context(), driver.OpenOptions{Process: other}, transcript.New(nil).Append); !errors.Is(err,
		errEmptyStage) {
		t.Errorf("Open: %v", err)
	}
	open(t, d, driver.OpenOptions{Process: s}).close(driver.Graceful)
}

// worked returns the driver's worker of the puppet.
func worked(t *testing.T, p *party) *worker {
	t.Helper()
	return p.conn.(*conn).w
}

// TestIdle: what a process sends or does without a connection.
func TestIdle(t *testing.T) {
	long := strings.Repeat("x", maxIdle/2)
	for _, tt := range []struct {
		reason string
		says   []string
		then   string // received by the next connection
		want   []string
		gone   bool
	}{
		{"nothing", nil, "hello\n", []string{`frame "hello"`}, false},
		{"lines are dropped", []string{"a\nb\n"}, "hello\n", []string{`frame "hello"`}, false},
		{"a line belongs to the connection that gets its end", []string{"a\nhel"}, "lo\n", []string{`frame "hello"`}, false},
		{"as much as is dropped", []string{long[1:] + "\n", long[1:] + "\n"}, "hello\n", []string{`frame "hello"`}, false},
		{"more than that", []string{long, long, "\n"}, "", nil, true},
		{"the start of a line that is too long for the next", []string{"12345678901"}, "2\n", []string{
			`frame "1234567890" (a line of more than 10 bytes) and 2 more`, "failure a line of more than 10 bytes",
			"closed the connection broke off: a line of more than 10 bytes",
		}, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			d, x := newDriver(t), newPuppet()
			s := &stage{next: []*puppet{x}}
			first := open(t, d, driver.OpenOptions{Process: s})
			w := worked(t, first)
			first.close(driver.Graceful)
			if tt.gone && tt.want == nil {
				for _, text := range tt.says {
					_, _ = x.outW.Write([]byte(text)) // the last one is not read any more
				}
				<-w.gone
				if _, err := d.Open(t.Context(), driver.OpenOptions{Process: s}, transcript.New(nil).Append); !errors.Is(err,
					errEmptyStage) {
					t.Errorf("it is not discarded: %v", err)
				}
				return
			}
			x.writeTexts(t, tt.says...)
			second := open(t, d, driver.OpenOptions{Process: s, MaxEvent: 10})
			if _, err := x.outW.Write([]byte(tt.then)); err != nil {
				t.Fatal(err)
			}
			if tt.gone {
				<-w.gone
			} else {
				x.writeTexts(t)
			}
			if diff := cmp.Diff(tt.want, said(second.log.All())); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestIdleIsCountedAnew: the bytes of separate idle periods do not add up.
func TestIdleIsCountedAnew(t *testing.T) {
	d, x := newDriver(t), newPuppet()
	s := &stage{next: []*puppet{x}}
	for range 3 {
		open(t, d, driver.OpenOptions{Process: s}).close(driver.Graceful)
		x.writeTexts(t, strings.Repeat("x", maxIdle-1)+"\n")
	}
	open(t, d, driver.OpenOptions{Process: s})
}

// TestEndsWhileIdle: a process that ends while idle is not reused, and leaves no pool behind.
func TestEndsWhileIdle(t *testing.T) {
	for _, tt := range []struct {
		reason string
		end    func(*puppet)
	}{
		{"it has ended", func(x *puppet) { x.exit("exit status 1"); _ = x.outW.Close() }},
		{"its stdout has ended", func(x *puppet) { _ = x.outW.Close() }},
		{"it has ended, and its stdout has not", func(x *puppet) { x.exit("exit status 1") }},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			d, x, next := newDriver(t), newPuppet(), newPuppet()
			d.times.end = 1
			s := &stage{next: []*puppet{x}}
			first := open(t, d, driver.OpenOptions{Process: s})
			w := worked(t, first)
			first.close(driver.Graceful)
			tt.end(x)
			<-w.gone
			d.mu.Lock()
			if len(d.idle) > 0 || len(d.all) > 0 {
				t.Errorf("%d pools and %d processes are left", len(d.idle), len(d.all))
			}
			d.mu.Unlock()
			s.next = []*puppet{next}
			if p := open(t, d, driver.OpenOptions{Process: s}); p.log.All()[1].Label != "a new process" || worked(t, p) == w {
				t.Error("it goes on")
			}
		})
	}
}

// TestNotFit: a process that has ended when its connection is closed is not returned to the pool, and its end is
// recorded.
func TestNotFit(t *testing.T) {
	d, x := newDriver(t), newPuppet()
	p := open(t, d, driver.OpenOptions{Process: &stage{next: []*puppet{x}}})
	x.exit("exit status 4")
	_ = x.outW.Close()
	p.close(driver.Graceful)
	if r := p.awaitEnd(); r.Label != "the target ended: exit status 4" {
		t.Errorf("it ended by %s", r.Label)
	}
	<-worked(t, p).gone
	if len(d.idle) > 0 {
		t.Error("it is given back")
	}
}

// TestParallel: there are as many processes as simultaneous connections, and no more.
func TestParallel(t *testing.T) {
	const parties, rounds = 8, 5
	s, d := peers(t, "obeys"), newDriver(t)
	var all sync.WaitGroup
	for i := range parties {
		all.Go(func() {
			for round := range rounds {
				p := open(t, d, driver.OpenOptions{Process: s})
				said := strings.Repeat(string(rune('a'+i)), round+1) + "."
				p.send(said)
				if p.awaitLine(said) != "" {
					t.Error("it hears another one's")
				}
				p.close(driver.Graceful)
			}
		})
	}
	all.Wait()
	if n := s.started.Load(); n > parties {
		t.Errorf("%d processes for %d connections at a time", n, parties)
	}
	if n := len(d.all); n != int(s.started.Load()) || n != len(d.idle[s]) {
		t.Errorf("of %d processes %d are left, and %d are idle", s.started.Load(), n, len(d.idle[s]))
	}
}

// TestDriverCloses: all processes end, idle or not, and nothing can be opened any more.
func TestDriverCloses(t *testing.T) {
	d, s := New(), peers(t, "obeys")
	idle, busy := open(t, d, driver.OpenOptions{Process: s}), open(t, d, driver.OpenOptions{Process: s})
	pids := []int{idle.pid(), busy.pid()}
	idle.close(driver.Graceful)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { _ = d.Close() })
	}
	all.Go(func() { // may be too late
		if c, err := d.Open(t.Context(), driver.OpenOptions{Process: s}, transcript.New(nil).Append); err == nil {
			_ = c.Close(driver.Graceful)
		}
	})
	all.Wait()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if r := busy.awaitEnd(); r.Label != byHarness {
		t.Errorf("the connection ended by %s", r.Label)
	}
	busy.close(driver.Graceful)
	if _, err := d.Open(t.Context(), driver.OpenOptions{Process: s}, transcript.New(nil).Append); !errors.Is(err,
		driver.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
}
