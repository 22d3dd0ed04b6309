//go:build unix

package target

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/freeport"
	"parley/internal/procgroup"

	"github.com/google/go-cmp/cmp"
)

// runningProfile returns the profile of a target that is already running.
func runningProfile(t *testing.T) *Profile {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	p, err := toys[0].ForURL(s.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	p.Dir = t.TempDir()
	return p
}

func TestHook(t *testing.T) {
	p := runningProfile(t)
	p.Hooks.AddAgent = `env | grep ^PARLEY_ | sort > env; echo noise`
	p.Hooks.ChangeAgent = `echo to stdout; echo to stderr >&2; exit 5`
	in := start(t, p, LaunchOptions{})
	agent := CustomAgent{ID: "a", Name: "An A", Description: "it's $A", Prompt: "two\nlines", Tools: []string{"x", "y"}}

	if err := in.Hook(t.Context(), HookAddAgent, agent); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(p.Dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"PARLEY_AGENT_ID=a\n", "PARLEY_AGENT_NAME=An A\n", "PARLEY_AGENT_DESCRIPTION=it's $A\n", "PARLEY_AGENT_PROMPT=two\n",
		"PARLEY_AGENT_TOOLS=x,y\n", "PARLEY_URL=" + in.BaseURL() + "\n", "PARLEY_PORT=" + in.fill.port + "\n",
		"PARLEY_DIR=" + in.fill.dir + "\n", "PARLEY_PROFILE_DIR=" + p.Dir + "\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the hook's environment has no %q:\n%s", want, b)
		}
	}

	var failed *HookError
	err = in.Hook(t.Context(), HookChangeAgent, agent)
	if !errors.As(err, &failed) || err.Error() != "hook change-agent: exit status 5\nto stdout\nto stderr" {
		t.Errorf("a hook that fails: %v", err)
	}
	var missing *NotDeclaredError
	err = in.Hook(t.Context(), HookRemoveAgent, agent)
	if !errors.As(err, &missing) || missing.Key != "hooks.remove-agent" {
		t.Errorf("a hook that is not declared: %v", err)
	}
}

// TestSay: the hook gets the text and the relay session unchanged.
func TestSay(t *testing.T) {
	p := runningProfile(t)
	in := start(t, p, LaunchOptions{})
	var missing *NotDeclaredError
	if err := in.Say(t.Context(), "s", "x"); !errors.As(err, &missing) || missing.Key != "hooks.user-says" {
		t.Errorf("a hook that is not declared: %v", err)
	}
	p.Hooks.UserSays = `printf '%s|%s|%s' "$PARLEY_TEXT" "$PARLEY_RELAY_SESSION" "$PARLEY_URL" > said`
	const text = "it's $HOME;\n`ls` \"evening\"\nshows"
	if err := in.Say(t.Context(), "s $1", text); err != nil {
		t.Fatal(err)
	}
	want := text + "|s $1|" + in.BaseURL()
	if b, err := os.ReadFile(filepath.Join(p.Dir, "said")); err != nil || string(b) != want {
		t.Errorf("it says %q (%v), want %q", b, err, want)
	}
	p.Hooks.UserSays = "echo nobody there; exit 1"
	err := in.Say(t.Context(), "s", "x")
	var failed *HookError
	if !errors.As(err, &failed) || err.Error() != "hook user-says: exit status 1\nnobody there" {
		t.Errorf("a hook that fails: %v", err)
	}
}

// TestHookLate: a hook that takes too long is killed with its children. If a busy machine does not get to start them
// within the limit, the test retries with a longer one.
func TestHookLate(t *testing.T) {
	p := runningProfile(t)
	p.Hooks.AddAgent = `echo $$ > group; sleep 600 & sleep 600`
	for limit := 200 * time.Millisecond; limit < time.Minute; limit *= 3 {
		p.Limits.Hook = Duration{limit}
		in := start(t, p, LaunchOptions{}) // one that has taken too long does not run again
		err := in.Hook(t.Context(), HookAddAgent, CustomAgent{})
		var failed *HookError
		if !errors.As(err, &failed) || err.Error() != "hook add-agent: took longer than "+limit.String() {
			t.Fatalf("got %v", err)
		}
		if text, _ := os.ReadFile(filepath.Join(p.Dir, "group")); len(text) > 0 {
			ended(t, filepath.Join(p.Dir, "group"))
			return
		}
	}
	t.Error("within a minute the hook has done nothing")
}

