package studylog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	wjson "parley/transport/wire/json"
)

func TestLongLine(t *testing.T) {
	fill := func(n int) string { return event(2, "internal", "a", `{"a":"`+strings.Repeat("x", n)+`"}`) }
	room := MaxLine - len(fill(0)) + 1 // the end of the line does not count
	at := Check(strings.NewReader(one("", "")+fill(room)+event(3, "internal", "a", "{}")), Options{})
	if at.Failed() || at.Events != 3 {
		t.Errorf("a line at the limit: %q", failures(at))
	}
	over := Check(strings.NewReader(one("", "")+fill(room+1)+event(3, "internal", "a", "{}")), Options{})
	note := []string{"line 2: a line of more than 8388608 bytes is not judged"}
	if diff := cmp.Diff(note, texts(over.Notes)); diff != "" || over.Failed() || over.Events != 2 || over.Lines != 3 {
		t.Errorf("%d events in %d lines; want(-) got(+):\n%s", over.Events, over.Lines, diff)
	}
	cut := Check(strings.NewReader(strings.TrimSuffix(fill(2*MaxLine), "\n")), Options{Complete: true})
	if cut.Torn != nil || cut.Failed() || len(cut.Notes) != 1 {
		t.Errorf("a long line without an end: %q", failures(cut))
	}
}

// TestDeepLine checks that a line nested deeper than the limit is not a fault, because JSON has no maximum depth.
func TestDeepLine(t *testing.T) {
	deep := func(n int) string {
		return event(2, "internal", "a", `{"a":`+strings.Repeat("[", n)+strings.Repeat("]", n)+"}")
	}
	at := Check(strings.NewReader(deep(wjson.MaxDepth-2)), Options{Complete: true})
	if at.Failed() || at.Events != 1 || len(at.Notes) != 0 {
		t.Errorf("a line at the limit: %q %q", failures(at), texts(at.Notes))
	}
	for _, n := range []int{wjson.MaxDepth - 1, 20_000} {
		over := Check(strings.NewReader(deep(n)), Options{Complete: true})
		if diff := cmp.Diff([]string{"line 1: a line nested deeper than 1000 is not judged"},
			texts(over.Notes)); diff != "" || over.Failed() || over.Events != 0 {
			t.Errorf("%d deep: failures %q; want(-) got(+):\n%s", n, failures(over), diff)
		}
	}
}

// endless is a log that is generated while it is read, and never held in memory.
type endless struct {
	line func(n int) string
	n    int
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.n++
		if e.rest = e.line(e.n); e.rest == "" {
			return 0, io.EOF
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestWindow checks that the window is bounded, and that what falls out of it is judged as at the end of the log.
func TestWindow(t *testing.T) {
	rows := []struct {
		reason string
		lines  []string // payload and direction
		want   []int    // lines that break EA-091
	}{
		{"a line falls out of it once as many others came", []string{"a out", "b in", "c in", "a in"}, nil},
		{"and its copy comes too late then", []string{"a out", "b in", "c in", "d in", "a in"}, []int{1}},
		{"the oldest goes first", []string{"a out", "b out", "c out", "d in", "b in", "c in"}, []int{1}},
		{"it turns round", []string{"a in", "b in", "c in", "d out", "e in", "f in", "g in", "d in"}, []int{4}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w, b := newWindow(3), newBook()
			for i, l := range r.lines {
				payload, direction, _ := strings.Cut(l, " ")
				w.line(b, sumOf("tool.call", payload), "tool.call", direction, false, i+1)
			}
			w.end(b)
			var got []int
			for _, f := range b.broken {
				got = append(got, f.Line)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestMany checks that findings are bounded and counted.
func TestMany(t *testing.T) {
	const n = 10 * MaxFindings
	got := Check(&endless{line: func(i int) string {
		if i > n {
			return ""
		}
		return event(i, "out", "tool.call", fmt.Sprintf(`{"n":%d}`, i))
	}}, Options{})
	if got.Clauses["EA-091"] != (Tally{Broken: n}) || got.Dropped != n-MaxFindings || len(failures(got)) != MaxFindings ||
		got.Clauses["EA-088"].Kept != n-1 {
		t.Errorf("%d dropped of %+v, %d kept", got.Dropped, got.Clauses, len(failures(got)))
	}
	twice := Check(&endless{line: func(i int) string {
		if i > n {
			return ""
		}
		direction := "in"
		if i%2 == 0 {
			direction = "out"
		}
		return event(i, direction, "tool.call", fmt.Sprintf(`{"n":%d}`, (i-1)/2))
	}}, Options{})
	if twice.Failed() {
		t.Errorf("sent on: %q", failures(twice))
	}
	sessions := Check(&endless{line: func(i int) string {
		if i > 100 {
			return ""
		}
		return event(i, "internal", "a", "{}", "s-1", fmt.Sprint("s-", i))
	}}, Options{})
	if len(sessions.Sessions) != maxSessions || sessions.Session != "s-1" ||
		sessions.Clauses["EA-086"] != (Tally{100, 0}) {
		t.Errorf("sessions %q, %+v", sessions.Sessions, sessions.Clauses["EA-086"])
	}
}

func TestUnreadable(t *testing.T) {
	bad := errors.New("bad disk")
	got := Check(io.MultiReader(strings.NewReader(one("", "")+`{"sess`), iotest.ErrReader(bad)), Options{Complete: true})
	if !errors.Is(got.Err, bad) || !got.Failed() || kept(got) != fine || got.Err.Error() != "read line 2: bad disk" {
		t.Errorf("err %v, kept %q", got.Err, kept(got))
	}
	none := Check(iotest.ErrReader(bad), Options{Complete: true})
	if len(none.Findings) != 0 || none.Err == nil {
		t.Errorf("findings of what could not be read: %q", failures(none))
	}
}
