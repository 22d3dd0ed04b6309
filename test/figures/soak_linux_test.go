package figures_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/reference-server/launch"
	"parley/simulator/load"
	"parley/steps/protocols"
	"parley/target"
)

// lasting is how long the traffic lasts. What a program takes while it warms up is no growth, so that nothing is judged
// in less than judged.
var lasting = flag.Duration("lasting", 0, "how long the programs are under traffic (0: 20s, and only at night)")

const judged = 5 * time.Minute

// soaked is the protocol of the traffic, and clients say who connects to a proxy, and to a play of a console.
const soaked = "agent-select"

var (
	ofProxy   = []clients{{"ws", 100, 40}, {"sse", 100, 40}}
	ofConsole = []clients{{"ws", 20, 60}}
)

// clients are sessions that act, and reconnect each after seven acts.
type clients struct {
	driver   string
	sessions int
	rate     float64 // acts per second of all
}

// TestSoak: a proxy with 200 clients, and a console with a session that programs that come and go use and pages follow,
// hold as much in the last third of the time as in the first.
func TestSoak(t *testing.T) {
	last := *lasting
	if last == 0 {
		tier.Night(t)
		last = 20 * time.Second
	}
	sub := bundled.All.Separate(protocols.Kinds(), soaked, "", "", 400)
	server, err := sub.Launcher.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	proxy := startProgram(t, 1, "proxy", server.BaseURL(), "--protocol", soaked, "--listen", "127.0.0.1:0",
		"--out", t.TempDir())
	console := startProgram(t, 2, "simulate", "--protocol", soaked, "--as", "server")

	ctx, stop := context.WithCancel(t.Context())
	var traffic, followers sync.WaitGroup
	for _, c := range ofProxy {
		traffic.Go(func() { c.act(t, sub, proxy.lines[0], last) })
	}
	for _, c := range ofConsole {
		traffic.Go(func() { c.act(t, sub, console.lines[1], last) })
	}
	at := sessionOf(t, console.lines[0])
	for range 3 {
		followers.Go(func() { follow(ctx, t, at) })
	}
	sampleUntil(t, last, proxy, console)
	traffic.Wait()
	stop()
	followers.Wait()
	for _, p := range []*program{proxy, console} {
		p.compareThirds(t, last >= judged)
		p.interrupt(t)
	}
}

// sampleUntil takes about 180 samples of each program.
func sampleUntil(t *testing.T, last time.Duration, all ...*program) {
	ticker := time.NewTicker(max(last/180, 500*time.Millisecond))
	defer ticker.Stop()
	for end := time.After(last); ; {
		select {
		case <-ticker.C:
			for _, p := range all {
				p.take(t)
			}
		case <-end:
			return
		}
	}
}

// act has the clients act, and checks that nothing was broken, and that all got their answers.
func (c clients) act(t *testing.T, sub *launch.Subject, url string, last time.Duration) {
	res, err := load.Run(t.Context(), load.Options{Protocols: protocols.All, Profile: sub.Profile, Brain: sub.Brain,
		Launcher: standing{url}, Driver: c.driver, Sessions: c.sessions, Duration: last, Rate: c.rate,
		Timeout: time.Minute})
	if err != nil {
		t.Error(err)
		return
	}
	l := res.Load
	t.Logf("%d sessions over %s: %d acts, %d connections, %d messages received, p50 %v ms, p99 %v ms", c.sessions,
		c.driver, l.All.Count, l.Lives, l.Received, l.All.P50, l.All.P99)
	if res.Exit != verdict.ExitConformant || l.All.Failed > 0 {
		t.Errorf("over %s: exit %d, %+v, %+v", c.driver, res.Exit, *l, res.Runs[0].Scenarios[0].Failures)
	}
}

// standing launches nothing: the target is there, and stays.
type standing struct{ url string }

// Private implements target.Launcher.
func (standing) Private() bool { return false }

// Launch implements target.Launcher.
func (s standing) Launch(context.Context, target.LaunchOptions) (target.Running, error) {
	return there{url: s.url}, nil
}

type there struct {
	target.Running
	url string
}

// BaseURL implements target.Running.
func (t there) BaseURL() string { return t.url }

// Stop implements target.Running.
func (t there) Stop(context.Context) error { return nil }

// sessionOf returns the address in the API of a console's only session.
func sessionOf(t *testing.T, page string) string {
	t.Helper()
	res, err := http.Get(page + "/api/v1/sessions")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var all []struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return page + "/api/v1/sessions/" + all[0].ID
}

// follow reads the events of a session as a page does that is loaded again after every thousand of them.
func follow(ctx context.Context, t *testing.T, at string) {
	const visit = 1000
	for last := "0"; ctx.Err() == nil; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/events?after="+last, nil)
		if err != nil {
			t.Error(err)
			return
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 16<<20)
		for n := 0; n < visit && lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id:"); ok {
				last = strings.TrimSpace(id)
				n++
			}
		}
		_ = res.Body.Close()
		if err := lines.Err(); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}
