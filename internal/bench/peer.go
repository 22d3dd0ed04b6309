package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Peer has the figures of another conformance tool on the same machine, against a server that this process runs. Its
// floor is made like that of a suite, of the bytes of its connections.
type Peer struct {
	Name        string `json:"name"`
	Version     string `json:"version"` // as it says; "" if it does not
	Target      string `json:"target"`
	Cases       int    `json:"cases"`
	Connections int    `json:"connections"`
	Sent        int    `json:"sent"`     // bursts of bytes from the tool
	Received    int    `json:"received"` // bursts of bytes from the server
	Bytes       int64  `json:"bytes"`
	Cost               // for each case
}

// h2specName is a conformance tool for HTTP/2 servers.
const h2specName = "h2spec"

var (
	h2specSum     = regexp.MustCompile(`(?m)^(\d+) tests?, \d+ passed, \d+ skipped, \d+ failed`)
	h2specVersion = regexp.MustCompile(`(?m)^Version: (\S+)`)
)

// h2spec measures the tool, if it is installed, against the HTTP/2 server of Go's library.
func (r *Results) h2spec(ctx context.Context, o Options) error {
	path, err := exec.LookPath(h2specName)
	if err != nil {
		r.Skipped = append(r.Skipped, h2specName+" was not measured: it is not installed (no such program in PATH)")
		return nil
	}
	p := Peer{Name: h2specName, Target: "net/http, HTTP/2 without TLS"}
	if text, err := exec.CommandContext(ctx, path, "--version").Output(); err == nil {
		if m := h2specVersion.FindSubmatch(text); m != nil {
			p.Version = string(m[1])
		}
	}
	var courses []course
	for n := range o.Runs {
		o.Progress(fmt.Sprintf("%s, %d of %d", h2specName, n+1, o.Runs))
		var seen []course
		var cases int
		err := p.Measured.measureTimes(func() (err error) {
			seen, cases, err = runH2spec(ctx, path)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			p.Cases, courses = cases, seen
			p.countCourses(courses)
		}
		err = p.Floor.measureTimes(func() error {
			w, err := newWires()
			if err != nil {
				return err
			}
			return followCourses(ctx, w, courses, 1)
		})
		if err != nil {
			return fmt.Errorf("the floor of %s: %w", h2specName, err)
		}
	}
	p.computeMedians(p.Cases)
	r.Peers = append(r.Peers, p)
	return nil
}

// countCourses adds up what courses do.
func (p *Peer) countCourses(courses []course) {
	row := Row{}
	row.countCourses(courses)
	p.Connections, p.Sent, p.Received, p.Bytes = row.Connections, row.Sent, row.Received, row.Bytes
}

// runH2spec runs the tool once. It returns the courses of the connections and the number of cases. What the tool
// finds does not matter.
func runH2spec(ctx context.Context, path string) ([]course, int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	m := &meter{Listener: l}
	server := &http.Server{Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write(fillerMessage(1 << 10))
		})}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- server.Serve(m) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	text, runErr := exec.CommandContext(ctx, path, "--host", "127.0.0.1", "--port", port, "--timeout", "1").
		CombinedOutput()
	err = server.Close()
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if err != nil {
		return nil, 0, err
	}
	sum := h2specSum.FindSubmatch(text)
	if sum == nil {
		last := bytes.TrimSpace(text)
		last = last[bytes.LastIndexByte(last, '\n')+1:]
		return nil, 0, fmt.Errorf("%s told no sum: %w: %s", path, runErr, strings.ToValidUTF8(string(last), "?"))
	}
	cases, err := strconv.Atoi(string(sum[1]))
	return m.newCourses(), cases, err
}

// meter notes how many bytes come and go on the connections of a server.
type meter struct {
	net.Listener
	mu    sync.Mutex
	conns []*metered
}

// Accept implements net.Listener.
func (m *meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &metered{Conn: c}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns = append(m.conns, one)
	return one, nil
}

// newCourses returns a course for each connection.
func (m *meter) newCourses() []course {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []course
	for _, c := range m.conns {
		c.mu.Lock()
		acts := append([]act{{kind: opens}}, c.acts...)
		c.mu.Unlock()
		out = append(out, course{acts: append(acts, act{kind: closes}), conns: 1})
	}
	return out
}

type metered struct {
	net.Conn
	mu   sync.Mutex
	acts []act
}

func (c *metered) noteRecord(d actKind, n int) {
	if n <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.acts) - 1; last >= 0 && c.acts[last].kind == d {
		c.acts[last].size += n
		return
	}
	c.acts = append(c.acts, act{kind: d, size: n})
}

// Read implements net.Conn.
func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.noteRecord(sends, n)
	return n, err
}

// Write implements net.Conn.
func (c *metered) Write(b []byte) (int, error) {
	c.noteRecord(receives, len(b)) // before the client can answer
	return c.Conn.Write(b)
}
