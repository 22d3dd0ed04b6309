package odd_test

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

type middlebox struct {
	name    string
	before  func(a, b http.Handler) http.HandlerFunc // b: another instance
	tags    string
	exit    int
	breaks  bool   // the server behind it cannot be used by a browser
	says    string // in the report
	limited bool   // with the limits of the profile, since the target omits messages
	crowd   bool   // many scenarios run at once
}

// middleboxes stand before a server of agent-select that conforms. None of them makes it break a clause.
var middleboxes = []middlebox{
	{name: "session affinity by cookie", before: sticky,
		tags: "@AS-098 or @AS-099 or @AS-043", exit: verdict.ExitConformant},
	{name: "compressed for those who accept it", before: compressed(true, false), tags: "@AS-043 or @AS-033",
		exit: verdict.ExitConformant},
	{name: "compressed unasked", before: compressed(true, true),
		tags: "@AS-043 or @AS-033", exit: verdict.ExitConformant},
	{name: "compressed and never flushed", before: compressed(false, false),
		tags: "@AS-033", exit: verdict.ExitNonConformant,
		breaks: true, says: "the compression is not flushed after each event", limited: true},
	{name: "a limit of requests", before: refusing(http.StatusTooManyRequests, "1", 9, 3),
		tags: "@AS-043 or @AS-033",
		exit: verdict.ExitConformant, says: "a gateway answered in place of the target: HTTP 429"},
	{name: "a front that restarts", before: refusing(http.StatusServiceUnavailable, "", 9, 3),
		tags: "@AS-043 or @AS-033",
		exit: verdict.ExitConformant, says: "a gateway answered in place of the target: HTTP 503"},
	{name: "a limit for the day", before: refusing(http.StatusTooManyRequests, "3600", 12, 1<<20),
		tags: "@AS-043 or @AS-033",
		exit: verdict.ExitIncomplete, says: "the gateway answered 429 Too Many Requests"},
	{name: "a gateway without its server", before: refusing(http.StatusBadGateway, "", 12, 1<<20),
		tags: "@AS-043 or @AS-033", exit: verdict.ExitIncomplete, says: "the gateway answered 502 Bad Gateway"},
	{name: "credentials that expire", before: refusing(http.StatusUnauthorized, "", 12, 1<<20),
		tags: "@AS-043 or @AS-033",
		exit: verdict.ExitUnreachable, says: "the credentials were refused after ", limited: true},
	{name: "credentials that are forbidden", before: refusing(http.StatusForbidden, "", 12, 1<<20),
		tags: "@AS-043 or @AS-033",
		exit: verdict.ExitUnreachable, says: "the credentials were refused after ", limited: true},
	{name: "credentials that are forbidden while others use them", before: refusing(http.StatusForbidden, "", 150, 1<<20),
		tags: "@server", exit: verdict.ExitUnreachable, says: "the credentials were refused after ",
		limited: true, crowd: true},
}

// chatMiddleboxes stand before a server of session-chat that conforms, of which they see the opening handshakes.
var chatMiddleboxes = []middlebox{
	{name: "session affinity by cookie", before: sticky,
		tags: "@SC-028 or @SC-059 or @SC-005", exit: verdict.ExitConformant},
	{name: "a limit of requests", before: refusing(http.StatusTooManyRequests, "1", 6, 3), tags: "@SC-059 or @SC-036",
		exit: verdict.ExitConformant, says: "a gateway answered in place of the target: HTTP 429"},
	{name: "a front that restarts", before: refusing(http.StatusServiceUnavailable, "", 6, 3),
		tags: "@SC-059 or @SC-036",
		exit: verdict.ExitConformant, says: "a gateway answered in place of the target: HTTP 503"},
	{name: "a limit for the day", before: refusing(http.StatusTooManyRequests, "3600", 8, 1<<20),
		tags: "@SC-059 or @SC-036",
		exit: verdict.ExitIncomplete, says: "the gateway answered 429 Too Many Requests"},
	{name: "a gateway without its server", before: refusing(http.StatusBadGateway, "", 12, 1<<20),
		tags: "@SC-059", exit: verdict.ExitIncomplete, says: "the gateway answered 502 Bad Gateway"},
	{name: "credentials that expire", before: refusing(http.StatusUnauthorized, "", 8, 1<<20),
		tags: "@SC-059 or @SC-036", exit: verdict.ExitUnreachable, says: "the credentials were refused after "},
	{name: "credentials that are forbidden", before: refusing(http.StatusForbidden, "", 8, 1<<20),
		tags: "@SC-059 or @SC-036", exit: verdict.ExitUnreachable, says: "the credentials were refused after "},
	{name: "credentials that are forbidden while others use them",
		before: refusing(http.StatusForbidden, "", 60, 1<<20), tags: "@server",
		exit: verdict.ExitUnreachable, says: "the credentials were refused after ", crowd: true},
	{name: "a front that forbids what it has no room for", before: full(http.StatusForbidden, 3),
		tags: "@SC-059 or @SC-036 or @SC-028", exit: verdict.ExitConformant, crowd: true},
}

