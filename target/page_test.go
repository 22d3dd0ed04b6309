//go:build unix

package target

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestPageURL checks where the page of a relay session is.
func TestPageURL(t *testing.T) {
	p := runningProfile(t)
	in := start(t, p, LaunchOptions{})
	var missing *NotDeclaredError
	if _, err := in.PageURL("s"); !errors.As(err, &missing) {
		t.Errorf("a target without a page: %v", err)
	}
	page := ""
	p.kind.Reach = func(*Profile) Reach { return Reach{Page: page} }
	for _, tt := range []struct{ page, session, want string }{
		{"/?session={session}", "s-1", in.BaseURL() + "/?session=s-1"},
		{"/of/{session}/page", "a b/../c?d&e=é+%", in.BaseURL() + "/of/a%20b%2F..%2Fc%3Fd%26e%3D%C3%A9%2B%25/page"},
		{"/", "s", in.BaseURL() + "/"},
		{"http://localhost:{port}/#{session}", "s", "http://localhost:" + in.fill.port + "/#s"},
		{"http://127.0.0.1:{port2}/", "s", "http://127.0.0.1:" + in.fill.port2 + "/"},
	} {
		page = tt.page
		if got, err := in.PageURL(tt.session); got != tt.want || err != nil {
			t.Errorf("%s in %q: %s, %v, want %s", tt.page, tt.session, got, err, tt.want)
		}
	}
}

// TestProgram checks that a program is a name, or relative to the profile.
func TestProgram(t *testing.T) {
	p := &Profile{Dir: "/home/me"}
	for name, want := range map[string]string{
		"": "", "chromium": "chromium", "/opt/chrome": "/opt/chrome", "./chrome": filepath.Join("/home/me", "chrome"),
	} {
		if got := p.Program(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
