package simulator_test

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
	"parley/transport/transcript"
)

// exchange performs a switch, and returns its records without the values specific to this session.
func exchange(tb testing.TB, s *simulator.Session) []transcript.Record {
	tb.Helper()
	for _, text := range []string{"client A is connected", "client A has a session"} {
		if got, err := s.Do(tb.Context(), text, steps.StepArg{}); err != nil || got.Err != nil {
			tb.Fatal(err, got.Err)
		}
	}
	mark := s.Transcript().Len()
	for _, text := range []string{`client A switches to "debugger"`, `client A is switched to "debugger"`} {
		if got, err := s.Do(tb.Context(), text, steps.StepArg{}); err != nil || got.Err != nil {
			tb.Fatal(err, got.Err)
		}
	}
	var all []transcript.Record
	for _, r := range s.Transcript().After(mark) {
		all = append(all, transcript.Record{Conn: r.Conn, Dir: r.Dir, Kind: r.Kind, Label: r.Label, Status: r.Status,
			Type: r.Type, Bytes: r.Bytes})
	}
	return all
}

// stream appends records of an exchange until the transcript has n.
func stream(s *simulator.Session, of []transcript.Record, n int) {
	t := s.Transcript()
	for i := 0; t.Len() < n; i++ {
		t.Append(of[i%len(of)])
	}
}

// wrong is a message that breaks a clause judged by a monitor of single records.
var wrong = transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
	Bytes: []byte(`{"type":"agent_switched","data":{"currentAgentId":7}}`)}

// follower collects what Follow reports.
type follower struct {
	mu      sync.Mutex
	records int
	last    int
	found   map[string]bool // monitor and clause
	news    chan struct{}
}

func follow(t *testing.T, s *simulator.Session) *follower {
	t.Helper()
	f := &follower{found: map[string]bool{}, news: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		s.Follow(ctx, 0, func(e simulator.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if e.Record == nil {
				f.found[e.Failure.Monitor+" "+e.Failure.Clause] = true
			} else {
				if e.Record.N != f.last+1 {
					t.Errorf("record %d comes behind %d", e.Record.N, f.last)
				}
				f.records, f.last = f.records+1, e.Record.N
			}
			select {
			case f.news <- struct{}{}:
			default:
			}
		})
	})
	t.Cleanup(func() { stop(); group.Wait() })
	return f
}

// until waits until something holds.
func (f *follower) until(t *testing.T, holds func(*follower) bool) {
	t.Helper()
	for {
		f.mu.Lock()
		ok := holds(f)
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-f.news:
		case <-t.Context().Done():
			t.Fatal("it never comes")
		}
	}
}

// TestMonitorsAtTheEnd: the findings made during a session are those of its result, and those of a run.
func TestMonitorsAtTheEnd(t *testing.T) {
	s := open(t, "agent-select")
	of := exchange(t, s)
	f := follow(t, s)
	stream(s, of, 3000)
	s.Transcript().Append(wrong)
	f.until(t, func(f *follower) bool { return f.found["agent-switched-shape AS-084"] })
	stream(s, of, 6000)
	res := s.Close()
	f.until(t, func(f *follower) bool { return f.last == s.Transcript().Len() })
	want := map[string]bool{}
	for _, one := range res.Failures {
		if one.Monitor != "" {
			want[one.Monitor+" "+one.Clause] = true
		}
	}
	f.until(t, func(f *follower) bool { return len(f.found) >= len(want) })
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := slices.Sorted(maps.Keys(f.found)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("found on the way %q, at the end %v", got, want)
	}
	if len(res.Records) != s.Transcript().Len() {
		t.Errorf("judged %d records of %d", len(res.Records), s.Transcript().Len())
	}
	for _, j := range res.Monitors {
		if got := s.Outcomes()[j.Clause]; got != j.Outcome && got != "warned" && got != "failed" {
			t.Errorf("%s is %s, and %s at the end", j.Clause, got, j.Outcome)
		}
	}
}

// TestThirtyMinutes: the records of 30 minutes at 200 a second do not increase memory use, and a mistake at their end
// is found. Under the race detector it is a sixth of them.
func TestThirtyMinutes(t *testing.T) {
	tier.Night(t)
	const begun, step = 20_000, 20_000
	all := 30 * 60 * 200
	if raced {
		all /= 6 // all of them without the race detector: see the Makefile
	}
	s := open(t, "agent-select")
	of := exchange(t, s)
	f := follow(t, s)
	stream(s, of, begun)
	f.until(t, func(f *follower) bool { return f.last >= begun })
	before := heap()
	most := before
	for n := begun + step; n <= all; n += step {
		stream(s, of, n)
		f.until(t, func(f *follower) bool { return f.last >= n })
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
	}
	s.Transcript().Append(wrong)
	f.until(t, func(f *follower) bool { return f.found["agent-switched-shape AS-084"] })
	after := heap()
	t.Logf("MiB in use: %d after %d records, %d after %d, at most %d with garbage", before>>20, begun, after>>20, all,
		most>>20)
	if after > before+32<<20 {
		t.Errorf("%d MiB are in use after %d records, %d MiB after %d", after>>20, all, before>>20, begun)
	}
	if most > 768<<20 {
		t.Errorf("%d MiB were in use", most>>20)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last <= all || s.Transcript().Overflow() != 0 {
		t.Errorf("%d records were followed; %d were lost", f.last, s.Transcript().Overflow())
	}
	if got := s.Transcript().Page(all/2-1, 1); len(got) != 1 || got[0].N != all/2 {
		t.Errorf("record %d is %v", all/2, got)
	}
}

// TestNowhereToKeep: a session that cannot store its transcript reports it.
func TestNowhereToKeep(t *testing.T) {
	b := bundled.All.For(protocols.Kinds(), "agent-select", "")
	_, err := simulator.Open(t.Context(), runner.Options{Protocols: protocols.All, Profile: b.Profile,
		Launcher: &thenNowhere{b.Launcher, t}, Brain: b.Brain})
	if err == nil || !strings.Contains(err.Error(), "keep a transcript") {
		t.Errorf("it says %v", err)
	}
}

// thenNowhere launches a target, and then makes the folder for temporary files unavailable.
type thenNowhere struct {
	target.Launcher
	t *testing.T
}

// Launch implements target.Launcher.
func (n *thenNowhere) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	run, err := n.Launcher.Launch(ctx, o)
	n.t.Setenv("TMPDIR", n.t.TempDir()+"/none")
	return run, err
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkFollow measures the path of a record through a session: from its append, through decoding, to Follow, while
// the monitors run.
func BenchmarkFollow(b *testing.B) {
	s := open(b, "agent-select")
	of := exchange(b, s)
	came := make(chan int, 1)
	ctx, stop := context.WithCancel(b.Context())
	var group sync.WaitGroup
	from, want := s.Transcript().Len(), 0
	group.Go(func() {
		s.Follow(ctx, from, func(e simulator.Event) {
			if e.Record != nil {
				select {
				case came <- e.Record.N:
				default:
					<-came
					came <- e.Record.N
				}
			}
		})
	})
	b.ReportAllocs()
	for b.Loop() {
		want = s.Transcript().Append(of[want%len(of)])
	}
	for n := range came {
		if n >= want {
			break
		}
	}
	b.StopTimer()
	stop()
	group.Wait()
}
