package stress_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/externalagent/bundle"
	"parley/reference-server/externalagent/host"
	"parley/reports"
	"parley/runner"
	"parley/test/suitetest"
	"parley/transport/transcript"
)

// hog holds the memory that all transcripts of the process have together, until some scenarios have been judged.
type hog struct {
	t     *transcript.Transcript
	until atomic.Int64
}

func newHog(until int64) *hog {
	h := &hog{t: transcript.New(nil)}
	h.until.Store(until)
	for h.t.Append(transcript.Record{Dir: transcript.Received, Kind: transcript.Frame, Bytes: make([]byte, 16<<10)}) > 0 {
	}
	return h
}

func (h *hog) Planned(int) {}

func (h *hog) ScenarioDone(reports.Scenario) {
	if h.until.Add(-1) == 0 {
		h.t.Release()
	}
}

// padded gives every state of a host a long text of its own.
func padded(_ host.View, msg host.Message, send func(host.Message)) {
	if payload := msg.Payload(); payload["uiSpec"] != nil {
		b, _ := json.Marshal(payload["uiSpec"])
		var spec map[string]any
		if json.Unmarshal(b, &spec) == nil && spec != nil && spec["pad"] == nil {
			spec["pad"] = strings.Repeat(fmt.Sprintf("%x", sha256.Sum256(b)), 2000)
			payload["uiSpec"] = spec
		}
	}
	send(msg)
}

// TestMemoryOfOthers: a right host whose scenarios lose records, because others take the memory of all transcripts, is
// judged by scenarios that run again once there is memory. While there is none it is not conformant: what was lost
// might have broken clauses that passed elsewhere.
func TestMemoryOfOthers(t *testing.T) {
	tier.Night(t) // whole suites of long messages; what a transcript may hold has tests of its own
	for _, row := range []struct {
		reason string
		until  int64 // scenarios
		want   verdict.Verdict
	}{
		{"memory is free before the end", 30, verdict.Conformant},
		{"memory is never free", 0, verdict.Incomplete},
	} {
		t.Run(row.reason, func(t *testing.T) {
			h := newHog(row.until)
			defer h.t.Release()
			o := suitetest.Bundled("external-agent", "host")
			o.Launcher = bundle.Launcher(padded) // so that its scenarios need more than a transcript may hold in any case
			o.Observer = runner.Observer(h)
			res := suitetest.Judge(t, o)
			said := suitetest.Console(t, res)
			if res.Verdict != row.want {
				t.Fatalf("the verdict is %s, want %s\n%s", res.Verdict, row.want, said)
			}
			unfinished := map[string]bool{}
			for _, sc := range res.Runs[0].Scenarios {
				for _, c := range sc.Clauses {
					if c.Unfinished {
						unfinished[c.Clause] = true
					}
				}
			}
			passed := false
			for _, c := range res.Runs[0].Clauses {
				passed = passed || unfinished[c.ID] && c.Outcome == verdict.Passed
			}
			told := strings.Contains(said, "cut off on the way")
			if unwanted := row.want == verdict.Conformant; passed == unwanted || told == unwanted {
				t.Errorf("clauses %v are unfinished, and some passed elsewhere: %v; told: %v\n%s", unfinished, passed, told, said)
			}
		})
	}
}
