package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/reports"
)

// watchedRun is a parley run --watch with its output.
type watchedRun struct {
	*proxying
	folder string
}

// startWatch runs parley run --watch on a profile, until stop, which is Ctrl-C.
func startWatch(t *testing.T, profile string, flags ...string) *watchedRun {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "my.yaml")
	put(t, file, profile)
	ctx, cancel := context.WithCancel(t.Context())
	p := &proxying{t: t, stop: cancel, done: make(chan int, 1), news: make(chan struct{}, 1)}
	go func() {
		s := &streams{In: strings.NewReader(""), Out: p, Err: p}
		root := rootCommand(s)
		root.SetArgs(append([]string{"run", file, "--watch", "--out", filepath.Join(dir, "out")}, flags...))
		p.done <- s.exitWith(root.ExecuteContext(ctx))
	}()
	return &watchedRun{p, dir}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// times waits until something was said so many times.
func (w *watchedRun) times(n int, what string) {
	w.t.Helper()
	w.awaitStderr(regexp.MustCompile(fmt.Sprintf(`(?s)(%s.*){%d}`, what, n)))
}

// TestWatch: a change of the profile has the target judged again, a mistake in it is told and mended, and Ctrl-C ends
// with the exit code of the last run.
func TestWatch(t *testing.T) {
	profile := "protocol: session-chat\nurl: " + chatServer(t, "") + "\n"
	w := startWatch(t, profile, "--tags", "@SC-044", "-q")
	w.times(1, "INCOMPLETE .*watching 1 file; Ctrl-C ends")
	put(t, filepath.Join(w.folder, "my.yaml"), profile+"name: renamed\n")
	w.times(1, `my.yaml changed: judging again\n.*INCOMPLETE .*watching`)
	put(t, filepath.Join(w.folder, "my.yaml"), profile+"nam: renamed\n")
	w.times(1, `my.yaml:3:1: unknown key "nam".*watching`)
	put(t, filepath.Join(w.folder, "my.yaml"), profile+"name: mended\n")
	w.times(3, "INCOMPLETE ")
	w.times(4, "watching 1 file")
	w.stop()
	if code := <-w.done; code != 5 {
		t.Errorf("exit %d, want that of the last run:\n%s", code, w.stderrText())
	}
	if res := resultsIn(t, filepath.Join(w.folder, "out")); res.Runs[0].Target.Name != "mended" {
		t.Errorf("the results are of %s", res.Runs[0].Target.Name)
	}
}

// TestWatchCancels: a change ends the run in progress, which says nothing of what it found.
func TestWatchCancels(t *testing.T) {
	profile := "protocol: session-chat\nurl: "
	w := startWatch(t, profile+silent(t)+"\n")
	w.times(1, `scenarios of session-chat against my over ws`)
	put(t, filepath.Join(w.folder, "my.yaml"), profile+chatServer(t, "")+"\n")
	w.times(1, "watching 1 file")
	text := w.stderrText()
	if strings.Count(text, "judging again") != 1 || strings.Count(text, "INCOMPLETE  ") != 1 ||
		strings.Contains(text, "interrupted before its end") {
		t.Errorf("the run that was ended:\n%s", text)
	}
	w.stop()
	if code := <-w.done; code != 5 {
		t.Errorf("exit %d:\n%s", code, w.stderrText())
	}
}

// silent is the URL of a server that never answers, so that a run against it waits.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// TestWatchInterrupted: Ctrl-C during a run ends it as without --watch.
func TestWatchInterrupted(t *testing.T) {
	w := startWatch(t, "protocol: session-chat\nurl: "+silent(t)+"\n")
	w.times(1, `scenarios of session-chat against my over ws`)
	w.stop()
	if code := <-w.done; code != 130 || !strings.Contains(w.stderrText(), "interrupted before its end") {
		t.Errorf("exit %d:\n%s", code, w.stderrText())
	}
}

// TestWatched: the files of a command, and the folder of a page, are watched; where nothing can change, one line says
// so.
func TestWatched(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"server/lib", "page", "conf"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"server/main.py", "server/lib/a.py", "conf/agents.toml", "page/index.html",
		"known.yaml"} {
		put(t, name, "")
	}
	put(t, "my.yaml", "command:\n  run: [python3, main.py, --port, '{port}']\n  dir: server\n"+
		"  copy: {a: conf/agents.toml}\n")
	for _, tt := range []struct {
		o    runOptions
		want []string
	}{
		{runOptions{target: "my.yaml", out: "out"},
			[]string{"conf/agents.toml", "my.yaml", "server/lib/a.py", "server/main.py"}},
		{runOptions{target: "my.yaml", out: "server/lib", baseline: "known.yaml"},
			[]string{"conf/agents.toml", "known.yaml", "my.yaml", "server/main.py"}},
		{runOptions{target: "page", out: "out"}, []string{"page/index.html"}},
	} {
		w, err := tt.o.watchedFiles()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for path := range w.Look() {
			rel, err := filepath.Rel(here, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.o.target, diff)
		}
	}
	for args, want := range map[string]string{
		"--watch":                "--watch: the bundled targets do not change (name yours)",
		"--watch localhost:3000": "--watch: localhost:3000 has no files to watch (give a profile",
		"--watch my.yaml --write-baseline b.yaml": "--watch: --write-baseline is about one run",
		"--watch --differential my.yaml bundled":  "--differential: --watch applies to one target",
	} {
		if _, errs, code := invoke(t, append([]string{"run"}, strings.Fields(args)...)...); code != 2 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", args, code, errs)
		}
	}
}

// TestRestless: a file that the target writes soon after the start of each of several runs is not watched any more, and
// one that a person changes is.
func TestRestless(t *testing.T) {
	s, often := &streams{Err: new(strings.Builder)}, map[string]int{}
	for i := 1; i < restless; i++ {
		if got := restlessOf(often, []string{"made", "now and then"}, time.Second, s); len(got) > 0 {
			t.Fatalf("after %d runs: %q", i, got)
		}
	}
	restlessOf(often, []string{"made", "late"}, soon+1, s)
	for range restless - 1 {
		if got := restlessOf(often, []string{"made"}, time.Second, s); len(got) > 0 {
			t.Fatalf("after a quiet while: %q", got)
		}
	}
	if got := restlessOf(often, []string{"made", "now and then"}, time.Second, s); len(got) != 1 || got[0] != "made" {
		t.Errorf("restless are %q", got)
	}
}

// TestWatchMissing: a profile that is not there at first is a mistake, and is not waited for.
func TestWatchMissing(t *testing.T) {
	var said strings.Builder
	s := &streams{In: strings.NewReader(""), Out: &said, Err: &said}
	if code := runParley([]string{"run", filepath.Join(t.TempDir(), "none.yaml"), "--watch"}, s); code != 2 {
		t.Errorf("exit %d: %s", code, said.String())
	}
}

// TestHoldsResults: only a folder with the results of a run is left out.
func TestHoldsResults(t *testing.T) {
	dir := t.TempDir()
	if holdsResults(dir) {
		t.Error("an empty folder")
	}
	put(t, filepath.Join(dir, "results.json"), `{"mine": 1}`)
	if holdsResults(dir) {
		t.Error("a file of somebody else")
	}
	put(t, filepath.Join(dir, "results.json"), `{"schema": "`+reports.SchemaID+`"}`)
	if !holdsResults(dir) {
		t.Error("the results of a run")
	}
}
