//go:build unix

package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/deadline"
	"parley/protocol/sessionruntime"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// within bounds each wait of a test; only a failing test uses it up.
const within = time.Minute

// soon bounds a Close, whatever the process does: less than a write takes to be given up.
const soon = 5 * time.Second

// peer is a target that obeys the commands that it reads, and echoes all other lines.
func peer() {
	resume := make(chan os.Signal, 1)
	signal.Notify(resume, syscall.SIGUSR1)
	if os.Getenv("FAKE_PEER") == "dies" {
		fmt.Fprintln(os.Stderr, "cannot read its config")
		os.Exit(3)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		switch n, _ := strconv.Atoi(rest); word {
		case "raw": // bytes as they are
			s, _ := strconv.Unquote(rest)
			_, _ = os.Stdout.WriteString(s)
		case "cry":
			fmt.Fprintln(os.Stderr, rest)
		case "exit":
			os.Exit(n)
		case "pid":
			fmt.Println(os.Getpid())
		case "driver":
			fmt.Println(os.Getenv("PARLEY_DRIVER"))
		case "long":
			fmt.Println(strings.Repeat("x", n))
		case "count":
			out := bufio.NewWriter(os.Stdout)
			for i := range n {
				fmt.Fprintln(out, i)
			}
			_ = out.Flush()
		case "endless":
			for {
				_, _ = os.Stdout.WriteString(strings.Repeat("x", 1<<16))
			}
		case "pause": // pauses reading until a signal
			fmt.Println("paused")
			<-resume
		case "shut": // its stdout
			_ = os.Stdout.Close()
		case "unplug": // its stdin
			_ = os.Stdin.Close()
			fmt.Println("unplugged")
			<-resume
		case "leave": // its stdout to a child in another session
			pid, _ := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exec sleep 600"}, &syscall.ProcAttr{
				Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
			})
			fmt.Println(pid)
			os.Exit(5)
		default:
			fmt.Print(text)
		}
	}
}

// peers starts peers in a mode, and checks at the end of the test that nothing is left of them.
func peers(t testing.TB, mode string) *counter {
	t.Helper()
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	p := target.Kinds{binding.Kind()}.New(sessionruntime.Protocol)
	p.Dir, p.Drivers = t.TempDir(), []string{target.Stdio}
	p.Command = &target.Command{Run: []string{os.Args[0]},
		Env: map[string]string{"FAKE_PEER": mode, "GORACE": "atexit_sleep_ms=0"}}
	p.Command.Stop.Duration = time.Second
	run, err := target.NewLauncher(p).Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(scratch); len(left) > 0 {
			t.Errorf("the driver has left %v to the target", left)
		}
		if err := run.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &counter{Starter: target.Starter(run), run: run}
}

// counter counts the processes that it starts.
type counter struct {
	driver.Starter
	run     target.Running
	started atomic.Int32
}

func (c *counter) Start(ctx context.Context) (driver.Process, error) {
	c.started.Add(1)
	return c.Starter.Start(ctx)
}

// newDriver makes a driver that is closed when the test ends, before the check for left-over processes.
func newDriver(t testing.TB) *Driver {
	d := New()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if len(d.all) > 0 || len(d.idle) > 0 {
			t.Errorf("%d processes, and %d pools are left", len(d.all), len(d.idle))
		}
	})
	return d
}

// party is a connection with its transcript.
type party struct {
	testing.TB
	log  *transcript.Transcript
	conn driver.Conn
}

