//go:build unix

package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func TestSendAndReceive(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	if mark := p.send(`{"a":"主代理"}`); mark != 3 {
		t.Errorf("the mark is %d; want the third record", mark)
	}
	p.awaitLine(`{"a"`)
	p.close(driver.Reset)
	type row struct {
		Dir         transcript.Dir
		Kind        transcript.Kind
		Label, Type string
		Bytes       string
		Reply       int
	}
	var got []row
	for _, r := range p.log.All() {
		if r.Conn != "A" {
			t.Errorf("record of %q", r.Conn)
		}
		got = append(got, row{r.Dir, r.Kind, r.Label, r.Type, string(r.Bytes), r.Reply})
	}
	want := []row{
		{Dir: transcript.Sent, Kind: transcript.Open, Label: "stdio"},
		{Dir: transcript.Received, Kind: transcript.Open, Label: "a new process", Reply: 1},
		{Dir: transcript.Sent, Kind: transcript.Frame, Label: "line", Type: "text", Bytes: `{"a":"主代理"}`},
		{Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: `{"a":"主代理"}`},
		{Dir: transcript.Received, Kind: transcript.Closed, Label: "closed by the harness"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if _, err := p.conn.Send(t.Context(), driver.Message{}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
}

// TestMistakesOfOurs: a message that cannot be a line is an error, and not recorded.
func TestMistakesOfOurs(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	for _, tt := range []struct {
		m    driver.Message
		want string
	}{
		{driver.Message{Label: "setup", Body: []byte("{\n}")}, `send over stdio: message "setup" has a line feed in it`},
		{driver.Message{Label: "setup", Body: []byte("{}\n")}, `send over stdio: message "setup" has a line feed in it`},
		{driver.Message{Label: "junk", Body: []byte("{}"), Binary: true},
			`send over stdio: message "junk" is binary, but a line is text`},
	} {
		if n, err := p.conn.Send(t.Context(), tt.m); err == nil || err.Error() != tt.want || n != 0 {
			t.Errorf("Send: %d, %v; want %s", n, err, tt.want)
		}
	}
	if n := p.log.Len(); n != 2 {
		t.Errorf("%d records", n)
	}
	if _, err := New().Open(t.Context(), driver.OpenOptions{}, p.log.Append); err == nil ||
		err.Error() != "stdio: nothing to start: OpenOptions.Process is nil" {
		t.Errorf("Open of nothing: %v", err)
	}
}

func TestNotOpened(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		reason string
		ctx    context.Context
		from   func(*testing.T) driver.Starter
		want   string
	}{
		{"nobody is there", t.Context(), func(*testing.T) driver.Starter { return &stage{} }, "open stdio: nobody is there"},
		{"a start that is given up", ended, func(t *testing.T) driver.Starter { return peers(t, "obeys") },
			"open stdio: start a process: context canceled"},
		{"a target that has been stopped", t.Context(), func(t *testing.T) driver.Starter {
			s := peers(t, "obeys")
			_ = s.run.Stop(t.Context())
			return s
		}, "open stdio: start a process: the target is being stopped"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			log, from := transcript.New(nil), tt.from(t)
			_, err := newDriver(t).Open(tt.ctx, driver.OpenOptions{Party: "A", Process: from}, log.Append)
			var open *driver.OpenError
			if !errors.As(err, &open) || err.Error() != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			all := log.All()
			last := all[len(all)-1]
			if len(all) != 2 || last.Kind != transcript.Failure || last.Reply != 1 || last.Conn != "A" ||
				"open stdio: "+last.Label != tt.want {
				t.Errorf("recorded is %s", last.Line(200))
			}
		})
	}
}

// TestOpenEndsWithItsContextOnly: ctx ends only the opening, and the connection outlives it.
func TestOpenEndsWithItsContextOnly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &party{TB: t, log: transcript.New(nil)}
	s := peers(t, "obeys")
	c, err := newDriver(t).Open(ctx, driver.OpenOptions{Party: "A", Process: s}, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	p.conn = c
	cancel()
	p.send("still here")
	p.awaitLine("still here")
}

// TestTargetEnds: the transcript shows how the target ended, and all that it sent before; messages sent afterwards
// are recorded as failures.
func TestTargetEnds(t *testing.T) {
	for _, tt := range []struct {
		reason string
		do     func(*party)
		want   []string
	}{
		{"a failure", func(p *party) { p.send("said", "exit 3") },
			[]string{`frame "said"`, "closed the target ended: exit status 3"}},
		{"a failure with output, whose last line counts",
			func(p *party) { p.send("cry Traceback:", "cry ValueError: 主", "cry ", "exit 1") },
			[]string{"closed the target ended: exit status 1: ValueError: 主"}},
		{"an end in peace", func(p *party) { p.send("exit 0") }, []string{"closed the target ended: exit status 0"}},
		{"in the middle of a line", func(p *party) { p.send(`raw "{\"id\":"`, "exit 9") },
			[]string{`comment "{\"id\":" (a line without a line feed)`, "closed the target ended: exit status 9"}},
		{"by force", func(p *party) {
			p.send("raw \"\"")
			_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		}, []string{"closed the target ended: signal: killed"}},
		{"its stdout, and not itself", func(p *party) { p.send("cry no more", "shut") },
			[]string{"closed the target closed its stdout: no more"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			var changes []func(*times)
			if strings.Contains(tt.want[0], "closed its stdout") { // and nothing more comes
				changes = append(changes, soonEnds)
			}
			p := connect(t, driver.OpenOptions{}, changes...)
			tt.do(p)
			p.awaitEnd()
			got := said(p.log.All())
			if strings.Contains(tt.want[0], "killed") {
				got = got[1:] // its pid
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			n := p.send("are you there?")
			if last := p.log.All()[p.log.Len()-1]; last.Kind != transcript.Failure || last.Reply != n ||
				last.Label != "not sent: the connection has ended" {
				t.Errorf("what is sent to nobody is recorded as %s", last.Line(200))
			}
			if err := p.conn.Close(driver.Graceful); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTargetDiesAtOnce: a target that exits at once counts as started.
func TestTargetDiesAtOnce(t *testing.T) {
	s := peers(t, "dies")
	p := open(t, newDriver(t), driver.OpenOptions{Process: s})
	if r := p.awaitEnd(); r.Label != "the target ended: exit status 3: cannot read its config" {
		t.Errorf("it ended by %s", r.Label)
	}
}

// TestStdoutHeldByOthers: a child that has left the group and holds stdout does not keep the connection open.
func TestStdoutHeldByOthers(t *testing.T) {
	p := connect(t, driver.OpenOptions{}, soonEnds)
	p.send("leave")
	pid, err := strconv.Atoi(p.awaitLine(""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if r := p.awaitEnd(); r.Label != "the target ended: exit status 5" {
		t.Errorf("it ended by %s", r.Label)
	}
}

// TestUnplugged: the next message shows that a process has closed its stdin.
func TestUnplugged(t *testing.T) {
	p := connect(t, driver.OpenOptions{}, soonEnds)
	p.send("unplug")
	p.awaitLine("unplugged")
	n := p.send("are you there?")
	p.await("what was not written", func(r *transcript.Record) bool {
		return r.Kind == transcript.Failure && r.Reply == n && strings.Contains(r.Label, "broken pipe")
	})
	if r := p.awaitEnd(); r.Label != "the target no longer reads its stdin" {
		t.Errorf("it ended by %s", r.Label)
	}
}

// TestTargetStopped: the target is stopped while connections use its processes.
func TestTargetStopped(t *testing.T) {
	s := peers(t, "obeys")
	p := open(t, newDriver(t), driver.OpenOptions{Process: s})
	if err := s.run.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if r := p.awaitEnd(); !strings.HasPrefix(r.Label, "the target ended: ") {
		t.Errorf("it ended by %s", r.Label)
	}
	p.close(driver.Graceful)
}

// TestTargetThatPauses: messages that it does not read for a while are kept, in order.
func TestTargetThatPauses(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	pid := p.pid()
	p.send("pause")
	p.awaitLine("paused")
	const lines, width = 2 * maxQueue, 1000 // more than a pipe and the queue hold together
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range lines {
			p.send(fmt.Sprintf("%0*d", width, i))
		}
	})
	// After what the pipe took, the queue is full once a message that does not fit has been recorded.
	p.await("more than the queue holds", func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent &&
			r.N > maxQueue
	})
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	sending.Wait()
	next := 0
	p.await("all of them", func(r *transcript.Record) bool {
		if r.Kind != transcript.Frame || r.Dir != transcript.Received || len(r.Bytes) != width {
			return false
		}
		if n, err := strconv.Atoi(string(r.Bytes)); err != nil || n != next {
			t.Errorf("line %d (%v) comes when %d should", n, err, next)
		}
		next++
		return next == lines
	})
	p.close(driver.Graceful)
}

// deaf opens a connection to a process that no longer reads.
func deaf(t *testing.T, change func(*times)) *party {
	p := connect(t, driver.OpenOptions{}, change)
	p.send("pause")
	p.awaitLine("paused")
	return p
}

// TestTargetThatNeverReads: it is ended, all Sends return, and the unsent messages are recorded.
func TestTargetThatNeverReads(t *testing.T) {
	p := deaf(t, func(w *times) { w.write = 100 * time.Millisecond })
	n := p.send(strings.Repeat("x", 1<<20))
	for range 2 * maxQueue {
		p.send("y")
	}
	p.await("what was not read", func(r *transcript.Record) bool {
		return r.Kind == transcript.Failure && r.Reply == n && r.Label == "the target has not read it within 100ms"
	})
	if r := p.awaitEnd(); r.Label != "the connection broke off: the target does not read its stdin" {
		t.Errorf("it ended by %s", r.Label)
	}
	p.await("one that found no place in the queue",
		func(r *transcript.Record) bool { return r.Label == "not sent: the connection has ended" })
}

// TestSendEndsWithItsContext: Send leaves the queue when its ctx ends, and the connection stays open.
func TestSendEndsWithItsContext(t *testing.T) {
	p := deaf(t, func(*times) {})
	ctx, cancel := context.WithCancel(t.Context())
	full := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		defer close(full)
		for range 2 * maxQueue {
			if _, err := p.conn.Send(ctx, driver.Message{Body: make([]byte, 1<<14)}); err != nil {
				t.Error(err)
			}
		}
	})
	p.await("more than the queue holds", func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent &&
			r.N > maxQueue
	})
	cancel()
	<-full
	sending.Wait()
	last := p.log.All()[p.log.Len()-1]
	if last.Label != "not sent: the target has not read earlier messages" || last.Reply != last.N-1 {
		t.Errorf("the last record is %s", last.Line(200))
	}
	p.close(driver.Reset)
}

// TestCloseOfADeafOne: a blocked write does not prevent closing.
func TestCloseOfADeafOne(t *testing.T) {
	for _, how := range []driver.CloseMode{driver.Graceful, driver.Reset} {
		p := deaf(t, func(w *times) { w.flush = 100 * time.Millisecond })
		var sending sync.WaitGroup
		sending.Go(func() {
			for range 2 * maxQueue {
				if _, err := p.conn.Send(t.Context(), driver.Message{Body: make([]byte, 1<<16)}); err != nil &&
					!errors.Is(err, driver.ErrClosed) {
					t.Error(err)
				}
			}
		})
		p.await("a message that waits", func(r *transcript.Record) bool { return r.Dir == transcript.Sent && r.N > maxQueue })
		go deadline.Watch(t.Context())
		limit := deadline.In(soon)
		if err := p.conn.Close(how); err != nil {
			t.Error(err)
		}
		if limit.Over() {
			t.Errorf("Close(%d) took %v", how, soon)
		}
		n := p.log.Len()
		sending.Wait()
		if p.log.Len() != n {
			t.Errorf("Close(%d): %d records came after it", how, p.log.Len()-n)
		}
	}
}

// TestConcurrent: all methods are safe for concurrent use.
func TestConcurrent(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				p.send("x")
			}
		})
	}
	all.Wait()
	echoes := 0
	p.await("400 echoes", func(r *transcript.Record) bool {
		if r.Kind == transcript.Frame && r.Dir == transcript.Received {
			echoes++
		}
		return echoes == 400
	})
	all.Go(func() { _ = p.conn.Close(driver.Graceful) })
	all.Go(func() { _ = p.conn.Close(driver.Reset) })
	all.Wait()
}

// TestDriverIsTold: the process learns which driver reaches it.
func TestDriverIsTold(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	p.send("driver")
	if got := p.awaitLine(""); got != target.Stdio || Name != target.Stdio || New().Name() != Name {
		t.Errorf("the process is told %q, the driver is %q", got, Name)
	}
}

// TestLastLines: what a process sends while its connection is being closed is recorded as late.
func TestLastLines(t *testing.T) {
	x := newPuppet()
	x.bye = func() { _, _ = io.WriteString(x.outW, "goodbye\n") }
	p := open(t, newDriver(t), driver.OpenOptions{Process: &stage{next: []*puppet{x}}})
	x.writeTexts(t, "hello\n")
	p.close(driver.Reset)
	late := map[string]bool{}
	for _, r := range p.log.All() {
		if r.Dir == transcript.Received {
			late[string(r.Kind)+" "+string(r.Bytes)] = r.Late
		}
	}
	want := map[string]bool{"open ": false, "frame hello": false, "frame goodbye": true, "closed ": false}
	if diff := cmp.Diff(want, late); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}
