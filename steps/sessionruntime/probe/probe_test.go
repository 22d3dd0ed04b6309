package probe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/steps/probe"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

var kinds = target.Kinds{binding.Kind()}

// messages decodes messages, one per line.
func messages(lines ...string) []map[string]any {
	var out []map[string]any
	for _, l := range lines {
		out = append(out, probe.Object([]byte(l)))
	}
	return out
}

var readInputRows = []struct {
	reason    string
	published []string
	want      func(*binding.Binding) // nil: it was not routed
	unseen    string
}{
	{"the default binding", []string{
		`{"id":"1","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"AGENT","target_id":"a",` +
			`"payload":"#1-x","timestamp":"now","metadata":{"trace_id":"r","turn_id":"t"}}`,
		`{"id":"2","session_id":"s","event":"EVENT","subtype":"TURN_ACCEPTED","sender":"session","target":"FRONTEND",` +
			`"payload":{"target_agent":"a","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
	}, func(*binding.Binding) {}, ""},
	{"reported first, as a CONTROL, ids in the payload, an odd name", []string{
		`{"id":"2","session_id":"s","event":"CONTROL","subtype":"QUEUED","sender":"runtime","target":"FRONTEND",` +
			`"payload":{"target_agent":"a","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
		`{"id":"1","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"AGENT","target_id":"a",` +
			`"payload":{"text":"#1-x","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
	}, func(s *binding.Binding) {
		s.Senders.Session = "runtime"
		s.Subtypes["TURN_ACCEPTED"] = target.Names{"QUEUED"}
	}, ""},
	{"other names everywhere, in camel case", []string{
		`{"msgId":"1","sid":"s","kind":"user.input","src":"frontend","to":"agents","toId":"a","data":"#1-x","ts":1,` +
			`"meta":{"traceId":"r","turnId":"t"}}`,
		`{"msgId":"2","sid":"s","kind":"event","action":"turn.accepted","src":"core","to":"ui",` +
			`"data":{"targetAgent":"a"},"ts":1,"meta":{"traceId":"r","turnId":"t"}}`,
	}, func(s *binding.Binding) {
		f := &s.Fields
		*f = binding.RuntimeFields{
			ID: "/msgId", Session: "/sid", Event: "/kind", Subtype: target.Pointers{"/action"}, Sender: "/src", Target: "/to",
			TargetID: "/toId",
			Payload:  "/data", Timestamp: "/ts", Metadata: "/meta", TraceID: target.Pointers{"/meta/traceId"},
			TurnID: target.Pointers{"/meta/turnId"},
			TxID:   target.Pointers{"/meta/txId", "/data/txId"}, IsChunk: "/meta/stream/isChunk", Seq: "/meta/stream/seq",
			Final:       "/meta/stream/final",
			TargetAgent: target.Pointers{"/data/targetAgent"},
			AgentID: target.Pointers{"/data/agentId", "/data/agent/agentId", "/data/agent/id",
				"/data/agentSpec/agentId", "/data/agentSpec/id", "/meta/agentId"},
			Code: target.Pointers{"/data/code"}, From: target.Pointers{"/data/from"}, To: target.Pointers{"/data/to"},
			Reason: target.Pointers{"/data/reason"}, Trigger: target.Pointers{"/data/trigger"},
			Mention: target.Pointers{"/meta/mentionedAgentId", "/meta/targetAgentId"},
		}
		s.Senders.Session = "core"
		s.Events = map[string]target.Names{"USER_INPUT": {"user.input"}, "EVENT": {"event"}}
		s.Subtypes["TURN_ACCEPTED"] = target.Names{"turn.accepted"}
		s.Targets = map[string]target.Names{"AGENT": {"agents"}, "FRONTEND": {"ui"}}
	}, ""},
	{"beside a log entry, without a report to the frontend", []string{
		`{"session_id":"s","event":"EVENT","target":"LOGGER","payload":{"got":"#1-x"},"metadata":{}}`,
		`{"session_id":"s","event":"USER_INPUT","target":"AGENT","target_id":"a","payload":"#1-x"}`,
	}, func(s *binding.Binding) { s.Targets = map[string]target.Names{"FRONTEND": {"LOGGER"}} },
		"metadata sender timestamp id turn-id trace-id subtype target-agent"},
	{"not routed", []string{`{"session_id":"s","event":"ERROR","target":"FRONTEND","payload":"#1-x"}`}, nil, ""},
	{"nothing", nil, nil, ""},
}

// TestReadInput reads what is published about an input with the token #1-x, in session s with active agent a.
func TestReadInput(t *testing.T) {
	std := binding.Default
	for _, tt := range readInputRows {
		t.Run(tt.reason, func(t *testing.T) {
			h, ok := readInput(messages(tt.published...), "s", "a", "#1-x")
			if ok != (tt.want != nil) {
				t.Fatalf("routed: %v", ok)
			}
			if !ok {
				return
			}
			want := std()
			tt.want(&want)
			if diff := cmp.Diff(want, h.wire); diff != "" {
				t.Errorf("wire: - want + got\n%s", diff)
			}
			if unseen := strings.Join(h.unseen, " "); unseen != tt.unseen {
				t.Errorf("unseen: %q, want %q", unseen, tt.unseen)
			}
		})
	}
}

// TestDraft checks that, whatever an orchestrator says, the draft is a valid profile with the findings.
func TestDraft(t *testing.T) {
	nasty := []string{"a\nurl: http://evil\x00\u2028"}
	seen := map[string][]string{}
	for _, key := range []string{"path", "fence", "limits", "fields", "events", "subtypes", "targets", "unseen"} {
		seen[key] = nasty
	}
	for name, change := range map[string]func(*target.Profile){
		"a usual one": func(*target.Profile) {},
		"an odd one": func(p *target.Profile) {
			s := binding.Of(p)
			s.WS.Path, s.Fence = "/a b\"/#ws", false
			s.Senders.Session = "run: time\n"
			s.Fields.Event, s.Fields.TurnID = "/a~1b/c", target.Pointers{"/null", "/x"}
			s.Events = map[string]target.Names{"USER_INPUT": {"- in\n", "*"}}
			s.Subtypes["TURN_ACCEPTED"], s.Subtypes["CANCELED"] = target.Names{"#"}, target.Names{"stopped: yes"}
			s.Targets = map[string]target.Names{"FRONTEND": {"null"}}
		},
		"one over stdio": func(p *target.Profile) {
			p.URL, p.Drivers = "", []string{target.Stdio}
			p.Command = &target.Command{Run: []string{"./my orchestrator", "a\"b: c"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := binding.Kind().ForURL("http://127.0.0.1:3000/base")
			if err != nil {
				t.Fatal(err)
			}
			change(p)
			session := probe.NewSession(nil, p, nil)
			session.Seen, session.File, session.Dir = seen, "/x/draft.yaml", "/x/y"
			text := draft(session)
			got, err := kinds.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if p.Command != nil {
				p.Command.Dir, p.Command.Stop, p.Command.Ready = "y", got.Command.Stop, got.Command.Ready
			} else if !strings.Contains(text, "\n#headers:") {
				t.Errorf("no hint about #headers:\n%s", text)
			}
			if diff := profiletest.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
		})
	}
}
