package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/procgroup"
	"parley/transport/transcript"
)

// pipeGrace is how long a command may take to end once its stdin is closed, and once more after SIGTERM.
const pipeGrace = 5 * time.Second

// maxLine is the maximum length of a line that is judged; longer ones pass as well.
const maxLine = 8 << 20

// PipeOptions configure Pipe.
type PipeOptions struct {
	Command []string
	In      io.Reader // what its stdin gets
	Out     io.Writer // gets what it writes on stdout
	Err     io.Writer // gets what it writes on stderr
}

// Pipe starts a command between In and Out, passes on every byte as it comes, and judges the lines. The command is the
// server; its connection is named C1. Options of o that concern addresses are ignored.
//
// It returns when the command has ended, and everything has been judged. When ctx ends, the command's stdin is closed;
// five seconds later it gets SIGTERM, and after five more it is killed. The exit code is that of the command, or 128
// plus the number of the signal that ended it. The error is that of an option, of starting the command, or of the
// records.
func Pipe(ctx context.Context, o Options, c PipeOptions) (exit int, err error) {
	p, err := newProxy(o, time.Time{})
	if err != nil {
		return 0, err
	}
	one := &pipe{p: p, o: c, cmd: exec.Command(c.Command[0], c.Command[1:]...)}
	exit, err = one.runCommand(ctx)
	return exit, errors.Join(err, p.Close())
}

// pipe is a command between two streams.
type pipe struct {
	p   *Proxy
	o   PipeOptions
	cmd *exec.Cmd

	first atomic.Bool // In ended before the command did
}

// endLabel is the label of the last record: who ended first.
func (c *pipe) endLabel(how string) string {
	if c.first.Load() {
		return "the peer ended; " + how
	}
	return how
}

// pipeConn is the name of a command's connection.
const pipeConn = "C1"

func (c *pipe) addRecord(dir transcript.Dir, kind transcript.Kind, label string) int {
	return c.p.queueRecord(transcript.Record{Conn: pipeConn, Dir: dir, Kind: kind, Label: label})
}

// runCommand starts the command and waits for its end.
func (c *pipe) runCommand(ctx context.Context) (int, error) {
	c.cmd.Stderr = c.o.Err
	c.cmd.WaitDelay = time.Second // for stderr, which a child may keep open
	procgroup.Own(c.cmd)
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	// not a pipe of exec.Cmd: Wait would close it before all of it is read
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	c.cmd.Stdout = w
	n := c.addRecord(transcript.Sent, transcript.Open, "stdio")
	err = c.cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = in.Close()
		return 0, fmt.Errorf("start %s: %w", c.o.Command[0], err)
	}
	c.p.queueRecord(transcript.Record{Conn: pipeConn, Dir: transcript.Received, Kind: transcript.Open,
		Label: "a new process",
		Reply: n})
	var closing sync.Once
	closeIn := func() { closing.Do(func() { _ = in.Close() }) }
	go func() { // it may wait for In forever, so it is not waited for
		c.first.Store(c.copyBytes(in, c.o.In, transcript.Sent))
		closeIn()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.copyBytes(c.o.Out, r, transcript.Received)
		_ = r.Close() // writers get an error, since there is no reader any more
	}()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.endWith(ctx, closeIn, over)
	}()
	err = c.cmd.Wait()
	label := c.endLabel("the target ended: " + c.cmd.ProcessState.String())
	close(over)
	<-ended
	procgroup.Kill(c.cmd.Process.Pid) // its children, which may keep its stdout open
	c.awaitOutput(ctx, read)
	c.p.queue.putLater(transcript.Record{Conn: pipeConn, Dir: transcript.Received, Kind: transcript.Closed,
		Label: label})
	return procgroup.ExitCode(c.cmd.ProcessState), waitError(err)
}

// awaitOutput waits until the command's output has been passed on. After ctx has ended, it does not wait for a stuck
// reader of Out.
func (c *pipe) awaitOutput(ctx context.Context, read <-chan struct{}) {
	select {
	case <-read:
		return
	case <-ctx.Done():
	}
	select {
	case <-read:
	case <-time.After(pipeGrace):
	}
}

// waitError drops errors that say only how a command ended.
func waitError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// endWith ends the command after ctx has ended.
func (c *pipe) endWith(ctx context.Context, closeIn func(), over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	closeIn()
	for _, end := range []func(int){procgroup.Terminate, procgroup.Kill} {
		select {
		case <-over:
			return
		case <-time.After(pipeGrace):
			end(c.cmd.Process.Pid)
		}
	}
}

// piece is the kind of a record that waits to be cut into lines: bytes as they came, or no bytes for the end of a
// direction.
const piece transcript.Kind = "piece"

// copyBytes passes on bytes as they come, each recorded before it is passed on, until either side ends. The goroutine
// that judges cuts them into lines, so that this does not delay them. It reports whether there was nothing left to
// read.
func (c *pipe) copyBytes(to io.Writer, from io.Reader, dir transcript.Dir) (ended bool) {
	buf := make([]byte, 32<<10)
	one := transcript.Record{Conn: pipeConn, Dir: dir, Kind: piece}
	for {
		n, err := from.Read(buf)
		ended = err != nil
		if n > 0 {
			one.Bytes = bytes.Clone(buf[:n])
			c.p.queue.putLater(one)
		}
		if _, failed := to.Write(buf[:n]); failed != nil && err == nil {
			err = failed
		}
		if err != nil {
			one.Bytes = nil
			c.p.queue.putLater(one)
			return ended
		}
	}
}

// addLines adds the lines of a piece to the tapes. open has the incomplete line of each direction.
func (p *Proxy) addLines(open map[transcript.Dir]*lines, w waitingRecord) {
	l := open[w.r.Dir]
	if l == nil {
		l = &lines{}
		open[w.r.Dir] = l
	}
	l.tell = func(line []byte, cut int) {
		p.putOnTapes(waitingRecord{r: transcript.Record{Conn: w.r.Conn, Dir: w.r.Dir, Kind: transcript.Frame, Type: "text",
			Bytes: line,
			Cut:   cut}, at: w.at})
	}
	if w.r.Bytes == nil {
		l.reportLast()
		return
	}
	l.feedPiece(w.r.Bytes)
}

// lines cuts bytes into lines, and keeps at most maxLine bytes of each.
type lines struct {
	tell func(line []byte, cut int)
	part []byte
	cut  int
	open bool
}

func (l *lines) feedPiece(b []byte) {
	for len(b) > 0 {
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			l.keepPart(b)
			return
		}
		l.keepPart(b[:at])
		b = b[at+1:]
		l.tell(bytes.TrimSuffix(l.part, []byte("\r")), l.cut)
		l.part, l.cut, l.open = nil, 0, false
	}
}

func (l *lines) keepPart(b []byte) {
	l.open = l.open || len(b) > 0
	room := max(0, min(len(b), maxLine-len(l.part)))
	l.part = append(l.part, b[:room]...)
	l.cut += len(b) - room
}

// reportLast reports a last line without an end.
func (l *lines) reportLast() {
	if l.open {
		l.tell(l.part, l.cut)
	}
}
