package spread

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/reference-server/catalogue"
	"parley/reports"
	"parley/simulator/load"
	"parley/steps/protocols"
)

// loadOf returns a load of the bundled server of a protocol, with a fault or "", as a process of its own.
func loadOf(protocol, fault string, sessions int) load.Options {
	sub := bundled.All.Separate(protocols.Kinds(), protocol, "", fault, 2*sessions)
	return load.Options{Protocols: protocols.All, Profile: sub.Profile, Launcher: sub.Launcher, Brain: sub.Brain,
		Source: load.Source{Protocol: protocol}, Sessions: sessions, Duration: 2 * time.Second, Rate: float64(sessions),
		Timeout: time.Minute, Salt: "test"}
}

// crew returns a crew whose processes are this program.
func crew(t *testing.T, o Options) *Crew {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command, o.Suite = []string{self}, protocols.All.Digest()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func carryOut(t *testing.T, o load.Options, c *Crew) *reports.Results {
	t.Helper()
	o.Crew = c
	res, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSpread: three processes together do what one does.
func TestSpread(t *testing.T) {
	o := loadOf("session-chat", "", 20)
	o.Shape = load.Step
	res := carryOut(t, o, crew(t, Options{Workers: 3}))
	l := res.Load
	if res.Exit != verdict.ExitConformant || l.Opened != 20 || l.All.Count != 24 || l.All.Failed > 0 || l.Unfinished > 0 ||
		l.Violations > 0 || l.LostSessions > 0 || l.Memory.Session <= 0 || l.Memory.TargetSession <= 0 || len(l.Steps) != 5 {
		t.Errorf("exit %d: %+v", res.Exit, *l)
	}
	if len(l.Workers) != 3 {
		t.Fatalf("%d workers", len(l.Workers))
	}
	pids, acts, lives, sessions := map[int]bool{}, int64(0), int64(0), ""
	for _, w := range l.Workers {
		pids[w.PID] = true
		acts, lives, sessions = acts+w.Acts, lives+w.Lives, sessions+fmt.Sprint(w.Sessions, " ")
		if w.Opened != w.Sessions || w.Session <= 0 || w.Host != "" || w.Lost != nil {
			t.Errorf("%+v", w)
		}
	}
	if len(pids) != 3 || pids[os.Getpid()] || acts != l.All.Count || lives != l.Lives || sessions != "7 7 6 " {
		t.Errorf("workers %v with %s sessions, %d acts and %d connections of %+v", pids, sessions, acts, lives, *l)
	}
	if passed := res.Runs[0].Totals.Clauses.ByOutcome[verdict.Passed]; passed < 20 {
		t.Errorf("%d clauses passed", passed)
	}
	if said := fmt.Sprint(res.Runs[0].Notes); !strings.Contains(said, "3 workers carried out the load") {
		t.Error(said)
	}
}

// joins collects the process ids of workers as they join.
type joins struct {
	mu   sync.Mutex
	pids []int
}

func (j *joins) tell(line string) {
	var n, pid int
	if _, err := fmt.Sscanf(line, "worker %d (process %d) has joined", &n, &pid); err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.pids = append(j.pids, pid)
	}
}

// hit sends a signal to a worker, the first one being 0.
func (j *joins) hit(t *testing.T, worker int, s syscall.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if worker >= len(j.pids) {
		t.Errorf("only %d workers have joined", len(j.pids))
		return
	}
	if err := syscall.Kill(j.pids[worker], s); err != nil {
		t.Error(err)
	}
}

// TestWorkerKilled: what a worker had done when it was killed counts, the other one ends its part, and the result says
// what is missing, and is not a pass.
func TestWorkerKilled(t *testing.T) {
	o, j := loadOf("agent-select", "", 20), &joins{}
	o.Duration, o.Rate = 5*time.Second, 40
	var once sync.Once
	o.Progress = func(p load.Progress) {
		if p.Phase == "acting" && p.Acts > 80 { // opening is an act, too, and each worker has reported others
			once.Do(func() { j.hit(t, 1, syscall.SIGKILL) })
		}
	}
	res := carryOut(t, o, crew(t, Options{Workers: 2, Tell: j.tell}))
	l := res.Load
	if res.Exit != verdict.ExitIncomplete || l.Opened != 20 || l.LostSessions != 10 || l.Violations > 0 ||
		l.All.Failed > 0 {
		t.Errorf("exit %d: %+v", res.Exit, *l)
	}
	stayed, gone := l.Workers[0], l.Workers[1]
	if stayed.Lost != nil || stayed.Acts != 100 || stayed.Lives < 10 {
		t.Errorf("the worker that stayed: %+v", stayed)
	}
	switch lost := gone.Lost; {
	case lost == nil:
		t.Error("no worker is lost")
	case gone.PID != j.pids[1] || gone.Acts == 0 || lost.Acts == 0 || gone.Acts+lost.Acts != 100 || lost.Since <= 0 ||
		!strings.Contains(lost.Why, "killed"):
		t.Errorf("the worker that was killed: %+v, %+v", gone, *lost)
	}
	if l.All.Count != stayed.Acts+gone.Acts {
		t.Errorf("%d acts of %d and %d", l.All.Count, stayed.Acts, gone.Acts)
	}
	if said := fmt.Sprint(res.Runs[0].Notes); !strings.Contains(said, "was lost with its 10 sessions") {
		t.Error(said)
	}
}

// TestWorkerStopped: a worker that is not heard for too long is lost, and is ended.
func TestWorkerStopped(t *testing.T) {
	o, j := loadOf("session-chat", "", 4), &joins{}
	var once sync.Once
	o.Progress = func(p load.Progress) {
		if p.Phase == "acting" {
			once.Do(func() { j.hit(t, 0, syscall.SIGSTOP) })
		}
	}
	o.Duration = 3 * time.Second
	res := carryOut(t, o, crew(t, Options{Workers: 2, Tell: j.tell, Silence: 5 * time.Second}))
	lost := res.Load.Workers[0].Lost
	if res.Exit != verdict.ExitIncomplete || lost == nil || !strings.Contains(lost.Why, "not heard for") ||
		res.Load.Workers[1].Lost != nil {
		t.Errorf("exit %d: %+v", res.Exit, res.Load.Workers)
	}
	if err := syscall.Kill(j.pids[0], 0); err != syscall.ESRCH {
		t.Errorf("the stopped process is still there: %v", err)
	}
}

// TestViolationOfWorkers: session_ids that only sessions of other workers have are found, and are in the result with
// the connection as evidence. The counter of the faulty server begins again after as many sessions as 3 does not
// divide.
func TestViolationOfWorkers(t *testing.T) {
	o := loadOf("session-chat", "load-ids-wrap", catalogue.Places+32)
	o.Timeout, o.Opening, o.Out = 20*time.Second, 800, t.TempDir()
	if err := os.Mkdir(filepath.Join(o.Out, "transcripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var told []string
	o.Found = func(clause, _ string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, clause)
	}
	res := carryOut(t, o, crew(t, Options{Workers: 3}))
	l, sum := res.Load, int64(0)
	for _, w := range l.Workers {
		sum += w.Violations
	}
	if res.Exit != verdict.ExitNonConformant || res.Verdict != verdict.NonConformant || l.Violations == 0 ||
		l.Violations != sum || l.BrokenLives == 0 || l.LostSessions > 0 || len(l.Unshown) > 0 {
		t.Errorf("exit %d, workers found %d: %+v", res.Exit, sum, *l)
	}
	if !strings.Contains(fmt.Sprint(told), "SC-042") {
		t.Errorf("told were %v", told)
	}
	for _, sc := range res.Runs[0].Scenarios {
		for _, f := range sc.Failures {
			if f.Clause != "SC-042" {
				continue
			}
			if len(f.Excerpt) == 0 || f.At == "" || sc.Transcript == nil {
				t.Errorf("without evidence: %+v", f)
			} else if _, err := os.Stat(filepath.Join(o.Out, sc.Transcript.Path)); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("SC-042 is not broken: %+v", res.Runs[0].Scenarios)
}
