package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
	"parley/transport/transcript"
)

// hall is a crew whose workers are goroutines. Everything that they say passes through JSON, as it does between
// processes.
type hall struct {
	of   int
	fail func(worker int, d *Collector) bool // called instead of the end of a worker; true: it has failed
}

func (h hall) Size() int { return h.of }

func (h hall) RunTasks(ctx context.Context, tasks []Task, d *Collector) error {
	var workers []*Worker
	for _, t := range tasks {
		w, err := NewWorker(ctx, passed(t), Workshop{Protocols: protocols.All, Bundled: profileOf})
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	d.Begin()
	var open, all sync.WaitGroup
	open.Add(len(workers))
	acts := sync.OnceValue(func() bool { open.Wait(); return d.Opened() })
	for i, w := range workers {
		d.SetProcess(i, 100+i, "")
		all.Go(func() { h.work(ctx, i, w, d, func() bool { open.Done(); return acts() }) })
	}
	all.Wait()
	return nil
}

func (h hall) work(ctx context.Context, n int, w *Worker, d *Collector, opened func() bool) {
	last, err := w.Run(ctx, Link{
		Opened: func(_ context.Context, r Report) bool { _ = d.Report(n, passed(r)); return opened() },
		Report: func(r Report) { _ = d.Report(n, passed(r)) },
		Show:   func(s Shown) error { return d.Show(passed(s)) },
		Claim:  func(c steps.Claim) bool { return d.Claim(passed(c)) },
	})
	switch {
	case err != nil:
		d.Lost(n, err.Error())
	case h.fail != nil && h.fail(n, d):
		_ = d.Report(n, passed(last)) // nobody counts it any more
	default:
		if err := d.Ended(n, passed(last)); err != nil {
			d.Lost(n, err.Error())
		}
	}
}

func profileOf(protocol string) *target.Profile {
	return bundled.All.For(protocols.Kinds(), protocol, "").Profile
}

// passed returns a value as the other side of a connection gets it.
func passed[T any](v T) (out T) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// TestCrew: workers do together what one process does, in each protocol.
func TestCrew(t *testing.T) {
	for _, protocol := range []string{"agent-select", "session-chat", "session-runtime"} {
		t.Run(protocol, func(t *testing.T) {
			o := options(protocol, "")
			o.Sessions, o.Shape, o.Crew, o.Source = 7, Step, hall{of: 3}, Source{Protocol: protocol}
			o.Timeout = time.Minute
			res, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			l := res.Load
			if res.Exit != verdict.ExitConformant || l.Opened != 7 || l.All.Count != 36 || l.All.Failed > 0 ||
				l.Violations > 0 || l.Lives < 7 || len(l.Steps) != steppings || len(l.Workers) != 3 || l.LostSessions > 0 {
				t.Errorf("exit %d: %+v", res.Exit, *l)
			}
			if passed := res.Runs[0].Totals.Clauses.ByOutcome[verdict.Passed]; passed < 20 {
				t.Errorf("%d clauses passed", passed)
			}
		})
	}
}

// TestLostWorker: what a worker has reported and shown counts although it is lost, and what it could not show is named.
func TestLostWorker(t *testing.T) {
	wrong := Shown{Name: "S2.1", Session: 1, Records: []transcript.Record{{N: 1, Conn: "S2.1", Dir: transcript.Received,
		Kind: transcript.Frame, Type: "text", Bytes: []byte(`{"type":"none"}`)}},
		Findings: []verdict.Finding{{Clauses: []string{"SC-020"}, Expected: "right", Observed: "wrong", At: 1}}}
	for _, tt := range []struct {
		name    string
		show    bool
		report  Report
		exit    int
		unshown string
	}{
		{"nothing found", false, Report{Lives: 5}, verdict.ExitIncomplete, "[]"},
		{"found and shown", true, Report{Lives: 5, Violations: 1, Broken: 1, Worst: verdict.Worst{"SC-020": verdict.Failed}},
			verdict.ExitNonConformant, "[]"},
		{"found but not shown", false, Report{Violations: 1, Broken: 1, Worst: verdict.Worst{"SC-020": verdict.Failed}},
			verdict.ExitIncomplete, "[SC-020]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options("session-chat", target.WS)
			o.Source, o.Timeout = Source{Protocol: "session-chat"}, time.Minute
			o.Crew = hall{2, func(worker int, d *Collector) bool {
				if worker == 0 {
					return false
				}
				if tt.show {
					if err := d.Show(passed(wrong)); err != nil {
						t.Error(err)
					}
				}
				if err := d.Report(worker, passed(tt.report)); err != nil {
					t.Error(err)
				}
				d.Lost(worker, "a test")
				return true
			}}
			res, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			l := res.Load
			lost := l.Workers[1].Lost
			if res.Exit != tt.exit || l.LostSessions != 3 || fmt.Sprint(l.Unshown) != tt.unshown || l.Workers[0].Lost != nil ||
				lost == nil || lost.Why != "a test" || lost.Acts != 30 || l.All.Count != 30 {
				t.Errorf("exit %d: %+v", res.Exit, *l)
			}
			said := fmt.Sprint(res.Runs[0].Notes)
			if !strings.Contains(said, "30 acts are not in the figures") ||
				strings.Contains(said, "SC-020 broken") == (tt.unshown == "[]") {
				t.Error(said)
			}
			shown := slices.ContainsFunc(res.Runs[0].Scenarios[0].Failures,
				func(f reports.Failure) bool { return f.Clause == "SC-020" })
			if shown != tt.show {
				t.Errorf("%+v", res.Runs[0].Scenarios[0].Failures)
			}
		})
	}
}

