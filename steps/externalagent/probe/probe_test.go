package probe

import (
	"strings"
	"testing"

	"parley/internal/profiletest"
	"parley/steps/externalagent/binding"
	"parley/steps/probe"
	"parley/target"
)

var kinds = target.Kinds{binding.Kind()}

// TestDraft checks that, whatever a target says, the draft is a valid profile with the findings.
func TestDraft(t *testing.T) {
	nasty := []string{"a\nurl: http://evil\x00\u2028"}
	seen := map[string][]string{}
	for _, key := range []string{"path", "role", "session", "two", "fields", "booking", "logs", "unseen"} {
		seen[key] = nasty
	}
	for name, change := range map[string]func(*target.Profile){
		"a usual host": func(*target.Profile) {},
		"an odd host": func(p *target.Profile) {
			e := binding.Of(p)
			e.WS.Path, e.Session = "/a b\"/#ws", "s-{nonce}"
			e.Fields.ErrorCode, e.Fields.ResultCode = "/payload/null", target.Pointers{"/a~1b/c", "/code"}
			e.Booking, e.Provoke.NoActiveSpec = nil, binding.Provocation{}
			p.Capabilities = []string{binding.RelaySessions, binding.TwoAgents}
		},
		"a relay": func(p *target.Profile) { p.Role, binding.Of(p).HostRole = "relay", "front: end" },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := binding.Kind().ForURL("http://127.0.0.1:3000/base")
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = []string{}
			change(p)
			session := probe.NewSession(nil, p, nil)
			session.Seen = seen
			text := draft(session)
			got, err := kinds.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(binding.Of(got).Booking) == 0 {
				binding.Of(got).Booking = nil
			}
			if diff := profiletest.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
			for _, key := range []string{"#command:", "#headers:", "#hooks:"} {
				if !strings.Contains(text, "\n"+key) {
					t.Errorf("no hint about %s", key)
				}
			}
		})
	}
}

// TestDraftOfAnAgent is TestDraft for agents, with or without a command.
func TestDraftOfAnAgent(t *testing.T) {
	nasty := []string{"a\nurl: http://evil\x00\u2028"}
	seen := map[string][]string{"session": nasty, "agent": nasty, "reconnect": nasty}
	for name, change := range map[string]func(*target.Profile){
		"an agent that is started": func(p *target.Profile) {
			p.Command = &target.Command{Run: []string{"./my agent", "{url}", "a\"b: c"}}
		},
		"one that connects by itself": func(p *target.Profile) { binding.Of(p).Agent.Listen = "127.0.0.1:8080" },
	} {
		t.Run(name, func(t *testing.T) {
			p := binding.Kind().New()
			p.Name, p.Role, p.Capabilities = "my: agent", "agent", []string{binding.Reconnect}
			change(p)
			session := probe.NewSession(nil, p, nil)
			session.Seen, session.File, session.Dir = seen, "/a/b/out.yaml", "/a/c"
			text := draftAgent(session)
			got, err := kinds.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if c := got.Command; c != nil {
				if c.Dir != "../c" || p.Command == nil {
					t.Errorf("a command in %q", c.Dir)
				}
				p.Command.Dir, p.Command.Ready, p.Command.Stop = c.Dir, c.Ready, c.Stop
			}
			if diff := profiletest.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
		})
	}
}
