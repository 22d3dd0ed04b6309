package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/reference-server/bundled"
	"parley/runner"
)

func TestSubjectsOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.yaml")
	if err := os.WriteFile(file, []byte("protocol: session-chat\nurl: http://127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1"
	for _, tt := range []struct {
		reason, target, protocols string
		want, err                 string // protocols; what is said
	}{
		{"the bundled ones", "", "", strings.Join(bundled.Protocols(), " "), ""},
		{"some of them, in the order that was asked for", "", "session-chat agent-select session-chat", "session-chat agent-select", ""},
		{"an unknown one", "", "agent-select session-chta", "",
			`--protocol: unknown protocol "session-chta" (did you mean "session-chat"? known: agent-select, session-chat)`},
		{"a URL", url, "", "agent-select", ""},
		{"a URL of a protocol", url, "session-chat", "session-chat", ""},
		{"a URL of one protocol said twice", url, "session-chat session-chat", "session-chat", ""},
		{"a URL of two", url, "session-chat agent-select", "",
			"--protocol: a URL is judged by one protocol at a time, and here are session-chat, agent-select (choose one)"},
		{"a URL of an unknown one", url, "x", "", `--protocol: unknown protocol "x" (known: agent-select, session-chat)`},
		{"a file", file, "", "session-chat", ""},
		{"a file and its protocol", file, "session-chat", "session-chat", ""},
		{"a file and another protocol", file, "agent-select", "",
			"--protocol agent-select: " + file + " speaks session-chat (leave --protocol out, or give another --target)"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			subjects, err := subjectsOf(tt.target, strings.Fields(tt.protocols))
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

// TestEveryProtocolIsKnownEverywhere: what the suite can judge, the commands can serve, probe and examine.
func TestEveryProtocolIsKnownEverywhere(t *testing.T) {
	for _, protocol := range runner.Protocols() {
		if bundled.For(protocol, "") == nil || serving[protocol].make == nil || probes[protocol] == nil ||
			len(checkups[protocol].items) == 0 || len(bareDrivers[protocol]) == 0 {
			t.Errorf("%s is not known everywhere", protocol)
		}
	}
}

func TestTagged(t *testing.T) {
	for expr, want := range map[string]string{
		"":                       "agent-select session-chat",
		"@AS-042":                "agent-select",
		"@SC-042":                "session-chat",
		"@SC-042 or @AS-042":     "agent-select session-chat",
		"not @agent-select":      "session-chat",
		"@preflight-1":           "agent-select session-chat",
		"@AS-999":                "agent-select session-chat", // the run refuses it
		"@AS-042 and":            "agent-select session-chat", // so is this
		"@SC-042 and not @SC-04": "session-chat",
	} {
		all, err := subjectsOf("", nil)
		if err != nil {
			t.Fatal(err)
		}
		left, err := tagged(all, expr)
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
