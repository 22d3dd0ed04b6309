package runner_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
)

// ended is an observer that notes the scenarios in the order in which they end.
type ended struct {
	mu    sync.Mutex
	names []string
}

// Planned implements runner.Observer.
func (*ended) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (e *ended) ScenarioDone(s reports.Scenario) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, s.Name)
}

// TestLongBegins: the last scenario of a feature begins before most others if it is tagged as long, and is run once.
func TestLongBegins(t *testing.T) {
	scenario := func(tags, name string) string {
		return "\n  @SC-036 " + tags + "\n  Scenario: " + name + "\n    Given client A has chatted with \"red\"\n"
	}
	text := "@session-chat @server\nFeature: 9 Order\n"
	for _, name := range strings.Fields("a b c d e f g h i j") {
		text += scenario("", name)
	}
	b := bundled.All.For(protocols.Kinds(), "session-chat", "")
	seen := &ended{}
	res, err := runner.Run(t.Context(), runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher,
		Brain: b.Brain, Observer: seen, Concurrency: 2,
		FS: fstest.MapFS{"session-chat/9_order.feature": {Data: []byte(text + scenario("@long", "last"))}}})
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(seen.names, "last"); at < 0 || at > 4 || len(seen.names) != 11 {
		t.Errorf("%v have ended, in this order; %s", seen.names, res.Verdict)
	}
}
