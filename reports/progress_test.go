package reports

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/features/verdict"
	"parley/reports/lang"
)

// syncBuffer is a writer that a test may read while the progress writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

func done(id string, o verdict.Outcome) Scenario {
	return Scenario{ID: id, Name: "a name", Driver: "sse", Outcome: o, Reason: "why"}
}

// TestProgressWithdrawn: a failure that does not stand is taken back in words and in the counts, and what is found
// when the scenario runs again is told.
func TestProgressWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w syncBuffer
		p := NewProgress(&w, ProgressOptions{Total: 4})
		p.Start()
		p.ScenarioDone(done("1", verdict.Failed))
		p.ScenarioWithdrawn(done("1", verdict.Failed))
		p.ScenarioDone(done("2", verdict.Passed))
		p.ScenarioDone(done("1", verdict.Passed))
		p.Stop()
		want := strings.Join([]string{
			"failed  1 a name (sse): why",
			" 25 %  1 of 4 scenarios  1 failed  0.0 ms",
			"withdrawn  1 a name (sse): another scenario may have caused it; it is judged again alone",
			" 50 %  2 of 4 scenarios  2 passed  0.0 ms", ""}, "\n")
		if got := w.take(); got != want {
			t.Errorf("%s\nwant:\n%s", got, want)
		}
	})
}

func TestProgressPiped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w syncBuffer
		p := NewProgress(&w, ProgressOptions{Total: 8, Color: true})
		p.Start()
		for i := range 8 {
			time.Sleep(time.Second)
			o := verdict.Passed
			if i == 2 {
				o = verdict.Failed
			}
			if i == 3 {
				o = verdict.Warned
			}
			p.ScenarioDone(done(fmt.Sprintf("1-%02d", i), o))
		}
		p.Note("a note\nin two lines \x1b[2J")
		p.Stop()
		want := strings.Join([]string{
			" 25 %  2 of 8 scenarios  2 passed  2.0 s",
			"failed  1-02 a name (sse): why",
			" 50 %  4 of 8 scenarios  2 passed · 1 warned · 1 failed  4.0 s",
			" 75 %  6 of 8 scenarios  4 passed · 1 warned · 1 failed  6.0 s",
			"100 %  8 of 8 scenarios  6 passed · 1 warned · 1 failed  8.0 s",
			`a note\nin two lines \x1b[2J`,
			"",
		}, "\n")
		if got := w.take(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

// TestProgressQuarters: a short run skips quarters, an unknown total has none, and scenarios beyond the total add
// none.
func TestProgressQuarters(t *testing.T) {
	for total, want := range map[int]string{0: "", 1: "100", 2: " 50 100", 5: " 25 50 75 100"} {
		var w bytes.Buffer
		p := NewProgress(&w, ProgressOptions{Total: total})
		p.Start()
		for range 7 {
			p.ScenarioDone(done("1-01", verdict.Passed))
		}
		p.Stop()
		var got []string
		for line := range strings.Lines(w.String()) {
			got = append(got, strings.Fields(line)[0])
		}
		if s := strings.Join(got, " "); s != strings.TrimSpace(want) {
			t.Errorf("total %d: %s, want %s", total, s, want)
		}
	}
}

func TestProgressTTY(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w syncBuffer
		p := NewProgress(&w, ProgressOptions{TTY: true, Total: 4, Width: 72})
		p.Start()
		if got, want := w.take(), eraseLine+"[--------------------] 0/4  0:00  "; got != want {
			t.Errorf("first line %q, want %q", got, want)
		}
		p.ScenarioDone(done("1-01", verdict.Failed))
		time.Sleep(61 * time.Second)
		synctest.Wait()
		last := lastLine(w.take())
		if want := "[#####---------------] 1/4  1:01  1 failed  1-01 a name"; last != want {
			t.Errorf("line %q, want %q", last, want)
		}
		p.Note("a note")
		if got, want := w.take(), eraseLine+"a note\n"+eraseLine+last; got != want {
			t.Errorf("note %q, want %q", got, want)
		}
		p.Stop()
		if got := w.take(); got != eraseLine {
			t.Errorf("Stop leaves %q", got)
		}
	})
}

