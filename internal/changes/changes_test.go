package changes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLook: a change of a watched file is seen, and nothing else.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	profile := put(t, dir, "my.yaml", "a")
	page := put(t, dir, "page/index.html", "a")
	w := New([]string{profile, filepath.Join(dir, "later.yaml")}, []string{filepath.Join(dir, "page")},
		[]string{filepath.Join(dir, "page", "out")})
	before := w.Look()
	for _, name := range []string{"beside.yaml", "page/.git/x", "page/node_modules/x.js", "page/out/results.json",
		"page/s.db", "page/s.db-wal", "page/s.sqlite3", "page/server.log", "page/index.html~", "page/__pycache__/x.py"} {
		put(t, dir, name, "new")
	}
	if got := Changed(before, w.Look()); len(got) > 0 {
		t.Errorf("what programs write counts as a change: %q", got)
	}
	made := put(t, dir, "page/more/app.js", "new")
	put(t, dir, "page/index.html", "longer")
	later := put(t, dir, "later.yaml", "new")
	if err := os.Remove(profile); err != nil {
		t.Fatal(err)
	}
	after := w.Look()
	if diff := cmp.Diff([]string{later, profile, page, made}, Changed(before, after)); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
	w.Ignore(later)
	put(t, dir, "later.yaml", "newer still")
	if got := Changed(after, w.Look()); len(got) != 1 || got[0] != later { // it is gone from the state
		t.Errorf("of what is ignored: %q", got)
	}
	if _, ok := w.Look()[later]; ok {
		t.Error("what is ignored is still watched")
	}
}

// TestSameSize: a change that keeps the size is one.
func TestSameSize(t *testing.T) {
	path := put(t, t.TempDir(), "a", "one")
	w := New([]string{path}, nil, nil)
	before := w.Look()
	put(t, filepath.Dir(path), "a", "two")
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := Changed(before, w.Look()); len(got) != 1 {
		t.Errorf("changed: %q", got)
	}
}

// TestWait: it returns with what has changed, and with the error of its context.
func TestWait(t *testing.T) {
	path := put(t, t.TempDir(), "a", "one")
	w := New([]string{path}, nil, nil)
	before := w.Look()
	put(t, filepath.Dir(path), "a", "longer")
	changed, now, err := w.Wait(t.Context(), before)
	if err != nil || len(changed) != 1 || changed[0] != path || now[path].Size != 6 {
		t.Errorf("%q, %v, %v", changed, now, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Wait(ctx, now); err == nil {
		t.Error("it ended without a change")
	}
}

// TestSkip: folders that are skipped, and the files that this program writes, are not watched.
func TestSkip(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.js", "a")
	put(t, dir, "old/x.txt", "a")
	out, err := os.Create(filepath.Join(dir, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := New(nil, []string{dir}, nil)
	w.Skip(func(folder string) bool { return filepath.Base(folder) == "old" })
	w.Outputs(out)
	var got []string
	for path := range w.Look() {
		got = append(got, filepath.Base(path))
	}
	if diff := cmp.Diff([]string{"a.js"}, got); diff != "" {
		t.Error(diff)
	}
}
