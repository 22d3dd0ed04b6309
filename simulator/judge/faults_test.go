package judge_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/faultrule"
	"parley/reference-server/bundled"
	"parley/simulator/counterpart"
	"parley/simulator/fault"
	"parley/simulator/scripts"
	"parley/steps"
	"parley/transport/transcript"
)

// fences are messages that every server answers, by protocol, and a text that only the answer contains.
var fences = map[string][2]string{
	"agent-select":    {`{"type":"switch_agent","agentId":"No such id!"}`, "invalid_agent_id_format"},
	"session-chat":    {`{"type":"ping"}`, "pong"},
	"session-runtime": {`{"parley":"fence","id":"last"}`, "fenced"},
	"external-agent":  {`{"v":"mvp-0.2","type":"snapshot.get","id":"last-one","payload":{}}`, `"replyTo":"last-one"`},
}

// happens is a file of faults for the messages between a client and the program. ended says that the faults end the
// connection, or let nothing through any more.
var happens = map[string]struct {
	fault string
	ended bool
}{
	"nothing":   {"on: {type: none}, do: drop", false},
	"drop":      {"nth: 2, from: client, do: drop", false},
	"late":      {"nth: 2, do: {delay: 50ms}", false},
	"double":    {"nth: 2, from: client, do: {duplicate: 2}", false},
	"answers":   {"nth: 2, from: server, do: {duplicate: 2}", false},
	"lost":      {"nth: 3, from: server, do: drop", false},
	"reorder":   {"nth: 1, from: server, do: {reorder: 1}", false},
	"corrupt":   {"nth: 2, from: client, do: {corrupt: {at: /type, set: other}}", false},
	"subtype":   {"nth: 2, from: client, do: {corrupt: {at: /event, draw: true}}", false},
	"truncate":  {"nth: 2, from: client, do: {truncate: 10}", false},
	"bom":       {"nth: 2, from: client, do: bom", false},
	"pad":       {"nth: 2, from: client, do: {pad: 5000}", false},
	"split":     {"every: 1, do: {split: 7}", false},
	"dribble":   {"every: 1, do: dribble", false},
	"fragments": {"every: 1, do: {fragments: 5}", false},
	"slow":      {"nth: 1, from: client, do: {slow: 100000}", false},
	"reset":     {"nth: 2, from: client, do: reset", true},
	"fin":       {"nth: 2, from: client, do: fin", true},
	"close":     {"nth: 2, from: client, do: {close: 1011}", true},
	"cut":       {"nth: 2, from: client, do: {cut: 5}", true},
	"half":      {"nth: 2, from: client, do: half-close", true},
	"silence":   {"nth: 2, from: client, do: silence", true},
}

// withFaults plays a client for the bundled server, correct for mutant "", with a file of faults between them.
func withFaults(t *testing.T, protocol, mutant, rule string) *counterpart.Play {
	t.Helper()
	row := serving[protocol]
	target := bundled.All.Find(protocol)
	base, stop, err := target.Parties()[0].Start(t.Context(), mutant, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	s, err := scripts.Get(protocol, row.script)
	if err != nil {
		t.Fatal(err)
	}
	set, err := faultrule.Parse("faults", []byte("faults: [{name: it, "+rule+"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return opens(t, protocol, row.as, func(o *counterpart.Options) {
		o.Connect, o.Script, o.Start, o.Faults = base, s, nil, fault.New(set, target.TypeOf)
	})
}

// awaits waits for a record of the party, or for the end of its connection, and reports which came.
func awaits(t *testing.T, p *counterpart.Play, match func(r *transcript.Record) bool) (ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := p.Transcript().Await(ctx, 0, func(r *transcript.Record) bool {
		return r.Kind == transcript.Closed || r.Kind == transcript.Failure || match(r)
	})
	if err != nil {
		t.Fatalf("%v\n%v", err, p.Transcript().Excerpt(p.Transcript().Len(), 12, 0, 200))
	}
	return r.Kind != transcript.Frame
}

// plays makes the client send a message and, twice, a fence that the program answers, unless faults end the connection.
func plays(t *testing.T, p *counterpart.Play, fence [2]string, ends bool) {
	t.Helper()
	ended := awaits(t, p, func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame && r.Dir == transcript.Sent
	})
	body := []byte(fence[0])
	if ended || p.Send(t.Context(), "C1", body) != nil || ends {
		return
	}
	_ = p.Send(t.Context(), "C1", body) // one of the two may be lost, and the connection may end
	awaits(t, p, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && bytes.Contains(r.Bytes, []byte(fence[1]))
	})
}

