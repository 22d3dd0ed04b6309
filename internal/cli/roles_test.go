package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoles: which targets --role selects, with and without --target.
func TestRoles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("protocol: external-agent\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	relay := write("relay.yaml", "role: relay\nurl: http://127.0.0.1:1\n")
	agent := write("agent.yaml", "role: agent\ncommand: {run: [\"true\"]}\n")
	waits := write("waits.yaml", "role: agent\nexternal-agent: {agent: {listen: \"127.0.0.1:1\"}}\n")
	starts := write("starts.yaml", "command: {run: [\"true\"], ready: {path: /health}}\n")
	flow := write("flow.yaml", "url: http://127.0.0.1:1\nexternal-agent: {flow: none.yaml}\n")
	const url, ws, ea = "http://127.0.0.1:1", "wss://127.0.0.1:1/x", "external-agent"
	for _, tt := range []struct {
		reason, target, protocols, roles string
		want, err                        string // protocols and roles; part of the error
	}{
		{"none: the default ones", "", "", "", "agent-select agent-client session-chat session-runtime external-agent/host",
			""},
		{"others keep their roles", "", "", "relay",
			"agent-select agent-client session-chat session-runtime external-agent/relay", ""},
		{"none of external-agent", "", "", "server",
			"agent-select agent-client session-chat session-runtime external-agent/host", ""},
		{"several", "", ea, "agent host agent", "external-agent/agent external-agent/host", ""},
		{"all", "", ea, "all", "external-agent/host external-agent/relay external-agent/agent", ""},
		{"all roles of a protocol with one", "", "session-chat", "all", "session-chat", ""},
		{"misspelt", "", ea, "rellay", "",
			`--role: unknown role "rellay" of external-agent (did you mean "relay"? known: host, relay, agent, all)`},
		{"of another protocol", "", "session-chat", "relay", "",
			`--role: unknown role "relay" of session-chat (known: server)`},
		{"empty", "", ea, "host,", "", `--role: unknown role "" of external-agent (known: host, relay, agent, all)`},

		{"a URL", url, ea, "", "external-agent/host", ""},
		{"a URL with a role", ws, ea, "relay", "external-agent/relay", ""},
		{"a URL, two roles", url, ea, "host relay", "",
			"--role: a target has one role at a time, but host, relay are given (choose one)"},
		{"a URL with all roles", url, "session-chat", "all", "session-chat", ""},
		{"a URL of an agent", url, ea, "agent", "",
			"--role agent: such a target connects to the harness and has no URL (give a profile with a command that starts " +
				"it, " +
				"or with external-agent.agent.listen, to which it connects by itself: parley init --protocol external-agent " +
				"--role agent writes one)"},
		{"a URL of another protocol", url, "", "host", "", `--role: unknown role "host" of agent-select (known: server)`},

		{"a file", relay, "", "", "external-agent/relay", ""},
		{"a file, and its role", relay, "", "relay", "external-agent/relay", ""},
		{"a file, and another role", relay, ea, "host", "external-agent/host", ""},
		{"a file, all roles", relay, "", "all", "",
			"--role: a target has one role at a time, but host, relay, agent are given (choose one)"},
		{"a file, and an impossible role", relay, "", "agent", "",
			"--role agent: " + relay + ": nothing to test (give a command that starts the agent, " +
				"or external-agent.agent.listen, to which it connects by itself)"},
		{"an agent's command as a host", agent, "", "host", "external-agent/host", ""},
		{"an agent that connects by itself, as a host", waits, "", "host", "", "--role host: " + waits +
			": nothing to test (give the url of a running target, or a command that starts one)"},
		{"a server's command as an agent", starts, "", "agent", "", "--role agent: " + starts +
			": command.ready: an agent is ready once it has joined (delete it; see external-agent.agent.join)"},
		{"a flow that a host ignores", flow, "", "host", "external-agent/host", ""},
		{"a missing flow", flow, "", "relay", "", "--role relay: " + flow + ": external-agent.flow: " +
			`"none.yaml" cannot be read: no such file or directory (a path relative to this profile)`},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			asked := strings.Fields(strings.ReplaceAll(tt.roles, ",", " "))
			if strings.HasSuffix(tt.roles, ",") {
				asked = append(asked, "")
			}
			subjects, err := subjectsOf(tt.target, strings.Fields(tt.protocols), asked)
			if err != nil || tt.err != "" {
				if err == nil || err.Error() != tt.err || exitCode(err) != 2 {
					t.Errorf("%v, want %s", err, tt.err)
				}
				return
			}
			var got []string
			for _, s := range subjects {
				got = append(got, strings.Replace(titleWithRole(s.profile.Protocol, s.profile.Role), " ", "/", 1))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// TestAs: keys of another role do not prevent a change of role.
func TestAs(t *testing.T) {
	p, err := suite.Kinds().Parse([]byte("protocol: external-agent\ncommand: {run: [x]}\n"), "x.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := setRole(p, "agent"); err != nil || p.URL != "" || !p.Dials() {
		t.Errorf("as an agent: %q, %v", p.URL, err)
	}
	if err := setRole(p, "relay"); err != nil || p.URL != "http://127.0.0.1:{port}" || p.Dials() {
		t.Errorf("as a relay: %q, %v", p.URL, err)
	}
}

// TestElsewhere: a selection that matches only in another role is an error that says so.
func TestElsewhere(t *testing.T) {
	for _, tt := range []struct {
		roles []string
		expr  string
		want  string // roles; or part of the error
	}{
		{nil, "@EA-017", "host"},
		{nil, "@EA-026", "--tags: @EA-026 selects no scenario of external-agent in the role host (it selects some for " +
			"--role agent)"},
		{[]string{"all"}, "@EA-026", "agent"},
		{[]string{"all"}, "@EA-017", "host relay agent"},
		{[]string{"agent"}, "@EA-017 and @host",
			"--tags: @EA-017 and @host selects no scenario of external-agent in the role agent (it selects some for " +
				"--role host or relay)"},
		{nil, "@EA-999", "host"}, // the run rejects it
	} {
		all, err := subjectsOf("", []string{"external-agent"}, tt.roles)
		if err != nil {
			t.Fatal(err)
		}
		left, err := dropUnselected(all, tt.expr)
		var got []string
		for _, s := range left {
			got = append(got, s.profile.Role)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v of %s: %v, want %s", tt.roles, tt.expr, got, tt.want)
		}
	}
}
