package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"parley/internal/procgroup"
	wire "parley/transport/wire/ws"
)

// CommandSocket is a command that speaks on its stdin and stdout and is reached as a WebSocket server, so that what can
// stand between sockets can stand before it. Each line is a message.
type CommandSocket struct {
	pipe
	in     io.WriteCloser
	out    *os.File
	closed sync.Once
	listen net.Listener
	server *http.Server
	secret string // path: nobody else finds it
	take   sync.Once
	over   chan struct{} // closed when the command has ended
	err    error         // of waiting for it
}

// StartCommandSocket starts a command, which Run serves. The error is that of starting it.
func StartCommandSocket(c PipeOptions) (*CommandSocket, error) {
	w := &CommandSocket{pipe: pipe{o: c, cmd: exec.Command(c.Command[0], c.Command[1:]...)}, secret: "/" + rand.Text(),
		over: make(chan struct{})}
	w.cmd.Stderr = c.Err
	w.cmd.WaitDelay = time.Second // for stderr, which a child may hold
	procgroup.Own(w.cmd)
	var err error
	if w.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, w.listen.Close())
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, w.listen.Close())
	}
	w.out, w.cmd.Stdout = out, stdout
	err = w.cmd.Start()
	_ = stdout.Close()
	if err != nil {
		err = fmt.Errorf("start %s: %w", c.Command[0], err)
		return nil, errors.Join(err, w.in.Close(), out.Close(), w.listen.Close())
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = w.server.Serve(w.listen) }()
	go func() {
		w.err = waitError(w.cmd.Wait())
		procgroup.Kill(w.cmd.Process.Pid) // its children, which may hold its stdout
		close(w.over)
	}()
	return w, nil
}

// URL is where the command is reached, for one connection.
func (w *CommandSocket) URL() string { return "ws://" + w.listen.Addr().String() + w.secret }

// Run has the program that speaks on In and Out speak to the socket at url, which leads to the command, until the
// command has ended and all that it wrote has passed. When ctx ends, so does the command, as that of Pipe. The exit
// code is that of Pipe. The error is that of the connection.
func (w *CommandSocket) Run(ctx context.Context, url string) (exit int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.endWith(ctx, w.closeIn, w.over)
	}()
	speaking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		<-ended
		select {
		case <-speaking.Done():
			return
		case <-ctx.Done(): // then what is held is not waited for
		}
		select {
		case <-speaking.Done():
		case <-time.After(pipeGrace):
			cancel()
		}
	}()
	err = w.passLines(speaking, url)
	cancel()
	w.closeIn()
	if err != nil { // nobody reads what it writes
		_ = w.out.Close()
		stop()
	}
	<-w.over
	<-ended
	_ = w.server.Close()
	return procgroup.ExitCode(w.cmd.ProcessState), errors.Join(err, w.err)
}

// Ended returns the label of a record that says that the connection ended, in place of that of the socket.
func (w *CommandSocket) Ended(label string) string { return w.endLabel(label) }

// Kill ends a command that Run has not ended.
func (w *CommandSocket) Kill() {
	select {
	case <-w.over:
	default:
		procgroup.Kill(w.cmd.Process.Pid)
		<-w.over
	}
	_ = w.server.Close()
	_ = w.out.Close()
}

func (w *CommandSocket) closeIn() { w.closed.Do(func() { _ = w.in.Close() }) }

// passLines passes lines on to the socket, and its messages to Out.
func (w *CommandSocket) passLines(ctx context.Context, url string) error {
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return fmt.Errorf("reach the command: %w", err)
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	go func() { // it may wait for In for ever; nobody waits for it
		if eachLine(w.o.In, func(line []byte) error { return writeLine(ctx, c, line) }) != nil {
			return
		}
		w.first.Store(true)
		if c.Ping(ctx) == nil { // what was sent before has arrived
			w.closeIn()
		}
	}()
	for {
		_, line, err := c.Read(ctx)
		if err != nil {
			return nil
		}
		if _, err := w.o.Out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write to stdout: %w", err)
		}
	}
}

// ServeHTTP implements http.Handler: it connects the first client with the command.
func (w *CommandSocket) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	first := false
	if strings.HasPrefix(r.URL.Path, w.secret) {
		w.take.Do(func() { first = true })
	}
	if !first {
		http.NotFound(rw, r)
		return
	}
	c, err := websocket.Accept(rw, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		Subprotocols: wire.Offered(r.Header)})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	ctx := context.WithoutCancel(r.Context())
	go func() {
		for {
			_, line, err := c.Read(ctx)
			if err != nil {
				return
			}
			_, _ = w.in.Write(append(line, '\n')) // that it reads no more ends nothing: it may still write
		}
	}()
	_ = eachLine(w.out, func(line []byte) error { return writeLine(ctx, c, line) })
	_ = w.out.Close()
	_ = c.Close(websocket.StatusNormalClosure, "")
}

// writeLine sends a line as a message.
func writeLine(ctx context.Context, c *websocket.Conn, line []byte) error {
	kind := websocket.MessageText
	if !utf8.Valid(line) {
		kind = websocket.MessageBinary
	}
	return c.Write(ctx, kind, line)
}

// eachLine calls do for each line, without its line feed, until the end of the input, which is no error.
func eachLine(in io.Reader, do func([]byte) error) error {
	buffered := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := buffered.ReadBytes('\n')
		if len(line) > 0 {
			if failed := do(bytes.TrimSuffix(line, []byte("\n"))); failed != nil {
				return failed
			}
		}
		if err != nil {
			return nil
		}
	}
}
