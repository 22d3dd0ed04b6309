package sessionchat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// private fails if others than the owner may read the files of a database.
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

// Two servers may open one new file at the same time.
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

func TestPersistence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	b := start(t, Options{DB: file})
	c := b.dial()
	a1, b1 := c.ask("a", "[[echo a1]]"), c.ask("b", "[[echo b1]]")
	c.held("a", "a2")
	c.held("new", "n1")
	b.close()

	b = start(t, Options{DB: file})
	c = b.dial()
	a := c.ask("a", "[[recall a3]]")
	if a.session != a1.session || a.text() != "a1 a2 (2)" || a.system["resumed"] != true || a.result["num_turns"] != 3.0 {
		t.Errorf("a: %+v", a)
	}
	var roles []string
	for _, m := range b.brain.Requests("a3")[0].Messages {
		roles = append(roles, m.Role+" "+m.Text)
	}
	want := []string{
		"user [[echo a1]]", "assistant [[echo a1]]", "user [[hold a2]]", "assistant holding a2", "user [[recall a3]]",
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
	if again := c.ask("a", "[[recall a4]]"); again.system["resumed"] != false || again.text() != "a1 a2 a3 (3)" {
		t.Errorf("a again: %+v", again)
	}
	if got := c.ask("b", "[[recall b2]]"); got.session != b1.session || got.text() != "b1 (1)" {
		t.Errorf("b: %+v", got)
	}
	if got := c.ask("new", "[[recall n2]]"); got.text() != "n1 (1)" {
		t.Errorf("new: %+v", got)
	}
}

// A database that is locked fails the turn, never the server.
func TestLockedDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	b := start(t, Options{DB: file, Limits: Limits{Store: 20 * time.Millisecond}})
	c := b.dial()
	known := c.ask("known", "[[echo k1]]")
	other := execute(t, file, `BEGIN IMMEDIATE`)
	for _, row := range []struct {
		agentID string
		session any
	}{{"known", known.session}, {"unknown", nil}} {
		c.chat(row.agentID, "[[echo lost]]")
		msg := c.next()
		body := msg["message"].(object)
		if msg["message_type"] != "result" || msg["session_id"] != row.session || body["subtype"] != "error" || body["code"] != StoreFailed {
			t.Errorf("locked: %v", msg)
		}
	}
	if len(b.brain.Requests("lost")) > 0 {
		t.Error("the model was asked")
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if a := c.ask("known", "[[recall k2]]"); a.session != known.session || a.text() != "k1 (1)" {
		t.Errorf("after it: %+v", a)
	}
	c.ask("unknown", "[[echo u1]]")
}

// The turn fails with the store at each of its uses; what is not saved is not told as such.
func TestStoreFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, row := range []struct {
		at      string
		failure error
		code    string
	}{
		{"lookup", broken, StoreFailed}, {"save the start", broken, StoreFailed}, {"save the end", broken, StoreFailed},
		{"save the start", fmt.Errorf("%w: really", ErrFull), "overloaded"},
	} {
		t.Run(row.at, func(t *testing.T) {
			g := gate(t)
			b := start(t, Options{Store: g})
			c := b.dial()
			c.chat("a", "[[echo n1]]")
			for at := ""; at != row.at; {
				at = <-g.arrived
				if at == row.at {
					g.pass <- row.failure
				} else {
					g.pass <- nil
				}
			}
			a := c.turnFrom(answered{}, "a")
			if a.result["subtype"] != "error" || a.result["code"] != row.code || strings.Contains(fmt.Sprint(a.result), "fire") {
				t.Errorf("turn: %+v", a)
			}
			if started := row.at == "save the end"; started != (a.session != "") || started != (a.system != nil) {
				t.Errorf("told of: %+v", a)
			}
			go func() {
				for range g.arrived {
					g.pass <- nil
				}
			}()
			c.ask("a", "[[echo n2]]")
			b.server.balanced(t)
			b.close()
			close(g.arrived)
		})
	}
}
