package stress_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// connectionLimit stands before a server and limits the number of concurrent streams or sockets.
type connectionLimit struct {
	room int
	full string // handling of one more: refused, hung, or oldest (the oldest is closed for it)
	to   http.Handler

	mu    sync.Mutex
	ends  []*func()     // the functions that end the open ones, the oldest first
	leave chan struct{} // closed when one of them ends
}

// enter waits for capacity; it returns false if there is none.
func (d *connectionLimit) enter(ctx context.Context, end *func()) bool {
	for {
		d.mu.Lock()
		if len(d.ends) < d.room {
			d.ends = append(d.ends, end)
			d.mu.Unlock()
			return true
		}
		oldest, leave := d.ends[0], d.leave
		d.mu.Unlock()
		switch d.full {
		case "refused":
			return false
		case "oldest":
			d.leaves(oldest)
			(*oldest)()
		default:
			select {
			case <-leave:
			case <-ctx.Done():
				return false
			}
		}
	}
}

func (d *connectionLimit) leaves(end *func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = slices.DeleteFunc(d.ends, func(one *func()) bool { return one == end })
	close(d.leave)
	d.leave = make(chan struct{})
}

func (d *connectionLimit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.Header.Get("Upgrade") == "" && !strings.HasPrefix(r.URL.Path, "/events") {
		d.to.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	end := func() { cancel() }
	if !d.enter(ctx, &end) {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	defer d.leaves(&end)
	select {
	case <-time.After(50 * time.Millisecond): // a slow greeting, so that scenarios overlap
	case <-ctx.Done():
	}
	d.to.ServeHTTP(w, r.WithContext(ctx))
}

// limitedLauncher launches servers behind a connectionLimit.
type limitedLauncher struct {
	target.Launcher
	room int
	full string
}

type limitedServer struct {
	target.Running
	s *httptest.Server
}

func (d *limitedServer) BaseURL() string { return d.s.URL }

func (d *limitedServer) Stop(ctx context.Context) error {
	d.s.CloseClientConnections()
	err := d.Running.Stop(ctx)
	d.s.Close()
	return err
}

func (b *limitedLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	inner, err := b.Launcher.Launch(ctx, o)
	if err != nil || o.Own {
		return inner, err
	}
	u, err := url.Parse(inner.BaseURL())
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	d := &connectionLimit{room: b.room, full: b.full, to: proxy, leave: make(chan struct{})}
	return &limitedServer{inner, httptest.NewServer(d)}, nil
}

func judgeDoor(t *testing.T, protocol, full string, room int, wrong bool) *reports.Results {
	t.Helper()
	subject := suitetest.BundledTarget(protocol, "")
	p := subject.Profile
	l, brain := subject.Launcher, subject.Brain
	if wrong && protocol == "session-chat" {
		l = suitetest.Mutant(t, protocol, "ignores-interrupts").Launch(brain)
	}
	tags := "not @exclusive"
	if protocol == "agent-select" {
		p.Drivers = []string{target.SSE}
		tags += " and (@AS-042 or @AS-050 or @AS-064 or @AS-080 or @AS-015 or @AS-095)"
		l = bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
			h, err := agentselect.New(o)
			return &lingering{Handler: h, swallows: wrong}, err
		})
	}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	if wrong {
		p.Limits.Event.Duration, p.Limits.Turn.Duration = time.Second, 2*time.Second // each fault makes a scenario wait
	}
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain,
		Launcher: &limitedLauncher{l, room, full}, Tags: tags, AllowIncomplete: true})
	return res
}

// TestRoom checks that a correct server conforms if it admits only a few more connections than the default number of
// concurrent scenarios, however it handles one more, and that a note tells its author if scenarios were cut off. A
// server with a fault fails for it even if that makes scenarios wait while others begin.
func TestRoom(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		full  string
		room  int
		wrong bool
	}{
		{"refused", 33, false}, {"hung", 33, false}, {"oldest", 33, false},
		{"refused", 40, false}, {"oldest", 40, false},
		{"refused", 33, true}, {"hung", 40, true}, {"oldest", 40, true},
	} {
		for _, protocol := range []string{"session-chat", "agent-select"} {
			name := fmt.Sprintf("%s: of more than %d the next is %s, wrong %v", protocol, row.room, row.full, row.wrong)
			t.Run(name, func(t *testing.T) {
				if row.room > 33 || !row.wrong {
					tier.Night(t)
				}
				t.Parallel()
				res := judgeDoor(t, protocol, row.full, row.room, row.wrong)
				broken := suitetest.Broken(res)
				fault := map[string]string{"session-chat": "SC-036", "agent-select": "AS-064"}[protocol]
				if row.wrong && !slices.Contains(broken, fault) || !row.wrong && res.Exit != verdict.ExitConformant {
					t.Errorf("exit %d, broken %v\n%s", res.Exit, broken, suitetest.Console(t, res))
				}
				text := suitetest.Console(t, res)
				if strings.Contains(text, "has room for") && !strings.Contains(text, "--concurrency 4") {
					t.Errorf("nobody is told what to do:\n%s", text)
				}
				if row.full == "oldest" && strings.Contains(text, "has room for") {
					t.Errorf("nobody is told that the oldest connection makes room:\n%s", text)
				}
			})
		}
	}
}

// TestNoRoom checks that a server without a limit that ends connections anyway does not count as full.
func TestNoRoom(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	p := suitetest.BundledTarget("session-chat", "").Profile
	p.Limits.Event.Duration, p.Limits.Turn.Duration = time.Second, 2*time.Second
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain,
		Launcher: suitetest.Mutant(t, p.Protocol, "interrupt-closes").Launch(brain),
		Tags:     "not @exclusive", AllowIncomplete: true})
	if text := suitetest.Console(t, res); res.Exit != verdict.ExitNonConformant ||
		strings.Contains(text, "has room for") {
		t.Errorf("exit %d\n%s", res.Exit, text)
	}
}
