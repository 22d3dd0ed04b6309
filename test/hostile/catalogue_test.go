package hostile_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/freeport"
	"parley/internal/tier"
	"parley/test/suitetest"
)

// row is one hostile behaviour, with what is expected when it is met.
type row struct {
	name string
	peer string // one of peers
	does string // it …
	of   string // the protocol, with the role behind a slash if it is not the first

	serve  func(t *testing.T) string // starts the peer and returns its URL; nil: keys have its command or its URL
	keys   string                    // further keys of the profile
	limits map[string]string         // in the fast form, besides those of fast
	tags   string                    // in the fast form; "": those of the protocol in sample
	flags  []string
	args   []string // of parley, instead of a run; {url} is the peer's, and {port} that of act
	files  func(t *testing.T, dir string)
	act    func(t *testing.T, addr string) // the peer is a client of parley, which serves there

	exit   int      // or any of these
	exits  []int    //
	says   string   // a regular expression: the sentence that blames
	may    []string // the binding clauses that may pass
	right  bool     // the peer keeps its protocol: whatever is not tested, no clause may fail
	breaks []string // but these
	night  bool     // only under default limits
}

// peers are the kinds of peers.
var peers = []string{"server", "orchestrator", "host", "relay", "agent", "client", "page", "process", "hook", "file"}

// catalogue returns all rows.
func catalogue() []row {
	return slices.Concat(httpRows, streamRows, answerRows, rightRows, chatRows, frameRows, busRows, bookingRows(),
		processRows, agentRows, hookRows, fileRows, commandRows, clientRows, pageRows)
}

// rowsOf sets the peer and the protocol of rows.
func rowsOf(peer, of string, rows []row) []row {
	for i := range rows {
		rows[i].peer, rows[i].of = peer, of
	}
	return rows
}

// fast are the limits under which a peer is met in `make test`; by default they are those of the profile.
var fast = map[string]string{"open": "3s", "event": "1s", "turn": "2s", "http": "2s", "quiet": "100ms",
	"hook": "3s", "reload": "1s", "scenario": "20s"}

// sample are the scenarios beside preflight that the fast form runs.
var sample = map[string]string{
	"agent-select":    "@AS-098 or @AS-053 or @AS-064 or @AS-095",
	"session-chat":    "@SC-045 or @SC-020 or @SC-036",
	"session-runtime": "@RT-052 or @RT-072 or @RT-140",
	"external-agent":  "@EA-028 or @EA-038 or @EA-070 or @EA-027 or @EA-031",
	"agent-client":    "@AC-025 or @AC-010 or @AC-062",
}

// places bounds how many peers are met at once: each run needs a processor for a while.
var places = make(chan struct{}, 6)

// every makes the fast form meet every peer that it can.
var every = flag.Bool("every", false, "meet every peer, and not a tenth of them")

// TestCatalogue meets hostile peers: in `make test` a tenth of them, for a few scenarios under short limits, in
// `make test-all` each for the whole suite under the default limits.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(catalogue(), func(r row) bool { return r.peer == "page" })
	for i, r := range all {
		t.Run(r.peer+"/"+r.name, func(t *testing.T) {
			if !*every {
				tier.Sample(t, i, len(all), len(all)/10)
			}
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			if r.night { // its limits are the default ones
				tier.Night(t)
			}
			r.meets(t)
		})
	}
}

// TestCatalogueOfPages is TestCatalogue for pages, of which `make test` has a few.
func TestCatalogueOfPages(t *testing.T) {
	t.Parallel()
	for i, r := range pageRows {
		t.Run(r.name, func(t *testing.T) {
			tier.Sample(t, i, len(pageRows), 3)
			if r.name == "lists alone" || r.name == "hangs at once" {
				tier.Night(t)
			}
			t.Parallel()
			tier.Page(t)
			r.meets(t)
		})
	}
}

