package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/runner"
	"parley/target"
	"parley/transport/driver/browser"
)

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{exitError{5}, 5},
		{usagef("no"), 2},
		{fmt.Errorf("--tags: %w", &runner.UsageError{Msg: "no"}), 2},
		{&target.ProfileError{Msg: "no"}, 2},
		{&target.UnreachableError{URL: "http://x"}, 3},
		{&target.StartError{Reason: "ended"}, 3},
		{&target.HookError{Name: "model", Err: errors.New("exit status 1")}, 3},
		{fmt.Errorf("init: %w", &runner.ForeignError{Msg: "wants credentials"}), 3},
		{fmt.Errorf("open: %w", &browser.MissingError{}), 3},
		{context.Canceled, 130},
		{errors.New("disk full"), 4},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestUsageIsOneLine(t *testing.T) {
	var b strings.Builder
	(&streams{Err: &b}).exitWith(usagef("first\nsecond\n\tthird"))
	if want := "parley: first second third\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestErrorsArePrintable: text of a target within an error does not move the cursor.
func TestErrorsArePrintable(t *testing.T) {
	for _, err := range []error{&runner.ForeignError{Msg: "it says \x1b]0;title\x07"},
		errors.New("it says \x1b]0;title\x07")} {
		var b strings.Builder
		(&streams{Err: &b}).exitWith(err)
		if want := `parley: it says \u001b]0;title\u0007` + "\n"; b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"my.yaml":                "my.yaml",
		"http://localhost:3000":  "http://localhost:3000",
		"my file.yaml":           "'my file.yaml'",
		"it's.yaml":              `'it'\''s.yaml'`,
		"a;rm":                   "'a;rm'",
		"http://x/?a=1&b=$(rm x": "'http://x/?a=1&b=$(rm x'",
		"":                       "''",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestClauseID(t *testing.T) {
	for given, want := range map[string]string{"AS-080": "AS-080", "as-080": "AS-080", "@as-042A": "AS-042a", "x": "X"} {
		if got := clauseID(given); got != want {
			t.Errorf("clauseID(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestParseFormats(t *testing.T) {
	got, err := parseFormats("html, json,html")
	if diff := cmp.Diff([]string{"html", "json"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "json,", "xml"} {
		if _, err := parseFormats(bad); exitCode(err) != 2 {
			t.Errorf("parseFormats(%q): %v", bad, err)
		}
	}
}

// TestNoNameIsTaken: subcommands do not shadow each other.
func TestNoNameIsTaken(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range newSubcommands(&streams{}) {
		if seen[c.Name()] || c.Short == "" || !c.Runnable() {
			t.Errorf("command %q: twice, without a description, or without work", c.Name())
		}
		seen[c.Name()] = true
	}
}
