package packs_test

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// judgeProxied sends what the scenarios of a folder send through a proxy, and returns the clauses that the proxy finds
// broken in what passes, sorted, and why it judged only a part; "" if it judged all. Its recording is judged alike.
func judgeProxied(t *testing.T, folder, url string) (broken []string, partly string) {
	t.Helper()
	p, profile := loadedPack(t, folder, url)
	roles, err := proxy.RolesOf(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var records []transcript.Record
	between, err := proxy.Open(proxy.Options{Protocol: p, Profile: profile, Roles: roles, To: url,
		Record: func(r transcript.Record, _ *transcript.Redactor) { records = append(records, r) },
		Ended: func(e proxy.Ended) {
			partly = e.Partly
			for _, f := range e.Failures {
				broken = append(broken, f.Clause)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	through, err := p.Kind().ForURL(between.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Run(t.Context(), runner.Options{Protocols: steps.NewProtocols("1.0.0", p),
		Profile: through}); err != nil {
		t.Fatal(err)
	}
	if err := between.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(broken)
	broken = slices.Compact(broken)
	var again []string
	recorded := judgeRecorded(t, folder, records)
	for _, f := range recorded {
		again = append(again, f.Clause)
	}
	exported := judgeRecorded(t, folder, asHAR(t, folder, records, true))
	if diff := cmp.Diff(withoutIDs(findings(recorded)), withoutIDs(findings(exported))); diff != "" {
		t.Errorf("recording -, HAR as a browser writes it +:\n%s", diff)
	}
	slices.Sort(again)
	if again = slices.Compact(again); !slices.Equal(broken, again) {
		t.Errorf("live are broken %q, in the recording %q", broken, again)
	}
	return broken, partly
}

// generated is an id that a scenario made up.
var generated = regexp.MustCompile(`p-[a-z]+-\d[\w-]*`)

// withoutIDs returns findings without the ids that scenarios made up: a browser's HAR does not say when the events of
// an answer came, so of two clients that met the same fault at the same time, either is the first.
func withoutIDs(findings []string) []string {
	for i, f := range findings {
		findings[i] = generated.ReplaceAllString(f, "ID")
	}
	slices.Sort(findings)
	return findings
}

// besides are clauses that are broken too where all runs pass one proxy: an earlier run had a message of this id.
var besides = map[string]string{"content before its message": "AG-042"}

// TestAGUIProxied: a proxy finds in the traffic of others what a run finds. What is broken on the wire is
// TestAGUIServer's.
func TestAGUIProxied(t *testing.T) {
	s := readSequences(t)
	for _, f := range append([]fault{{Name: "right"}}, s.Faults...) {
		if f.Wire != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var want []string
			if f.Clause != "" {
				want = []string{f.Clause}
			}
			if more, is := besides[f.Name]; is {
				want = append(want, more)
			}
			broken, partly := judgeProxied(t, "ag-ui", agent(t, s, f).URL)
			if !slices.Equal(broken, want) || partly != "" {
				t.Errorf("broken are %q, want %q %s", broken, want, partly)
			}
		})
	}
}

// proxied are the faults of which a proxy tells less than a run: what follows from another broken clause of the same
// client, and nothing where a request without a session is accepted, so that it may be anybody's.
var proxied = map[string]string{"every other ping is forgotten": "MC-036", "an answer under another id": "MC-036",
	"no session is needed": ""}

// TestMCPProxied: the same of MCP, where a request belongs to the client that keeps its session.
func TestMCPProxied(t *testing.T) {
	for fault, clauses := range mcpFaults {
		if less, is := proxied[fault]; is {
			clauses = less
		}
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(&mcpServer{fault: fault, over: map[string]bool{}})
			defer srv.Close()
			broken, partly := judgeProxied(t, "mcp", srv.URL)
			if strings.Join(broken, " ") != clauses || (partly != "") != (fault == "no session is needed") {
				t.Errorf("broken are %q, want %s; %s", broken, clauses, partly)
			}
		})
	}
}