// TestParts: the parts of a load have all of its sessions and acts.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sessions := rapid.IntRange(1, 50).Draw(t, "sessions")
		of := rapid.IntRange(1, sessions).Draw(t, "of")
		s := schedule{float64(rapid.IntRange(1, 100).Draw(t, "rate")),
			time.Duration(rapid.IntRange(1, 9).Draw(t, "s")) * time.Second, rapid.SampledFrom(Shapes).Draw(t, "shape")}
		all, acts := 0, int64(0)
		for n := range of {
			p := Part{n, of}
			all, acts = all+p.sessionShare(sessions), acts+p.actShare(s, sessions)
		}
		if all != sessions || acts != int64(s.countActs()) {
			t.Fatalf("%d sessions and %d acts, want %d and %d", all, acts, sessions, s.countActs())
		}
	})
}

// TestCounts: a histogram is the same after it was sent.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, copied := newHistogram(), newHistogram()
		for _, v := range rapid.SliceOf(rapid.Int64Range(lowest, highest)).Draw(t, "latencies") {
			_ = h.RecordValue(v)
		}
		if err := decodeHistogram(copied, encodeHistogram(h)); err != nil || !h.Equals(copied) {
			t.Fatalf("%v: %d and %d latencies", err, h.TotalCount(), copied.TotalCount())
		}
	})
}