// TestHookLateOnce: a hook that has taken too long does not run again, and others have less time from then on.
func TestHookLateOnce(t *testing.T) {
	p := runningProfile(t)
	p.Hooks.AddAgent, p.Hooks.RemoveAgent, p.Hooks.ChangeAgent = `echo >> runs; sleep 600`, `sleep 600`, `:`
	p.Limits.Hook = Duration{6 * time.Second}
	in := start(t, p, LaunchOptions{})
	for _, row := range []struct{ hook, want string }{
		{HookAddAgent, "hook add-agent: took longer than 6s"},
		{HookAddAgent, "hook add-agent: took longer than 6s"},
		{HookRemoveAgent, "hook remove-agent: took longer than 1s"},
	} {
		if err := in.Hook(t.Context(), row.hook, CustomAgent{}); err == nil || err.Error() != row.want {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
	if runs, _ := os.ReadFile(filepath.Join(p.Dir, "runs")); len(runs) > 1 {
		t.Errorf("it has run %d times", len(runs))
	}
	if err := in.Hook(t.Context(), HookChangeAgent, CustomAgent{}); err != nil {
		t.Errorf("a hook that takes no time: %v", err)
	}
}

// ended checks that the process group whose id a file holds ends soon.
func ended(t *testing.T, file string) {
	t.Helper()
	group := numberIn(t, file)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if awaitGroup(ctx, group); procgroup.Alive(group) {
		t.Errorf("the process group %d still runs", group)
	}
}

// TestHookLeavesAServer: run neither waits for what a hook starts in the background nor ends it.
func TestHookLeavesAServer(t *testing.T) {
	p := runningProfile(t)
	p.Hooks.Restart = `echo $$ > group; echo kill=$PARLEY_KILL > how; sleep 600 & true`
	in := start(t, p, LaunchOptions{})
	if err := in.Restart(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	group := numberIn(t, filepath.Join(p.Dir, "group"))
	if !procgroup.Alive(group) {
		t.Error("what the hook left running has been ended")
	}
	procgroup.Kill(group)
	ended(t, filepath.Join(p.Dir, "group"))
	if b, _ := os.ReadFile(filepath.Join(p.Dir, "how")); string(b) != "kill=1\n" {
		t.Errorf("the hook is told %q", b)
	}
}

func TestConfigBytes(t *testing.T) {
	for _, tt := range []struct {
		reason string
		change func(*Profile)
		want   string
		err    string
	}{
		{"no location declared", func(*Profile) {}, "", "the profile declares no agents.file or hooks.config-digest"},
		{"a file of the profile", func(p *Profile) { p.Agents.File = "agents.json" }, "{}", ""},
		{"a file of the instance", func(p *Profile) { p.Agents.File = "{dir}/own" }, "http://model", ""},
		{"a hook rather than a file", func(p *Profile) {
			p.Agents.File, p.Hooks.ConfigDigest = "x",
				"printf 'a\\0b'; echo c >&2"
		}, "a\x00b", ""},
		{"a missing file", func(p *Profile) { p.Agents.File = "none" }, "", "no such file"},
		{"a hook that fails", func(p *Profile) { p.Hooks.ConfigDigest = "false" }, "", "hook config-digest: exit status 1"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := runningProfile(t)
			p.Model = &Model{Hook: `printf %s "$PARLEY_MODEL_URL" > "$PARLEY_DIR/own"`}
			if err := os.WriteFile(filepath.Join(p.Dir, "agents.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			tt.change(p)
			got, err := start(t, p, LaunchOptions{ModelURL: "http://model"}).ConfigBytes()
			if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v, want %q, %s", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestModelHookFails(t *testing.T) {
	p := runningProfile(t)
	p.Model = &Model{Hook: "echo no room; exit 1"}
	_, err := Start(t.Context(), p, LaunchOptions{ModelURL: "http://model"})
	var failed *HookError
	if !errors.As(err, &failed) || failed.Name != HookModel {
		t.Errorf("got %v, want a *HookError", err)
	}
	start(t, p, LaunchOptions{}) // without a stub the hook does not run
}

func TestRunningTarget(t *testing.T) {
	in := start(t, runningProfile(t), LaunchOptions{})
	if !strings.HasSuffix(in.BaseURL(), "/base") || in.Exited() != nil || in.ExitErr() != nil || in.Stderr() != "" {
		t.Errorf("%s, exited %v (%v), stderr %q", in.BaseURL(), in.Exited(), in.ExitErr(), in.Stderr())
	}
	var missing *NotDeclaredError
	if err := in.Restart(t.Context(), false); !errors.As(err, &missing) {
		t.Errorf("restart: got %v, want a *NotDeclaredError", err)
	}
}

func TestUnreachable(t *testing.T) {
	free, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer free.Release()
	p, err := toys[0].ForURL("http://" + free.Addr() + "/base")
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewLauncher(p).Launch(t.Context(), LaunchOptions{})
	var failed *UnreachableError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want an *UnreachableError", err)
	}
	want := "target http://ADDR/base cannot be reached: tried ADDR: connect: connection refused " +
		"(is it running, and is that its port?)"
	want = strings.ReplaceAll(want, "ADDR", free.Addr())
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if p, err = toys[0].ForURL("http://no-such-host.invalid"); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), p, LaunchOptions{}); !errors.As(err, &failed) {
		t.Errorf("a host that does not exist: got %v, want an *UnreachableError", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, p, LaunchOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: got %v", err)
	}
}

// TestHookPrintsMuch: of what a hook prints a part is read, and one that prints without end is ended and named.
func TestHookPrintsMuch(t *testing.T) {
	for _, row := range []struct{ hook, want string }{
		{`awk 'BEGIN {while (1) print "y"}'`, "printed more than 16 MiB"},
		{`awk 'BEGIN {while (1) print "y"}' >&2`, "printed more than 16 MiB"},
		{`awk 'BEGIN {for (i = 0; i < 170000; i++) printf "%0100d", 0}'`, "printed more than 16 MiB"},
		{`awk 'BEGIN {for (i = 0; i < 20000; i++) printf "%0100d", 0}'`, ""},
	} {
		p := runningProfile(t)
		p.Hooks.AddAgent, p.Hooks.ConfigDigest = row.hook, row.hook
		in := start(t, p, LaunchOptions{})
		var failed *HookError
		err := in.Hook(t.Context(), HookAddAgent, CustomAgent{ID: "a"})
		if row.want != "" {
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), row.want) || len(failed.Output) > keptOutput {
				t.Errorf("%s: %v", row.hook, err)
			}
			continue
		}
		digest, err2 := in.ConfigBytes()
		if err != nil || err2 != nil || !strings.HasSuffix(string(digest), "951424 more bytes were dropped\n") {
			t.Errorf("%s: %v, %v, %d bytes", row.hook, err, err2, len(digest))
		}
	}
}
