//go:build unix

package target

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/freeport"
)

// TestReset: the hook knows which target it resets.
func TestReset(t *testing.T) {
	p := runningProfile(t)
	in := start(t, p, LaunchOptions{})
	var missing *NotDeclaredError
	if err := in.Reset(t.Context()); !errors.As(err, &missing) || missing.Key != "hooks.reset" || p.Resets() {
		t.Errorf("a hook that is not declared: %v", err)
	}
	p.Hooks.Reset = `printf '%s %s' "$PARLEY_URL" "$PARLEY_DIR" > of`
	if err := in.Reset(t.Context()); err != nil || !p.Resets() {
		t.Fatal(err)
	}
	want := in.BaseURL() + " " + in.fill.dir
	if b, err := os.ReadFile(filepath.Join(p.Dir, "of")); err != nil || string(b) != want {
		t.Errorf("it is told %q (%v), want %q", b, err, want)
	}
	p.Hooks.Reset = "echo no table; exit 1"
	var failed *HookError
	if err := in.Reset(t.Context()); !errors.As(err, &failed) || err.Error() != "hook reset: exit status 1\nno table" {
		t.Errorf("a hook that fails: %v", err)
	}
	p.Hooks.Reset, p.Limits.Hook = "sleep 600", Duration{200 * time.Millisecond}
	if err := in.Reset(t.Context()); !errors.As(err, &failed) || err.Error() != "hook reset: took longer than 200ms" {
		t.Errorf("a hook that takes too long: %v", err)
	}
}

// TestResetOfProcesses: what agents and piped processes share is reset without any of them.
func TestResetOfProcesses(t *testing.T) {
	for name, p := range map[string]*Profile{"agents": fakeAgent(t, "agent"), "pipes": speaking(t, "echo")} {
		r, err := NewLauncher(p).Launch(t.Context(), LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var missing *NotDeclaredError
		if err := r.(Resetter).Reset(t.Context()); !errors.As(err, &missing) {
			t.Errorf("%s: a hook that is not declared: %v", name, err)
		}
		p.Hooks.Reset = `printf %s "$PARLEY_PROFILE_DIR" > of`
		if err := r.(Resetter).Reset(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(p.Dir, "of")); err != nil || string(b) != p.Dir {
			t.Errorf("%s: it is told %q (%v), want %q", name, b, err, p.Dir)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.(Resetter).Reset(t.Context()); err == nil || !strings.Contains(err.Error(), errStopped.Error()) {
			t.Errorf("%s: after the stop: %v", name, err)
		}
	}
}

// TestResetRestarts: a hook may restart a target that was not started by us, which counts as reset once it listens.
func TestResetRestarts(t *testing.T) {
	free, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer free.Release()
	first, err := net.Listen("tcp", free.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p, err := toys[0].ForURL("http://" + free.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p.Dir = t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(p.Dir, "ran"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Hooks.Reset = "echo > ran"
	in := start(t, p, LaunchOptions{})
	_ = first.Close()
	done := make(chan error)
	go func() { done <- in.Reset(t.Context()) }()
	if _, err := os.ReadFile(filepath.Join(p.Dir, "ran")); err != nil {
		t.Fatal(err)
	}
	second := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = second.Listener.Close()
	if second.Listener, err = net.Listen("tcp", free.Addr()); err != nil {
		t.Fatal(err)
	}
	second.Start()
	if err := <-done; err != nil {
		t.Errorf("once it listens again: %v", err)
	}
	second.Close()
	p.Hooks.Reset, p.Limits.Hook = ":", Duration{time.Second}
	var gone *UnreachableError
	if err := in.Reset(t.Context()); !errors.As(err, &gone) {
		t.Errorf("a target that does not listen again: %v", err)
	}
}