// TestRejected: the collector rejects what no worker says, and takes what one could say.
func TestRejected(t *testing.T) {
	record := transcript.Record{N: 1, Conn: "S1.1", Bytes: []byte("x")}
	shows := func(change func(s *Shown)) error {
		s := Shown{Name: "S1.1", Records: []transcript.Record{record}, Findings: []verdict.Finding{{At: 1}}}
		change(&s)
		return s.checkShown(2)
	}
	says := func(change func(r *Report)) error {
		r := Report{At: 1, Acts: []Timing{{Name: "chat", Latency: []byte{5, 1}}}}
		change(&r)
		return r.checkReport()
	}
	for name, row := range map[string]struct {
		err      error
		accepted bool
	}{
		"a connection":           {shows(func(*Shown) {}), true},
		"no records":             {shows(func(s *Shown) { s.Records = nil }), false},
		"records out of order":   {shows(func(s *Shown) { s.Records = []transcript.Record{record, record} }), false},
		"too many bytes":         {shows(func(s *Shown) { s.Records[0].Bytes = make([]byte, mostBytes+1) }), false},
		"a session too high":     {shows(func(s *Shown) { s.Session = 2 }), false},
		"a finding on no record": {shows(func(s *Shown) { s.Findings[0].At = 2 }), false},
		"a pass as a finding":    {shows(func(s *Shown) { s.Findings[0].OK = true }), false},
		"sound, with a finding":  {shows(func(s *Shown) { s.Sound = true }), false},
		"a report":               {says(func(*Report) {}), true},
		"half a count":           {says(func(r *Report) { r.Acts[0].Latency = []byte{5} }), false},
		"no times":               {says(func(r *Report) { r.Acts[0].Latency = []byte{5, 0} }), false},
		"a latency too long": {says(func(r *Report) {
			r.Acts[0].Latency = []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1}
		}), false},
		"too many acts":   {says(func(r *Report) { r.Acts = make([]Timing, 100) }), false},
		"too many stages": {says(func(r *Report) { r.Stages = make([]Timing, steppings+1) }), false},
		"a negative time": {says(func(r *Report) { r.At = -1 }), false},
		"negative counts": {says(func(r *Report) { r.Violations = -1 }), false},
	} {
		if (row.err == nil) != row.accepted {
			t.Errorf("%s: %v", name, row.err)
		}
	}
}

// TestTasksRefused: a worker refuses tasks that it cannot carry out, and targets beyond its machine unless its host is
// admitted there.
func TestTasksRefused(t *testing.T) {
	good := Task{Part: Part{0, 2}, Source: Source{Protocol: "session-chat"}, Base: "http://127.0.0.1:1", Driver: target.WS,
		Sessions: 4, Rate: 1, Opening: 1, Duration: time.Second, Timeout: time.Second, Shape: Soak, Salt: "x"}
	away := func(t *Task) { t.Base = "http://192.0.2.1:1" }
	for name, row := range map[string]struct {
		change func(t *Task)
		hosts  []string
		want   string // "": it is accepted
	}{
		"good":                   {func(*Task) {}, nil, ""},
		"another machine":        {away, nil, "not on this machine"},
		"another machine, named": {away, []string{"192.0.2.1"}, ""},
		"another one, named":     {away, []string{"192.0.2.2"}, "not on this machine"},
		"no such part":           {func(t *Task) { t.Part.N = 2 }, nil, "part 2 of 2"},
		"no sessions":            {func(t *Task) { t.Sessions = 0 }, nil, "part 0 of 2 of 0"},
		"a wrong profile":        {func(t *Task) { t.Source = Source{Name: "p.yaml", YAML: []byte("ulr: x")} }, nil, "ulr"},
		"a profile": {func(t *Task) {
			t.Source = Source{Name: "p.yaml", Env: map[string]string{"X": "y"},
				YAML: []byte("protocol: session-chat\nurl: http://127.0.0.1:1\nheaders: {X: \"${X}\"}\n")}
		}, nil, ""},
		"headers beside":       {func(t *Task) { t.Source.Headers = map[string]string{"X": "y"} }, nil, ""},
		"wrong headers beside": {func(t *Task) { t.Source.Headers = map[string]string{"X Y": "y"} }, nil, "X Y"},
		"no such authority":    {func(t *Task) { t.Source.TLS = &target.TLS{CA: "/no/such.pem"} }, nil, "such.pem"},
		"an unknown shape":     {func(t *Task) { t.Shape = "wave" }, nil, "--shape"},
	} {
		task := good
		row.change(&task)
		w, err := NewWorker(t.Context(), task, Workshop{Protocols: protocols.All, Hosts: row.hosts,
			Bundled: profileOf})
		if w != nil {
			w.Close()
		}
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
	o := options("session-chat", target.WS)
	o.Crew = hall{of: 7}
	var usage *runner.UsageError
	if _, err := Run(t.Context(), o); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--workers 7") {
		t.Errorf("more workers than sessions: %v", err)
	}
}
