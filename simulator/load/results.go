package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// results makes the results of the load.
func (r *run) results(ctx context.Context) (*reports.Results, error) {
	collect, err := runner.NewPassive(runner.PassiveOptions{Protocols: r.o.Protocols, Profile: r.o.Profile,
		URL: r.target.BaseURL(), Roles: []string{r.role.Name}, Strict: r.o.Strict, Out: r.o.Out, Explain: r.o.Explain,
		Through: r.o.Driver, By: "load", Monitors: []monitor.Monitor{r.plan.Judges}})
	if err != nil {
		return nil, err
	}
	redact := transcript.NewRedactor(r.o.Profile.Secrets...)
	for _, e := range r.judge.evidence {
		collect.Add(runner.Observed{Role: r.role.Name, Conn: e.life.name, T: transcriptOf(e.life, r.began), Judged: e.judged,
			Failures: e.failures, Whole: !e.life.cut, Name: "connection " + e.life.name + " under load", Redact: redact})
	}
	if v := r.judge.last; v != nil {
		var all []verdict.Judgement
		for _, id := range slices.Sorted(maps.Keys(r.judge.worst)) {
			if o := r.judge.worst[id]; o == verdict.Passed || o == verdict.NotTested {
				all = append(all, verdict.Judgement{Clause: id, Outcome: o})
			}
		}
		collect.Add(runner.Observed{Role: r.role.Name, Conn: v.name, T: transcriptOf(v, r.began), Judged: all,
			Whole: !v.cut, Redact: redact, Duration: r.now(),
			Name: fmt.Sprintf("%s under load, such as connection %s", words.Counted(r.o.Sessions, "session"), v.name)})
	}
	r.figures()
	out := collect.Results()
	out.Started, out.Duration, out.Load = r.began.UTC(), float64(r.now().Milliseconds()), &r.out
	for _, text := range r.out.Said() {
		out.Runs[0].Notes = append(out.Runs[0].Notes, reports.Note{Kind: "load", Text: text})
	}
	r.conclude(ctx, out)
	return out, nil
}

// figures completes the figures.
func (r *run) figures() {
	f := &r.out
	f.Driver, f.Shape, f.Sessions, f.Rate = r.o.Driver, string(r.o.Shape), r.o.Sessions, r.o.Rate
	f.Duration = float64(r.o.Duration.Milliseconds())
	f.Sent, f.Received = r.sent.Load(), r.received.Load()
	f.Lives, f.Unjudged = r.judge.lives.Load(), r.judge.unjudged.Load()
	f.Violations, f.BrokenLives = r.judge.failures, r.judge.broken
	f.Unfinished, f.Lag = r.unfinished.Load(), time.Duration(r.lag.Load()).Microseconds()
	f.Opened = int(r.ready.Load())
	f.Memory.Session = r.rested.Load() / max(int64(f.Opened), 1)
	f.Memory.Peak, f.Memory.TargetPeak = r.memory.peak, r.memory.targetPeak
	r.meter.tell(f, r.schedule, r.o.Duration)
	f.Thresholds = r.o.Thresholds.judge(f)
}

// judge compares the figures with the thresholds. An act without an answer at the end is an error.
func (t Thresholds) judge(f *reports.Load) (out []reports.LoadThreshold) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	add := func(name string, limit, value float64) {
		out = append(out, reports.LoadThreshold{Name: name, Limit: limit, Value: value, OK: value <= limit})
	}
	for _, q := range []struct {
		name  string
		limit time.Duration
		value float64
	}{{"p50", t.P50, f.All.P50}, {"p99", t.P99, f.All.P99}, {"p99.9", t.P999, f.All.P999}} {
		if q.limit > 0 {
			add(q.name, ms(q.limit), q.value)
		}
	}
	errors := float64(f.All.Failed + f.Unfinished)
	if !t.Percent {
		add("errors", t.Errors, errors)
		return out
	}
	all := float64(f.Unfinished)
	for _, a := range f.Acts {
		all += float64(a.Count)
	}
	add("errors %", t.Errors, 100*errors/max(all, 1))
	return out
}

// conclude sets the exit code: as that of a run, 1 if a threshold was exceeded, and 5 if a part of the load is missing.
func (r *run) conclude(ctx context.Context, out *reports.Results) {
	for _, t := range r.out.Thresholds {
		if !t.OK && (out.Exit == verdict.ExitConformant || out.Exit == verdict.ExitIncomplete) {
			out.Exit = verdict.ExitNonConformant
		}
	}
	missing := r.out.Unjudged > 0 || r.out.LostSessions > 0 || len(r.out.Unshown) > 0
	if missing && out.Exit == verdict.ExitConformant {
		out.Exit = verdict.ExitIncomplete
	}
	if ctx.Err() != nil {
		out.Partial, out.Exit = true, verdict.ExitInterrupted
	}
}