// full answers in the server's place while so many connections are open.
func full(status, room int) func(a, _ http.Handler) http.HandlerFunc {
	return func(a, _ http.Handler) http.HandlerFunc {
		var open atomic.Int32
		return func(w http.ResponseWriter, r *http.Request) {
			defer open.Add(-1)
			if int(open.Add(1)) > room {
				http.Error(w, `{"error":"full"}`, status)
				return
			}
			a.ServeHTTP(w, r)
		}
	}
}

// sticky leads each browser to the same instance by a cookie.
func sticky(a, b http.Handler) http.HandlerFunc {
	var turn atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		name := []string{"a", "b"}[turn.Add(1)%2]
		if c, err := r.Cookie("LB"); err == nil {
			name = c.Value
		} else {
			http.SetCookie(w, &http.Cookie{Name: "LB", Value: name, Path: "/", HttpOnly: true})
		}
		map[string]http.Handler{"a": a, "b": b}[name].ServeHTTP(w, r)
	}
}

// compressed compresses event streams.
func compressed(flushes, always bool) func(a, _ http.Handler) http.HandlerFunc {
	return func(a, _ http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/events") ||
				!always && !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				a.ServeHTTP(w, r)
				return
			}
			z := gzip.NewWriter(w)
			defer z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			a.ServeHTTP(&packed{w, z, flushes}, r)
		}
	}
}

type packed struct {
	http.ResponseWriter
	z       *gzip.Writer
	flushes bool
}

func (p *packed) Write(b []byte) (int, error) { return p.z.Write(b) }

func (p *packed) FlushError() error {
	if p.flushes {
		_ = p.z.Flush()
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

func (p *packed) Flush() { _ = p.FlushError() }

// refusing answers in the server's place: so many requests, after so many others.
func refusing(status int, retryAfter string, after, times int) func(a, _ http.Handler) http.HandlerFunc {
	return func(a, _ http.Handler) http.HandlerFunc {
		var mu sync.Mutex
		seen := 0
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen++
			refuses := seen > after && seen <= after+times
			mu.Unlock()
			if !refuses {
				a.ServeHTTP(w, r)
				return
			}
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			http.Error(w, `{"error":"not now"}`, status)
		}
	}
}

// TestMiddleboxes checks that a target is not blamed for what stands before it.
func TestMiddleboxes(t *testing.T) {
	for _, row := range middleboxes {
		t.Run(row.name, func(t *testing.T) {
			row.judge(t, "agent-select", func(brain *llm.Brain) (launch.Handler, error) {
				return agentselect.New(agentselect.Options{Brain: brain})
			})
		})
	}
	for _, row := range chatMiddleboxes {
		t.Run("session-chat/"+row.name, func(t *testing.T) {
			row.judge(t, "session-chat", func(brain *llm.Brain) (launch.Handler, error) {
				return sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
					Backend: brain})
			})
		})
	}
}

// judge runs scenarios against two instances of a server behind a middlebox.
func (m middlebox) judge(t *testing.T, protocol string, make func(*llm.Brain) (launch.Handler, error)) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	var servers [2]launch.Handler
	for i := range servers {
		h, err := make(brain)
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = h
	}
	s := httptest.NewServer(m.before(servers[0], servers[1]))
	defer func() {
		s.CloseClientConnections()
		_, _ = servers[0].Close(context.Background()), servers[1].Close(context.Background())
		s.Close()
	}()
	p, err := protocols.Kinds().ForURL(protocol, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if launch.RaiseLimits(&p.Limits); m.limited {
		p.Limits.Event = target.Duration{Duration: 3 * time.Second}
	}
	o := runner.Options{Profile: p, Brain: brain, Drivers: p.Drivers[:1],
		Tags: "(" + m.tags + ") and not @exclusive", AllowIncomplete: m.exit == verdict.ExitConformant}
	if !m.crowd {
		o.Concurrency = 1
	}
	res := suitetest.Judge(t, o)
	if broken := suitetest.Broken(res); res.Exit != m.exit || (len(broken) > 0) != m.breaks {
		t.Errorf("exit %d, broken %v\n%s", res.Exit, broken, suitetest.Console(t, res))
	}
	if !mentions(res, m.says) {
		t.Errorf("%q is said nowhere:\n%s", m.says, suitetest.Console(t, res))
	}
}

// mentions reports whether a text is in the notes of a run, its reason, or the reasons of its scenarios.
func mentions(res *reports.Results, text string) bool {
	run := res.Runs[0]
	return strings.Contains(run.Environment, text) ||
		slices.ContainsFunc(run.Notes, func(n reports.Note) bool { return strings.Contains(n.Text, text) }) ||
		slices.ContainsFunc(run.Scenarios, func(sc reports.Scenario) bool { return strings.Contains(sc.Reason, text) })
}