func open(t testing.TB, d *Driver, o driver.OpenOptions) *party {
	t.Helper()
	p := &party{TB: t, log: transcript.New(nil)}
	o.Party = "A"
	c, err := d.Open(t.Context(), o, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	p.conn = c
	return p
}

// connect opens a connection to a new peer, with changed time limits.
func connect(t testing.TB, o driver.OpenOptions, changes ...func(*times)) *party {
	t.Helper()
	o.Process = peers(t, "obeys")
	d := newDriver(t)
	for _, change := range changes {
		change(&d.times)
	}
	return open(t, d, o)
}

// soonEnds shortens the time between the two signs of a process's end.
func soonEnds(w *times) { w.end = 100 * time.Millisecond }

func (p *party) send(lines ...string) (mark int) {
	p.Helper()
	for _, l := range lines {
		n, err := p.conn.Send(p.Context(), driver.Message{Label: "line", Body: []byte(l)})
		if err != nil {
			p.Fatal(err)
		}
		mark = n
	}
	return mark
}

func (p *party) close(how driver.CloseMode) {
	p.Helper()
	go deadline.Watch(p.Context())
	limit := deadline.In(soon)
	if err := p.conn.Close(how); err != nil {
		p.Error(err)
	}
	if limit.Over() {
		p.Errorf("Close took %v", soon)
	}
	n := p.log.Len()
	if last := p.log.All()[n-1]; last.Kind != transcript.Closed {
		p.Errorf("the last record is %s", last.Line(200))
	}
	if err := p.conn.Close(how); err != nil || p.log.Len() != n {
		p.Errorf("Close again: %v, and %d records more", err, p.log.Len()-n)
	}
}

// await waits for a record.
func (p *party) await(what string, match func(*transcript.Record) bool) transcript.Record {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), within)
	defer cancel()
	r, err := p.log.Await(ctx, 0, match)
	if err != nil {
		p.Fatalf("no record of %s; there is:\n%s", what, strings.Join(said(p.log.All()), "\n"))
	}
	return r
}

// awaitLine waits for a line with a prefix, and returns the rest of it.
func (p *party) awaitLine(start string) string {
	p.Helper()
	r := p.await("a line "+start, func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame && r.Dir == transcript.Received && strings.HasPrefix(string(r.Bytes), start)
	})
	return strings.TrimPrefix(string(r.Bytes), start)
}

func (p *party) awaitEnd() transcript.Record {
	p.Helper()
	return p.await("the end", func(r *transcript.Record) bool { return r.Kind == transcript.Closed })
}

// pid returns the peer's process id.
func (p *party) pid() int {
	p.Helper()
	p.send("pid")
	pid, err := strconv.Atoi(p.awaitLine(""))
	if err != nil {
		p.Fatal(err)
	}
	return pid
}

// said renders the received records for a table.
func said(records []transcript.Record) []string {
	var out []string
	for _, r := range records {
		line := fmt.Sprintf("%s %s", r.Kind, r.Label)
		switch {
		case r.Kind == transcript.Open || r.Dir == transcript.Sent:
			continue
		case r.Kind == transcript.Frame || r.Kind == transcript.Comment:
			line = fmt.Sprintf("%s %q", r.Kind, r.Bytes)
			if r.Label != "" {
				line += " (" + r.Label + ")"
			}
			if r.Cut > 0 {
				line += fmt.Sprintf(" and %d more", r.Cut)
			}
		}
		out = append(out, line)
	}
	return out
}

// puppet is a process simulated by the test, which controls what it writes and whether it reads.
type puppet struct {
	in, out *io.PipeReader // its stdin and its stdout
	inW     *io.PipeWriter
	outW    *io.PipeWriter
	exited  chan struct{}
	end     func()
	bye     func() // the last thing that it does; nil: nothing

	mu  sync.Mutex
	how error
}

func newPuppet() *puppet {
	p := &puppet{exited: make(chan struct{})}
	p.in, p.inW = io.Pipe()
	p.out, p.outW = io.Pipe()
	p.end = sync.OnceFunc(func() { close(p.exited) })
	return p
}

func (p *puppet) Stdin() io.WriteCloser   { return p.inW }
func (p *puppet) Stdout() io.Reader       { return p.out }
func (p *puppet) Exited() <-chan struct{} { return p.exited }
func (p *puppet) Stderr() string          { return "" }
func (p *puppet) ExitErr() error          { p.mu.Lock(); defer p.mu.Unlock(); return p.how }

func (p *puppet) Stop(context.Context) error {
	if p.bye != nil {
		p.bye()
	}
	p.exit("stopped")
	_, _ = p.in.Close(), p.out.Close()
	return nil
}

func (p *puppet) exit(how string) {
	p.mu.Lock()
	if p.how == nil {
		p.how = errors.New(how)
	}
	p.mu.Unlock()
	p.end()
}

// writeTexts returns once the driver has taken all of the text, that is, when it reads on.
func (p *puppet) writeTexts(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range append(texts, "") {
		if _, err := io.WriteString(p.outW, s); err != nil {
			t.Fatal(err)
		}
	}
}

// stage starts its puppets one after the other.
type stage struct {
	mu   sync.Mutex
	next []*puppet
}

var errEmptyStage = errors.New("nobody is there")

func (s *stage) Start(context.Context) (driver.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) == 0 {
		return nil, errEmptyStage
	}
	p := s.next[0]
	s.next = s.next[1:]
	return p, nil
}
