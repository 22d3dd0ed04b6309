package proxy_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/target"
)

func TestMain(m *testing.M) {
	if out := os.Getenv(inPipe); out != "" {
		os.Exit(standBefore(out))
	}
	goleak.VerifyTestMain(m)
}

// within bounds each wait of a test; only a failing test uses it up.
const within = time.Minute

func boundedContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// stand is a proxy with its judgements.
type stand struct {
	*proxy.Proxy
	t       *testing.T
	results *runner.Passive

	mu    sync.Mutex
	lines []string // of the transcripts
	opens chan string
	ends  chan string
}

// options returns the options of a proxy for a protocol.
func options(t *testing.T, protocol, to string, roles ...string) proxy.Options {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{Protocol: p, Profile: p.Kind().New(), To: to}
	o.Profile.Protocol = protocol
	if o.Roles, err = proxy.RolesOf(p, roles); err != nil {
		t.Fatal(err)
	}
	return o
}

// collecting changes options so that the results are collected in a folder.
func collecting(t *testing.T, o *proxy.Options, out string) *stand {
	t.Helper()
	s := &stand{t: t, opens: make(chan string, 1000), ends: make(chan string, 1000)}
	var roles []string
	for _, r := range o.Roles {
		roles = append(roles, r.Name)
	}
	var err error
	s.results, err = runner.NewPassive(runner.PassiveOptions{Protocols: protocols.All, Profile: o.Profile, URL: o.To,
		Roles: roles, Out: out, Explain: "parley explain"})
	if err != nil {
		t.Fatal(err)
	}
	o.Ended = func(e proxy.Ended) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for r := range e.T.From(0) {
			s.lines = append(s.lines, e.Role.Name+" "+e.Redact.String(r.Line(0)))
		}
		s.results.Add(runner.Observed{Role: e.Role.Name, Conn: e.Conn, T: e.T, Judged: e.Judged, Failures: e.Failures,
			Whole: e.Whole, Partly: e.Partly, Duration: e.Duration, Redact: e.Redact})
	}
	o.Event = func(e proxy.Event) {
		if e.Open {
			s.opens <- e.Conn
		} else {
			s.ends <- e.Conn
		}
	}
	return s
}

// openProxy opens a proxy.
func openProxy(t *testing.T, o proxy.Options, out string) *stand {
	t.Helper()
	s := collecting(t, &o, out)
	var err error
	if s.Proxy, err = proxy.Open(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Proxy.Close() })
	return s
}

// close ends the proxy, and returns its results after checking them against their schema.
func (s *stand) close() *reports.Results {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
	return s.sum()
}

func (s *stand) sum() *reports.Results {
	s.t.Helper()
	res := s.results.Results()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, res); err != nil {
		s.t.Fatal(err)
	}
	if _, err := reports.ReadJSON(&b); err != nil {
		s.t.Fatalf("results.json: %v", err)
	}
	return res
}

// hasLine reports whether a line of the transcripts contains all the words.
func (s *stand) hasLine(words ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.lines, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// awaitEvent waits for a connection that opens or ends.
func awaitEvent(t *testing.T, events <-chan string, conn string) {
	t.Helper()
	for {
		select {
		case got := <-events:
			if got == conn {
				return
			}
		case <-boundedContext(t).Done():
			t.Fatalf("nothing of connection %s", conn)
		}
	}
}

// bundle starts the bundled target of a role with a fault, "" for none, and returns its URL.
func bundle(t *testing.T, protocol, role, fault string) string {
	t.Helper()
	subject := bundled.All.For(protocols.All.Kinds(), protocol, role)
	l := subject.Launcher
	if fault != "" {
		mutants := bundled.All.Mutants(protocols.All.Kinds(), protocol, role)
		i := slices.IndexFunc(mutants, func(m runner.Mutant) bool { return m.ID == fault })
		if i < 0 {
			t.Fatalf("there is no mutant %s", fault)
		}
		l = mutants[i].Launch(subject.Brain)
	}
	running, err := l.Launch(boundedContext(t), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return running.BaseURL()
}

// suite runs scenarios of the suite against a URL, to cause traffic.
func suite(t *testing.T, protocol, role, url, tags string) {
	t.Helper()
	p, err := protocols.All.Kinds().ForURL(protocol, url)
	if err != nil {
		t.Fatal(err)
	}
	p.Role = role
	p.Limits.Event = target.Duration{Duration: 2 * time.Second}
	if _, err := runner.Run(boundedContext(t), runner.Options{Protocols: protocols.All, Profile: p, Tags: tags,
		Again: "parley run"}); err != nil {
		t.Fatal(err)
	}
}

// outcomes counts the clauses of a role by outcome.
func outcomes(res *reports.Results, role string) map[verdict.Outcome][]string {
	out := map[verdict.Outcome][]string{}
	for _, run := range res.Runs {
		for _, c := range run.Clauses {
			if run.Role == role {
				out[c.Outcome] = append(out[c.Outcome], c.ID)
			}
		}
	}
	return out
}
