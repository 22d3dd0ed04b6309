package mutants

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/reference-server/sessionchat"
)

func open(t *testing.T, file string) store {
	t.Helper()
	s, err := sessionchat.OpenStore(sessionchat.Options{DB: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func save(t *testing.T, s store, key string, n int) {
	t.Helper()
	if err := s.Save(context.Background(), key, "id of "+key, &turn{N: n, Content: key}); err != nil {
		t.Fatal(err)
	}
}

func lookUp(t *testing.T, s store, key string) (record, bool) {
	t.Helper()
	r, found, err := s.Lookup(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r, found
}

func closeStore(t *testing.T, s store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A store that saves on shutdown keeps everything in memory and loses it unless it is closed.
func TestLateStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	inner := open(t, file)
	s := &late{store: inner, kept: map[string]record{}}
	save(t, s, "red", 1)
	save(t, s, "red", 1)
	save(t, s, "red", 2)
	if r, found := lookUp(t, s, "red"); !found || len(r.Turns) != 2 || r.SessionID != "id of red" {
		t.Errorf("in memory: %v %v", r, found)
	}
	if _, found := lookUp(t, inner, "red"); found {
		t.Error("saved before the end")
	}
	closeStore(t, s)
	again := open(t, file)
	defer closeStore(t, again)
	if r, found := lookUp(t, again, "red"); !found || len(r.Turns) != 2 {
		t.Errorf("after the end: %v %v", r, found)
	}
}

// A store that lags has the end of a turn only later, but always before it is read.
func TestLaggingStore(t *testing.T) {
	inner := open(t, filepath.Join(t.TempDir(), "sessions.db"))
	s := &lagging{store: inner}
	defer closeStore(t, s)
	save(t, s, "red", 1)
	if r, found := lookUp(t, inner, "red"); !found || r.Turns[0].Answer != "" {
		t.Errorf("the beginning of a turn: %v %v", r, found)
	}
	end := turn{N: 1, Content: "red", Answer: "ok", Outcome: "success"}
	if err := s.Save(t.Context(), "red", "id of red", &end); err != nil {
		t.Fatal(err)
	}
	if r, found := lookUp(t, s, "red"); !found || r.Turns[0].Answer != "ok" {
		t.Errorf("its end: %v %v", r, found)
	}
}

// An index has the keys in the order of their use, including those of an earlier process.
func TestIndex(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	x := newIndex(open(t, file))
	for i, key := range []string{"red", "blue", "red", "red", "green"} {
		save(t, x, key, i+1)
	}
	want := []string{"blue", "red", "green"}
	if diff := cmp.Diff(want, x.all()); diff != "" {
		t.Error(diff)
	}
	closeStore(t, x)
	x = newIndex(open(t, file))
	defer closeStore(t, x)
	if diff := cmp.Diff(want, x.all()); diff != "" {
		t.Error(diff)
	}
	if x.ids["red"] != "id of red" {
		t.Errorf("session_id %q", x.ids["red"])
	}

	latest := misled{x, func(x *index, _ string) []string { return x.last() }}
	if r, found := lookUp(t, latest, "nobody"); !found || r.SessionID != "id of green" {
		t.Errorf("the latest: %v %v", r, found)
	}
	another := misled{x, anotherThan}
	if _, found := lookUp(t, another, "nobody"); found {
		t.Error("another session for an agent_id that nobody has used")
	}
	all := misled{x, func(x *index, key string) []string { return x.allIfKnown(key) }}
	if r, found := lookUp(t, all, "red"); !found || r.SessionID != "id of red" || len(r.Turns) != 5 || r.Turns[4].N != 5 {
		t.Errorf("all as one: %v %v", r, found)
	}
}
