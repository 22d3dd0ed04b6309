package steps

import (
	"context"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// transcript makes the transcript of a scenario.
func (e *Env) transcript(decode func(*transcript.Record)) (*transcript.Transcript, error) {
	if e.Keep == nil {
		return transcript.New(decode), nil
	}
	return transcript.NewSpilling(decode, *e.Keep)
}

// Judge runs the monitors on the records that a run would keep (transcript.First), and returns their findings as if
// the session ended now. whole reports whether these are all records so far. It starts between two steps; steps can
// continue meanwhile.
func (l *Live) Judge(ctx context.Context) (out []verdict.Judgement, failures []Failure, whole bool, err error) {
	var records []transcript.Record
	w, err := l.stopped(ctx, func(w *World) { records, whole = w.T.First() })
	if err != nil {
		return nil, nil, false, err
	}
	for _, m := range l.monitors {
		said, found := w.monitored(m, records)
		out, failures = append(out, said...), append(failures, found...)
	}
	return out, failures, whole, nil
}

// shownBefore is the number of earlier records that JudgeAfter shows to the monitors.
const shownBefore = 1000

// JudgeAfter judges the records after mark with the monitors that judge single records (monitor.PerRecord), and
// returns the number of the last one. Its findings are a subset of those of Judge. Earlier records cost nothing.
func (l *Live) JudgeAfter(ctx context.Context, mark int) (out []verdict.Judgement, failures []Failure, last int,
	err error) {
	w, err := l.stopped(ctx, func(w *World) { last = w.T.Len() })
	if err != nil {
		return nil, nil, mark, err
	}
	for from := mark; from < last; {
		to := min(from+10*shownBefore, last)
		before := max(from-shownBefore, 0)
		records := w.T.Page(before, to-before)
		for _, m := range l.monitors {
			if !m.PerRecord || m.Of != nil {
				continue
			}
			said, found := w.monitored(after(m, from), records)
			out, failures = append(out, said...), append(failures, found...)
		}
		from = to
	}
	return out, failures, last, nil
}

// after limits a monitor to findings on records after mark.
func after(m monitor.Monitor, mark int) monitor.Monitor {
	check := m.Check
	m.Check = func(records []transcript.Record) []verdict.Finding {
		return slices.DeleteFunc(check(records), func(f verdict.Finding) bool { return f.At <= mark })
	}
	return m
}

// stopped waits until no step runs, calls look, and returns a world for the monitors: it has the failures
// of the steps so far, to which the monitors add theirs.
func (l *Live) stopped(ctx context.Context, look func(*World)) (*World, error) {
	w := &World{}
	err := l.order(ctx, func(_ context.Context, r *scenario) {
		w.Env, w.T, w.besides.causes = r.world.Env, r.world.T, slices.Clone(r.world.besides.causes)
		w.failures = slices.Clone(r.world.failures)
		for i := range w.failures {
			w.failures[i].Following = slices.Clone(w.failures[i].Following)
			w.failures[i].others = slices.Clone(w.failures[i].others)
		}
		look(w)
	})
	return w, err
}