// TestProgressTTYWidth: the line never fills the terminal, whatever the scenario's name and the counts.
func TestProgressTTYWidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, width := range []int{20, 40, 80} {
			var w syncBuffer
			p := NewProgress(&w, ProgressOptions{TTY: true, Total: 3, Width: width})
			p.Start()
			for _, o := range verdict.Outcomes {
				s := done("1-01", o)
				s.Name = nasty + strings.Repeat("切换", 40)
				p.ScenarioDone(s)
			}
			time.Sleep(time.Second)
			p.Stop()
			for part := range strings.SplitSeq(w.take(), eraseLine) {
				if n := columnWidth(part); n >= width || strings.ContainsAny(part, "\n\x00\x1b") {
					t.Errorf("width %d: %d columns in %q", width, n, part)
				}
			}
		}
	})
}

func lastLine(s string) string {
	parts := strings.Split(s, eraseLine)
	return parts[len(parts)-1]
}

func TestProgressIsSilentOutsideOfItsTime(t *testing.T) {
	for _, tty := range []bool{false, true} {
		var w syncBuffer
		p := NewProgress(&w, ProgressOptions{TTY: tty, Total: 1})
		p.Note("too early")
		if got := w.take(); got != "" {
			t.Errorf("tty %v: before Start: %q", tty, got)
		}
		p.Start()
		p.Stop()
		w.take()
		p.ScenarioDone(done("1-01", verdict.Failed))
		p.Note("too late")
		p.Stop()
		if got := w.take(); got != "" {
			t.Errorf("tty %v: after Stop: %q", tty, got)
		}
	}
}

func TestProgressConcurrently(t *testing.T) {
	for _, tty := range []bool{false, true} {
		var w bytes.Buffer // guarded by the progress itself until Stop
		p := NewProgress(&w, ProgressOptions{TTY: tty, Total: 800})
		p.Start()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 100 {
					p.ScenarioDone(done("1-01", verdict.Failed))
					p.Note("note")
				}
			})
		}
		all.Wait()
		p.Stop()
		if n := strings.Count(w.String(), "note\n"); n != 800 {
			t.Errorf("tty %v: %d notes, want 800", tty, n)
		}
	}
}

// TestProgressWaits: while a scenario waits for what is owed, the live line says so in the place of the latest
// scenario, in the language of the run; elsewhere nothing is added.
func TestProgressWaits(t *testing.T) {
	const wait = "waiting for agent_switched to client A from the server, 12 s, AS-042 AS-043; Ctrl-C"
	for _, row := range []struct {
		o    ProgressOptions
		says string
		want string
	}{
		{ProgressOptions{TTY: true, Width: 200}, wait, wait},
		{ProgressOptions{TTY: true, Width: 200, Lang: lang.Chinese}, wait,
			"等待 server 发送 agent_switched to client A，12 秒，AS-042 AS-043；按 Ctrl-C 结束"},
		{ProgressOptions{TTY: true, Width: 200, Lang: lang.Chinese},
			"waiting for agent_switched, 2 s; the server owes a pong, X-001; Ctrl-C",
			"等待 agent_switched，2 秒；server 应发送 a pong，X-001；按 Ctrl-C 结束"},
		{ProgressOptions{TTY: true, Width: 200}, "", "1 a name"},
		{ProgressOptions{}, wait, ""},
	} {
		var w syncBuffer
		p := NewProgress(&w, row.o)
		p.ScenarioDone(done("1", verdict.Passed))
		p.ShowWaits(func() string { return "" })
		p.ShowWaits(func() string { return row.says })
		p.Start()
		p.Stop()
		if got := w.take(); !strings.Contains(got, row.want) || row.want == "" && got != "" ||
			row.says != "" && strings.Contains(got, "a name") {
			t.Errorf("%q: %q, want %q", row.says, got, row.want)
		}
	}
}
