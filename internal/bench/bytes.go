package bench

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
)

// plain is an end of a connection of bytes without frames: each side knows how many bytes come.
type plain struct {
	r    io.Reader
	w    io.Writer
	ends []io.Closer
	stop func() bool
}

func (p plain) send(a act) error {
	_, err := p.w.Write(filler(a.size))
	return err
}

func (p plain) receive(a act) error { return skip(p.r, a.size) }

func (p plain) close() error {
	p.stop()
	for _, c := range p.ends {
		_ = c.Close()
	}
	return nil
}

// newPlain makes an end, which is closed when ctx ends.
func newPlain(ctx context.Context, r io.Reader, w io.Writer, ends ...io.Closer) plain {
	return plain{r, w, ends, context.AfterFunc(ctx, func() {
		for _, c := range ends {
			_ = c.Close()
		}
	})}
}

// serve follows a script from the server's side, and closes the connection when the client has.
func (p plain) serve(acts []act) {
	defer func() { _ = p.close() }()
	for _, a := range acts {
		do := p.send
		if a.deed == sends {
			do = p.receive
		}
		if do(a) != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, p.r)
}

// pipes are connections of two pipes, as between a program and its child. A line is a message and its end.
type pipes struct{}

func (pipes) open(ctx context.Context, acts []act) (link, error) {
	fromClient, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, toClient, err := os.Pipe()
	if err != nil {
		_, _ = fromClient.Close(), toServer.Close()
		return nil, err
	}
	go newPlain(ctx, fromClient, toClient, fromClient, toClient).serve(acts)
	return newPlain(ctx, fromServer, toServer, toServer, fromServer), nil
}

func (pipes) close() error { return nil }

// wires are TCP connections.
type wires struct {
	l  net.Listener
	mu sync.Mutex // from a connection's opening until it is accepted
}

func newWires() (*wires, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	return &wires{l: l}, err
}

func (w *wires) open(ctx context.Context, acts []act) (link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", w.l.Addr().String())
	if err != nil {
		return nil, err
	}
	s, err := w.l.Accept()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	go newPlain(ctx, s, s, s).serve(acts)
	return newPlain(ctx, c, c, c), nil
}

func (w *wires) close() error { return w.l.Close() }
