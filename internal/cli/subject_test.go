package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/reference-server/launch"
	"parley/steps/doctor"
	"parley/steps/probe"
	"parley/steps/protocols"
)

func TestSubjectsOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.yaml")
	if err := os.WriteFile(file, []byte("protocol: session-chat\nurl: http://127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1"
	folder, empty := t.TempDir(), t.TempDir()
	page := filepath.Join(folder, "index.html")
	if err := os.WriteFile(page, []byte("<p>nothing</p>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reason, target, protocols string
		want, err                 string // protocols; part of the error
	}{
		{"the bundled ones", "", "", strings.Join(bundle.Protocols(), " "), ""},
		{"a WebSocket", "ws://127.0.0.1:1/agent/ws", "external-agent", "external-agent", ""},
		{"some of them, in the requested order", "", "session-chat agent-select session-chat", "session-chat agent-select",
			""},
		{"an unknown protocol", "", "agent-select session-chta", "",
			`--protocol: unknown protocol "session-chta" (did you mean "session-chat"? known: agent-client, agent-select, ` +
				`external-agent, session-chat, session-runtime)`},
		{"a URL", url, "", "agent-select", ""},
		{"a URL of a protocol", url, "session-chat", "session-chat", ""},
		{"a URL of one protocol named twice", url, "session-chat session-chat", "session-chat", ""},
		{"a URL of two protocols", url, "session-chat agent-select", "",
			"--protocol: a URL is judged by one protocol at a time, but session-chat, agent-select are given (choose one)"},
		{"a URL, an unknown one", url, "x", "",
			`--protocol: unknown protocol "x" (known: agent-client, agent-select, external-agent, session-chat, ` +
				`session-runtime)`},
		{"a file", file, "", "session-chat", ""},
		{"a file and its protocol", file, "session-chat", "session-chat", ""},
		{"a file and another protocol", file, "agent-select", "",
			"--protocol agent-select: " + file + " speaks session-chat (leave --protocol out, or give another --target)"},
		{"a page at a URL", url + "/chat/", "agent-client", "agent-client", ""},
		{"a folder with a page", folder, "", "agent-client", ""},
		{"a folder, and its protocol", folder, "agent-client agent-client", "agent-client", ""},
		{"the file of a page", page, "", "agent-client", ""},
		{"the URL of the file", "file://" + filepath.ToSlash(page), "", "agent-client", ""},
		{"a folder without a page", empty, "", "", "--target: " + empty +
			": the folder has no index.html (build the page first, or name its file)"},
		{"a page of another protocol", folder, "agent-select", "",
			"--protocol agent-select: " + folder +
				" is a page, which speaks agent-client (leave --protocol out, or give another --target)"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			subjects, err := subjectsOf(tt.target, strings.Fields(tt.protocols), nil)
			if err != nil || tt.err != "" {
				if err == nil || err.Error() != tt.err || exitCode(err) != 2 {
					t.Errorf("%v, want %s", err, tt.err)
				}
				return
			}
			var got []string
			for _, s := range subjects {
				got = append(got, s.profile.Protocol)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// TestEveryProtocolIsKnownEverywhere: the commands can serve, probe and examine every protocol of the suite, in every
// role.
func TestEveryProtocolIsKnownEverywhere(t *testing.T) {
	for _, protocol := range suite.Names() {
		if _, probing := protocols.Get(protocol).(probe.Probing); !probing ||
			len(bareDrivers(suite.Kinds().New(protocol).Kind())) == 0 {
			t.Errorf("%s is not known everywhere", protocol)
		}
		roles, err := suite.Roles(protocol), error(nil)
		if err != nil || !slices.Equal(roles, suite.Roles(protocol)) {
			t.Errorf("%s: the suite has the roles %v, and profiles %v, %v", protocol, roles, suite.Roles(protocol), err)
		}
		guide, _ := doctor.Of(protocols.Get(protocol))
		for _, role := range roles {
			if bundle.Find(protocol).Role(role) == nil || len(guide.Checkups[role].Items) == 0 {
				t.Errorf("%s %s is not known everywhere", protocol, role)
			}
		}
	}
}

func TestTagged(t *testing.T) {
	for expr, want := range map[string]string{
		"":                   "agent-select agent-client session-chat session-runtime external-agent",
		"@AS-042":            "agent-select",
		"@SC-042":            "session-chat",
		"@AC-011":            "agent-client",
		"@AC-079":            "agent-select agent-client", // each judges its part
		"@AC-077":            "agent-select",
		"@RT-099":            "session-runtime",
		"@SC-042 or @AS-042": "agent-select session-chat",
		"@EA-017":            "external-agent",
		"not @agent-select":  "agent-client session-chat session-runtime external-agent",
		"@preflight-1":       "agent-select agent-client session-chat session-runtime external-agent",
		// the run rejects it
		"@AS-999":                "agent-select agent-client session-chat session-runtime external-agent",
		"@AS-042 and":            "agent-select agent-client session-chat session-runtime external-agent", // so is this
		"@SC-042 and not @SC-04": "session-chat",
	} {
		all, err := subjectsOf("", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		left, err := dropUnselected(all, expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range left {
			got = append(got, s.profile.Protocol)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", expr, got, want)
		}
	}
}

// TestNothingBundled: a program without bundled targets judges named ones, and has no commands for bundled ones.
func TestNothingBundled(t *testing.T) {
	defer func(all launch.Targets) { bundle = all }(bundle)
	bundle = nil
	if _, err := subjectsOf("", nil, nil); exitCode(err) != 2 || !strings.Contains(err.Error(), "--target is missing") {
		t.Errorf("without --target: %v", err)
	}
	if s, err := subjectsOf("http://127.0.0.1:1", nil, nil); err != nil || len(s) != 1 {
		t.Errorf("with a target: %v, %v", s, err)
	}
	for _, c := range newSubcommands(&streams{}) {
		if c.Name() == "serve" || c.Name() == "mutants" {
			t.Errorf("there is parley %s", c.Name())
		}
	}
}
