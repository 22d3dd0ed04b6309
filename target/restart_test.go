//go:build unix

package target

import (
	"errors"
	"fmt"
	"os"
	"parley/internal/procgroup"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// restarts are the two ways to restart a target.
var restarts = []struct {
	reason string
	kill   bool
}{{"with grace it may put its things in order", false}, {"without grace it may not", true}}

// TestRestart: the new process finds everything as the old one left it.
func TestRestart(t *testing.T) {
	for _, tt := range restarts {
		t.Run(tt.reason, func(t *testing.T) {
			p := fake(t, "serve")
			if err := os.WriteFile(filepath.Join(p.Dir, "src"), []byte("as shipped"), 0o600); err != nil {
				t.Fatal(err)
			}
			p.Command.Copy = map[string]string{"config": "src"}
			in := start(t, p, LaunchOptions{})
			url, pid, exited := in.BaseURL(), getBody(t, in.BaseURL()+"/pid"), in.Exited()
			seen := func() (env []string) {
				for _, name := range []string{"PARLEY_PORT", "PARLEY_URL", "PARLEY_DIR", "PARLEY_PORT2"} {
					env = append(env, getBody(t, url+"/env?"+name))
				}
				return env
			}
			before := seen()
			files := map[string]string{"config": "changed since", "history": "of its own"}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(before[2], name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				if err := in.Restart(t.Context(), tt.kill); err != nil {
					t.Fatal(err)
				}
			}
			if in.BaseURL() != url {
				t.Errorf("it has moved from %s to %s", url, in.BaseURL())
			}
			if getBody(t, url+"/pid") == pid {
				t.Error("it is the same process")
			}
			if diff := cmp.Diff(before, seen()); diff != "" {
				t.Errorf("its ports, URL and folder (-before +after):\n%s", diff)
			}
			for name, want := range files {
				if b, err := os.ReadFile(filepath.Join(before[2], name)); err != nil || string(b) != want {
					t.Errorf("%s holds %q (%v), want %q", name, b, err, want)
				}
			}
			if tidy := exists(filepath.Join(before[2], "terminated")); tidy == tt.kill {
				t.Errorf("kill is %v, and ended in order is %v", tt.kill, tidy)
			}
			if isClosed(exited) || isClosed(in.Exited()) || in.ExitErr() != nil {
				t.Errorf("the restart counts as an end of its own: %v", in.ExitErr())
			}
		})
	}
}

// TestRestartIsQuick: a restart takes about as long as the target needs, not its whole grace period. The best of
// several attempts counts, as the machine may be busy.
func TestRestartIsQuick(t *testing.T) {
	const limit, tries = 2 * time.Second, 10
	for _, tt := range restarts {
		t.Run(tt.reason, func(t *testing.T) {
			p := fake(t, "serve")
			p.Command.Stop = Duration{time.Minute}
			in := start(t, p, LaunchOptions{})
			var took []time.Duration
			for range tries {
				begun := time.Now()
				if err := in.Restart(t.Context(), tt.kill); err != nil {
					t.Fatal(err)
				}
				if took = append(took, time.Since(begun)); took[len(took)-1] < limit {
					t.Logf("took %v", took)
					return
				}
			}
			t.Errorf("took %v, never less than %v", took, limit)
		})
	}
}

// TestRestartFails: if a process dies while restarting, the error has its last output, and another attempt is
// possible.
func TestRestartFails(t *testing.T) {
	for _, tt := range restarts {
		t.Run(tt.reason, func(t *testing.T) {
			in := start(t, fake(t, "once"), LaunchOptions{})
			exited := in.Exited()
			err := in.Restart(t.Context(), tt.kill)
			var failed *StartError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v, want a *StartError", err)
			}
			want := fmt.Sprintf("target %q ended before it was ready: exit status 4\nstderr:\nthe store is locked", os.Args[0])
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if isClosed(exited) {
				t.Error("the restart counts as an end of its own")
			}
			if err := os.Remove(filepath.Join(in.fill.dir, "started")); err != nil {
				t.Fatal(err)
			}
			if err := in.Restart(t.Context(), tt.kill); err != nil || getBody(t, in.BaseURL()+"/pid") == "" {
				t.Errorf("once more: %v", err)
			}
			stopTwice(t, in)
			if err := in.Restart(t.Context(), tt.kill); !errors.Is(err, errStopped) {
				t.Errorf("after the stop: got %v, want %v", err, errStopped)
			}
		})
	}
}

// TestRestartTooLate: a process that is not ready again in time is a *StartError too, and is not left running.
func TestRestartTooLate(t *testing.T) {
	p := fake(t, "once-ready")
	in := start(t, p, LaunchOptions{})
	p.Command.Ready.Within = Duration{300 * time.Millisecond}
	err := in.Restart(t.Context(), true)
	var failed *StartError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "was not ready within 300ms") {
		t.Errorf("got %v, want a *StartError", err)
	}
	if group := in.currentProcess().group; procgroup.Alive(group) {
		t.Errorf("the process group %d still runs", group)
	}
}