// TestFaultsOnCorrect: whatever happens between the two, a correct program has no findings.
func TestFaultsOnCorrect(t *testing.T) {
	for protocol, fence := range fences {
		for name, one := range happens {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				p := withFaults(t, protocol, "", one.fault)
				plays(t, p, fence, one.ended)
				p.Close()
				if found := p.Judge().Findings(); len(found) > 0 {
					t.Errorf("found: %+v", found)
				}
			})
		}
	}
}

// TestFaultsOnFaulty: the program's own mistakes are found, before and after the messages with faults.
func TestFaultsOnFaulty(t *testing.T) {
	for name, row := range map[string]struct{ protocol, fault, untested string }{
		"lost":                    {"session-chat", "nth: 2, from: client, do: drop", ""},
		"double":                  {"session-chat", "nth: 1, from: server, do: {duplicate: 3}", ""},
		"behind a doubt":          {"session-chat", "nth: 1, from: client, do: {corrupt: {at: /content, set: Hi}}", "SC-020"},
		"in pieces":               {"agent-select", "every: 1, do: {split: 9}", ""},
		"before a doubt":          {"agent-select", "nth: 4, from: client, do: {corrupt: {at: /agentId, set: general}}", ""},
		"late, of a state":        {"session-runtime", "every: 1, do: {delay: 5ms}", ""},
		"shown late":              {"agent-select", "every: 1, do: {delay: 300ms}", ""},
		"what the agent is told":  {"external-agent", "nth: 3, from: server, do: {duplicate: 1}", ""},
		"what the agent has sent": {"external-agent", "every: 1, from: client, do: dribble", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := serving[row.protocol]
			p := withFaults(t, row.protocol, of.mutant, row.fault)
			told := follows(t, p)
			var f steps.Failure
			for timeout := time.After(within); f.Clause != of.breaks; {
				select {
				case f = <-told:
				case <-timeout:
					t.Fatalf("%s is not found: %+v", of.breaks, p.Judge().Outcomes())
				}
			}
			at := p.Transcript().Page(f.At-1, 1)
			if f.At == 0 || len(at) != 1 || at[0].Dir != transcript.Received {
				t.Errorf("the finding is at %d: %+v", f.At, at)
			}
			ids, why := p.Judge().Untested()
			doubted := row.untested == "" || slices.Contains(ids, row.untested) && strings.Contains(why, `"it" (corrupt)`)
			if !doubted {
				t.Errorf("not tested: %v, because %q", ids, why)
			}
		})
	}
}

// TestDoubt: a clause that a fault leaves in doubt is not tested, with the fault as the reason; without the fault, it
// is tested.
func TestDoubt(t *testing.T) {
	for fault, doubted := range map[string]bool{
		"nth: 1, from: client, do: {pad: 3000}": true,
		"nth: 1, from: client, do: {split: 3}":  false,
		"nth: 1, from: server, do: {pad: 3000}": false, // the party's reaction is not the program's fault
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := withFaults(t, "session-chat", "", fault)
			conforms(t, p, "SC-038")
			ids, why := p.Judge().Untested()
			turns := slices.Contains(of(p, verdict.Passed), "SC-021")
			if slices.Contains(ids, "SC-021") != doubted || strings.Contains(why, `the fault "it" (pad)`) != doubted ||
				turns == doubted {
				t.Errorf("not tested: %v, because %q; passed: %v", ids, why, of(p, verdict.Passed))
			}
		})
	}
}
