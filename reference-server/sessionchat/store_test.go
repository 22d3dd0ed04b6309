package sessionchat

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, o Options) Store {
	t.Helper()
	s, err := OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func save(t *testing.T, s Store, key, session string, turns ...*Turn) {
	t.Helper()
	for _, turn := range turns {
		if err := s.Save(t.Context(), key, session, turn); err != nil {
			t.Fatal(err)
		}
	}
}

func lookup(t *testing.T, s Store, key string) Record {
	t.Helper()
	r, found, err := s.Lookup(t.Context(), key)
	if err != nil || !found {
		t.Fatalf("lookup %q: %v, %v", key, found, err)
	}
	return r
}

func TestStore(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "odd ?name%41#.db")} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{DB: file, Limits: Limits{History: 3, HistoryBytes: 1000}})
			if _, found, err := s.Lookup(t.Context(), "k"); found || err != nil {
				t.Errorf("empty: %v, %v", found, err)
			}
			save(t, s, "k", "s1", nil)
			save(t, s, "k\x00", "s2", nil)
			save(t, s, "K", "s3", nil)
			if diff := cmp.Diff(Record{SessionID: "s1"}, lookup(t, s, "k")); diff != "" {
				t.Error(diff)
			}
			one, two := &Turn{1, "\x00 hi\u2028", "", ""}, &Turn{2, "b", "c", "success"}
			save(t, s, "k", "s1", one, two)
			one.Answer, one.Outcome = "there\x00", "interrupted"
			save(t, s, "k", "s4", one)
			if diff := cmp.Diff(Record{"s4", []Turn{*one, *two}}, lookup(t, s, "k")); diff != "" {
				t.Error(diff)
			}
			save(t, s, "k", "s4", &Turn{N: 3, Content: "3"}, &Turn{N: 4, Content: "4"})
			if r := lookup(t, s, "k"); len(r.Turns) != 3 || r.Turns[0].N != 2 {
				t.Errorf("beyond the limit: %+v", r)
			}
			save(t, s, "k", "s4", &Turn{N: 5, Content: strings.Repeat("x", 2000)})
			if r := lookup(t, s, "k"); len(r.Turns) != 1 || r.Turns[0].N != 5 {
				t.Errorf("beyond the bytes: %d turns", len(r.Turns))
			}
			if r := lookup(t, s, "k\x00"); r.SessionID != "s2" || len(r.Turns) != 0 {
				t.Errorf("another key: %+v", r)
			}
			if file != "" {
				private(t, file)
			}
		})
	}
}

// private fails if others than the owner may read a database's files.
func private(t *testing.T, file string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(files) != 3 { // with -wal and -shm
		t.Errorf("files %q, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

// Saved data is on the disk before any client is notified, unless the file is temporary.
func TestStoreSynced(t *testing.T) {
	for unsynced, want := range map[bool]int{false: 2, true: 0} { // FULL, OFF
		s := open(t, Options{DB: filepath.Join(t.TempDir(), "s.db"), Unsynced: unsynced}).(*sqliteStore)
		var got int
		if err := s.db.QueryRow(`PRAGMA synchronous`).Scan(&got); err != nil || got != want {
			t.Errorf("unsynced %v: synchronous is %d, %v", unsynced, got, err)
		}
	}
}

func TestStoreFull(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "full.db")} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{DB: file, Limits: Limits{Database: 256 << 10}})
			save(t, s, "k", "s", &Turn{N: 1, Content: "kept"})
			var err error
			for n := 2; err == nil && n < 100; n++ {
				err = s.Save(t.Context(), "k", "s", &Turn{N: n, Content: strings.Repeat("x", 32<<10)})
			}
			if !errors.Is(err, ErrFull) {
				t.Errorf("full: %v", err)
			}
			if r := lookup(t, s, "k"); r.Turns[0].Content != "kept" {
				t.Errorf("what was there: %+v", r.Turns[0])
			}
		})
	}
}

// execute runs SQL on a file, as another program would.
func execute(t *testing.T, file, statements string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestOpenStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	execute(t, in("newer.db"), `CREATE TABLE sessions (id); PRAGMA user_version = 2`)
	execute(t, in("other.db"), `CREATE TABLE cats (name)`)
	execute(t, in("old.db"), `PRAGMA user_version = -1`)
	if err := os.WriteFile(in("text.db"), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ file, want string }{
		{in("newer.db"), "schema 2"},
		{in("other.db"), "another program"},
		{in("old.db"), "another program"},
		{in("text.db"), "not a database"},
		{in("none/x.db"), "there is no folder " + in("none")},
		{dir, "is a directory"},
		{"a\x00b", "invalid argument"},
	} {
		before := contents(t, row.file)
		s, err := New(Options{DB: row.file})
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.file) {
			t.Errorf("%q: %v", row.file, err)
		}
		if err == nil {
			_ = s.Close(t.Context())
		}
		if after := contents(t, row.file); after != before {
			t.Errorf("%s was changed", row.file)
		}
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	var readable *fs.PathError
	if err != nil && !errors.As(err, &readable) {
		t.Fatal(err)
	}
	return string(data)
}

// Two servers may open the same new file concurrently.
func TestOpenStoreTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "both.db")
	errs := make(chan error)
	for range 4 {
		go func() {
			s, err := OpenStore(Options{DB: file})
			if err == nil {
				err = errors.Join(s.Save(context.Background(), "k", "s", nil), s.Close())
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