// meets starts the peer, runs the harness, and checks what it did.
func (r row) meets(t *testing.T) {
	t.Helper()
	dir, url := t.TempDir(), ""
	if r.serve != nil {
		url = r.serve(t)
	}
	if r.files != nil {
		r.files(t, dir)
	}
	args := r.args
	if args == nil {
		args = r.run(t, dir, url)
	}
	port, addr := "", ""
	if r.act != nil {
		p, err := freeport.Lend()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		port, addr = strconv.Itoa(p.Number), p.Addr()
	}
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.NewReplacer("{url}", url, "{port}", port).Replace(a)
	}
	m := meet(t, dir, addr, r.act, args...)
	t.Logf("exit %d after %.1f s, %.1f s of processor time, %d MiB", m.exit, m.wall.Seconds(), m.cpu.Seconds(),
		m.memory>>20)
	if m.late {
		t.Errorf("it took %v, more than %v", m.wall, wallBound)
	}
	if m.memory > memoryBound {
		t.Errorf("it took %d MiB of memory, more than %d", m.memory>>20, memoryBound>>20)
	}
	for _, left := range m.left {
		t.Errorf("left behind: %s", left)
	}
	if exits := append(r.exits, r.exit); !slices.Contains(exits, m.exit) {
		t.Errorf("exit %d, want one of %v", m.exit, exits)
	}
	if !regexp.MustCompile(r.says).MatchString(m.out) {
		t.Errorf("nothing says %q", r.says)
	}
	if strings.Contains(m.out, "panic: ") || strings.Contains(m.out, "goroutine ") {
		t.Error("it panicked, or had to be ended")
	}
	r.judged(t, m)
	if t.Failed() {
		t.Logf("it %s\n%.20000s", r.does, m.out)
	}
}

// run writes a profile of the peer and returns the arguments of a run against it.
func (r row) run(t *testing.T, dir, url string) []string {
	t.Helper()
	protocol, role, _ := strings.Cut(r.of, "/")
	text := fmt.Sprintf("name: %q\nprotocol: %s\n", "a "+r.peer+" that "+r.does, protocol)
	if role != "" {
		text += "role: " + role + "\n"
	}
	if url != "" {
		text += "url: " + url + "\n"
	}
	tags := ""
	if !tier.All() {
		limits := maps.Clone(fast)
		maps.Copy(limits, r.limits)
		text += "limits: {"
		for _, k := range slices.Sorted(maps.Keys(limits)) {
			text += k + ": " + limits[k] + ", "
		}
		text += "}\n"
		if tags = r.tags; tags == "" {
			tags = sample[protocol]
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "target.yaml"), []byte(text+r.keys), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--target", "target.yaml"}, r.flags...)
	if tags != "" {
		args = append(args, "--tags", tags)
	}
	if r.exit == verdict.ExitConformant {
		args = append(args, "--allow-incomplete")
	}
	return args
}

// judged checks the results of a run: which clauses have passed, and that the reports agree.
func (r row) judged(t *testing.T, m met) {
	t.Helper()
	if r.args != nil || m.exit == verdict.ExitUsage {
		return
	}
	if m.results == nil {
		t.Fatal("it wrote no results")
	}
	suitetest.KeepResults(t, m.results)
	suitetest.SameInEveryReport(t, m.results)
	allowed := map[string]bool{}
	protocol, _, _ := strings.Cut(r.of, "/")
	for _, id := range append(slices.Clone(reached[protocol]), r.may...) {
		allowed[id] = true
	}
	for _, c := range m.results.Runs[0].Clauses {
		switch {
		case r.right && c.Outcome == verdict.Failed && !slices.Contains(r.breaks, c.ID):
			t.Errorf("%s failed, but the peer keeps its protocol: %s", c.ID, c.Text)
		case r.right:
		case m.exit == verdict.ExitUnreachable && (c.Outcome == verdict.Passed || c.Outcome == verdict.Failed):
			t.Errorf("%s is %s, but nothing was judged", c.ID, c.Outcome)
		case c.Outcome == verdict.Passed && c.Level.Binding() && !allowed[c.ID]:
			t.Errorf("%s passed: %s", c.ID, c.Text)
		}
	}
}

// reached are the clauses kept by a peer that only accepts connections.
var reached = map[string][]string{"external-agent": {"EA-017"}, "session-chat": {"SC-045", "SC-001"},
	"session-runtime": {"RT-013"}}

// TestCatalogueIsWhole checks that there are enough rows, of all kinds of peers, each with a name of its own, a
// sentence that blames, and an expectation.
func TestCatalogueIsWhole(t *testing.T) {
	names, of := map[string]bool{}, map[string]int{}
	for _, r := range catalogue() {
		of[r.peer]++
		if name := r.peer + "/" + r.name; names[name] {
			t.Errorf("there are two of %s", name)
		} else {
			names[name] = true
		}
		if r.does == "" || r.says == "" || !slices.Contains(peers, r.peer) {
			t.Errorf("%s: it does %q, %q, and a peer %q", r.name, r.does, r.says, r.peer)
		}
		if _, err := regexp.Compile(r.says); err != nil {
			t.Error(err)
		}
	}
	if len(names) < 120 {
		t.Errorf("there are %d rows, want 120 or more", len(names))
	}
	for _, peer := range peers {
		if of[peer] < 2 {
			t.Errorf("of a hostile %s there are %d rows", peer, of[peer])
		}
	}
	t.Logf("%d rows: %v", len(names), of)
}
