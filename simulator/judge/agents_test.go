package judge_test

import (
	"bytes"
	"testing"

	"parley/features/verdict"
	"parley/internal/faultrule"
	"parley/reference-server/bundled"
	"parley/simulator/counterpart"
	"parley/simulator/fault"
	"parley/transport/transcript"
)

// TestFaultsOnAgent: an agent that connects to the played host is not blamed for faults between them. doubted says that
// the agent need not continue.
func TestFaultsOnAgent(t *testing.T) {
	for rule, doubted := range map[string]bool{
		"on: {type: none}, do: drop":                                  false,
		"nth: 3, from: server, do: {duplicate: 2}":                    false,
		"nth: 2, from: client, do: {duplicate: 1}":                    false,
		"every: 1, do: {delay: 10ms}":                                 false,
		"every: 1, do: {split: 9}":                                    false,
		"every: 1, do: {fragments: 4}":                                false,
		"nth: 2, from: server, do: {pad: 3000}":                       false,
		"nth: 2, from: server, do: {corrupt: {at: /payload, set: 7}}": true,
		"nth: 2, from: server, do: {truncate: 9}":                     true,
		"nth: 3, from: server, do: drop":                              true,
		"nth: 3, from: server, do: reset":                             true,
		"nth: 3, from: server, do: {close: 1011}":                     true,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			target := bundled.All.Find("external-agent")
			set, err := faultrule.Parse("faults", []byte("faults: [{"+rule+"}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			p := opens(t, "external-agent", "host", func(o *counterpart.Options) {
				o.Faults = fault.New(set, target.TypeOf)
			})
			for _, party := range target.Parties() {
				if party.As == "agent" {
					_, stop, err := party.Start(t.Context(), "", p.URL()+"/agent/ws")
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(stop)
				}
			}
			awaits(t, p, func(r *transcript.Record) bool {
				if doubted {
					return r.Dir == transcript.Sent && r.Kind == transcript.Frame && bytes.Contains(r.Bytes, []byte("state"))
				}
				return r.Dir == transcript.Received && bytes.Contains(r.Bytes, []byte("tool.call"))
			})
			p.Close()
			if found := p.Judge().Findings(); len(found) > 0 || len(of(p, verdict.Passed)) == 0 {
				t.Errorf("found: %+v, passed: %v", found, of(p, verdict.Passed))
			}
		})
	}
}
