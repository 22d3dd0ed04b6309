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
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Peer has the figures of another conformance tool on the same machine. Its floor is made like that of a suite, of the
// bytes of its connections, where this process runs the server and so sees them.
type Peer struct {
	Name        string `json:"name"`
	Version     string `json:"version"` // as it says; "" if it does not
	Driver      string `json:"driver"`  // what it speaks with the target
	Target      string `json:"target"`
	Cases       int    `json:"cases"`
	Connections int    `json:"connections"`
	Sent        int    `json:"sent"`     // bursts of bytes from the tool
	Received    int    `json:"received"` // bursts of bytes from the server
	Bytes       int64  `json:"bytes"`
	Cost               // for each case
}

// tool is a conformance tool that is measured if it is installed.
type tool struct {
	name     string
	programs []string // that must be in PATH
	driver   string
	target   string
	version  *regexp.Regexp // in what it says about --version

	// run runs the tool once. It returns the courses of the connections, nil if they are not known, and the number of
	// cases. What the tool finds does not matter.
	run func(ctx context.Context) (courses []course, cases int, err error)
}

// tools are a tool for HTTP/2 servers, and one for those of Connect, gRPC and gRPC-Web.
var tools = []tool{
	{"h2spec", []string{"h2spec"}, "http/2", "net/http, HTTP/2 without TLS",
		regexp.MustCompile(`(?m)^Version: (\S+)`), runH2spec},
	{"connectconformance", []string{"connectconformance", "referenceserver"}, "http",
		"its reference server, over HTTP/1 and 2 with and without TLS", regexp.MustCompile(`\b(v[\d.]+)`), runConnect},
}

// addPeers measures the tools that are installed.
func (r *Results) addPeers(ctx context.Context, o Options) error {
	for _, t := range tools {
		i := slices.IndexFunc(t.programs, func(name string) bool { _, err := exec.LookPath(name); return err != nil })
		if i >= 0 {
			r.Skipped = append(r.Skipped, fmt.Sprintf("%s was not measured: no program %s is in PATH", t.name, t.programs[i]))
			continue
		}
		p, err := t.measurePeer(ctx, o)
		if err != nil {
			return err
		}
		r.Peers = append(r.Peers, p)
	}
	return nil
}

// measurePeer measures a tool and its floor in turns. Without courses there is no floor.
func (t tool) measurePeer(ctx context.Context, o Options) (Peer, error) {
	p := Peer{Name: t.name, Driver: t.driver, Target: t.target}
	if text, err := exec.CommandContext(ctx, t.name, "--version").Output(); err == nil {
		if m := t.version.FindSubmatch(text); m != nil {
			p.Version = string(m[1])
		}
	}
	var courses []course
	for n := range o.Runs {
		o.Progress(fmt.Sprintf("%s, %d of %d", t.name, n+1, o.Runs))
		var seen []course
		var cases int
		err := p.Measured.measureTimes(func() (err error) {
			seen, cases, err = t.run(ctx)
			return err
		})
		if err != nil {
			return p, err
		}
		if n == 0 {
			p.Cases, courses = cases, seen
			p.countCourses(courses)
		}
		if courses == nil {
			continue
		}
		err = p.Floor.measureTimes(func() error {
			w, err := newWires()
			if err != nil {
				return err
			}
			return followCourses(ctx, w, courses, 1)
		})
		if err != nil {
			return p, fmt.Errorf("the floor of %s: %w", t.name, err)
		}
	}
	p.computeMedians(p.Cases)
	return p, nil
}

// countCourses adds up what courses do.
func (p *Peer) countCourses(courses []course) {
	row := Row{}
	row.countCourses(courses)
	p.Connections, p.Sent, p.Received, p.Bytes = row.Connections, row.Sent, row.Received, row.Bytes
}

// runH2spec runs h2spec against a server of this process, which sees its connections.
func runH2spec(ctx context.Context) ([]course, int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	m := &meter{Listener: l}
	server := &http.Server{Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(fillerMessage(1 << 10))
		})}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- server.Serve(m) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	text, runErr := exec.CommandContext(ctx, "h2spec", "--host", "127.0.0.1", "--port", port, "--timeout", "1").
		CombinedOutput()
	err = server.Close()
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if err != nil {
		return nil, 0, err
	}
	cases, err := casesOf("h2spec", h2specSum, text, runErr)
	return m.newCourses(), cases, err
}

// runConnect runs connectconformance against its reference server, a process of its own.
func runConnect(ctx context.Context) ([]course, int, error) {
	text, runErr := exec.CommandContext(ctx, "connectconformance", "--mode", "server", "--", "referenceserver").
		CombinedOutput()
	cases, err := casesOf("connectconformance", connectSum, text, runErr)
	return nil, cases, err
}

var (
	h2specSum  = regexp.MustCompile(`(?m)^(\d+) tests?, \d+ passed, \d+ skipped, \d+ failed`)
	connectSum = regexp.MustCompile(`(?m)^Total cases: (\d+)`)
)

// casesOf returns how many cases a tool says it has run.
func casesOf(name string, sum *regexp.Regexp, text []byte, runErr error) (int, error) {
	m := sum.FindSubmatch(text)
	if m == nil {
		last := bytes.TrimSpace(text)
		last = last[bytes.LastIndexByte(last, '\n')+1:]
		return 0, fmt.Errorf("%s told no sum: %w: %s", name, runErr, strings.ToValidUTF8(string(last), "?"))
	}
	return strconv.Atoi(string(m[1]))
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
