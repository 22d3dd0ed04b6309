package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/reports"
	pagewire "parley/steps/agentclient/binding"
	"parley/transport/driver/browser"
)

func TestLeaveOut(t *testing.T) {
	missing := &browser.MissingError{}
	for _, tt := range []struct {
		reason, all string // pages have names that begin with p
		named       bool
		kept        string
		left, fails bool
	}{
		{"nothing is a page", "a b", false, "a b", false, false},
		{"a page among others", "a page b", false, "a b", true, false},
		{"several pages are reported once", "page a page", false, "a", true, false},
		{"a page that was asked for", "a page b", true, "", false, true},
		{"a page alone", "page", false, "", true, true},
		{"other targets that were asked for", "a b", true, "a b", false, false},
	} {
		kept, left, err := leaveOut(strings.Fields(tt.all), tt.named, func(s string) error {
			if s[0] == 'p' {
				return missing
			}
			return nil
		}, func(string) string { return "pages" })
		if strings.Join(kept, " ") != tt.kept || slices.Equal(left, []string{withoutBrowser("pages")}) != tt.left ||
			errors.Is(err, missing) != tt.fails ||
			err != nil && exitCode(err) != 3 {
			t.Errorf("%s: %v is kept, %q is said, %v", tt.reason, kept, left, err)
		}
	}
}

// TestMissingBrowser: a page needs a browser, the one of its profile; no other target does.
func TestMissingBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := suite.Kinds().New("agent-client")
	pagewire.Of(p).Browser = "no-such-browser"
	var missing *browser.MissingError
	if err := missingBrowser(p); !errors.As(err, &missing) || missing.Command != "no-such-browser" {
		t.Errorf("of a page: %v", err)
	}
	host, err := suite.Kinds().Parse([]byte("protocol: external-agent\nurl: http://x\nexternal-agent: {page: {url: /, "+
		"input: a, browser: no-such-browser}}\n"), "host.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := missingBrowser(host); !errors.As(err, &missing) || missing.Key != "external-agent.page.browser" {
		t.Errorf("a host with a page: %v", err)
	}
	if err := missingBrowser(suite.Kinds().New("agent-select")); err != nil {
		t.Errorf("of a server: %v", err)
	}
}

func TestNoteLeft(t *testing.T) {
	r := &reports.Results{Runs: []reports.Run{{}, {Notes: []reports.Note{{Kind: "interop", Text: "x"}}}}}
	noteLeft(r, []string{"y"})
	if want := []reports.Note{{Kind: "interop", Text: "x"}, {Kind: "harness", Text: "y"}}; !slices.Equal(r.Runs[1].Notes,
		want) || r.Runs[0].Notes != nil {
		t.Errorf("%+v", r.Runs)
	}
	noteLeft(&reports.Results{}, []string{"y"})
}
