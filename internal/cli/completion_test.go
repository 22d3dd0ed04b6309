package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestCompletion checks what a shell is offered, by the command that its scripts call.
func TestCompletion(t *testing.T) {
	for _, tt := range []struct {
		line      string
		has, lack []string
	}{
		{"run --protocol ", []string{"agent-select", "session-chat", "external-agent"}, []string{"AS-008"}},
		{"run --protocol session-", []string{"session-chat", "session-runtime", ":4"}, []string{"agent-select"}},
		{"init --protocol agent-c", []string{"agent-client"}, []string{"agent-select"}},
		{"run AS-0", []string{"AS-008", "AS-042", ":0"}, []string{"SC-001", "agent-select"}},
		{"run --protocol session-chat ", []string{"SC-042", "SC-0-02"}, []string{"AS-008"}},
		{"explain as-008", []string{"AS-008", ":4"}, []string{"AS-009"}},
		{"run --driver sse,w", []string{"sse,ws"}, []string{"sse"}},
		{"run --role ho", []string{"host"}, []string{"relay"}},
		{"run --format console,ju", []string{"console,junit"}, nil},
		{"run --baseline ", []string{":0"}, nil}, // files
		{"simulate --protocol agent-select --as ", []string{"server", "client", ":4"}, []string{"relay"}},
		{"simulate --mind a", []string{"auto", "ask"}, []string{"script"}},
		{"simulate --protocol external-agent --script ", []string{"refuse", ":0"}, nil},
		{"load --shape s", []string{"step", "soak"}, []string{"ramp"}},
		{"serve ", []string{"agent-select", "session-chat"}, nil},
	} {
		t.Run(tt.line, func(t *testing.T) {
			words := strings.Split(tt.line, " ")
			got := completed(t, words)
			for _, want := range tt.has {
				if !slices.Contains(got, want) {
					t.Errorf("%q is not offered: %q", want, got)
				}
			}
			for _, no := range tt.lack {
				if slices.Contains(got, no) {
					t.Errorf("%q is offered", no)
				}
			}
		})
	}
	ids := mutantsOf(chosen{"session-chat"})
	if len(ids) == 0 ||
		!slices.Contains(completed(t, []string{"mutants", "--protocol", "session-chat", "--only", ids[0]}), ids[0]) {
		t.Errorf("the mutant %q is not offered", ids)
	}
	var out, err bytes.Buffer
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out.Reset()
		if code := runParley([]string{"completion", shell}, &streams{Out: &out, Err: &err}); code != 0 ||
			out.Len() == 0 {
			t.Errorf("completion %s: exit %d, %s", shell, code, err.String())
		}
	}
}

// completed returns the offers for the last word, and the directive.
func completed(t *testing.T, words []string) []string {
	t.Helper()
	var out, err bytes.Buffer
	if code := runParley(append([]string{"__complete"}, words...), &streams{Out: &out, Err: &err}); code != 0 {
		t.Fatalf("exit %d: %s", code, err.String())
	}
	var all []string
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, word)
	}
	return all
}
