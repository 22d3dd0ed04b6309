package load

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"parley/internal/words"
	"parley/reports"
	"parley/steps"
)

// Crew are the workers of a load. Package spread has one.
type Crew interface {
	// Size returns the number of workers, at least 1.
	Size() int

	// RunTasks has the tasks carried out, one by each worker, and tells the collector what they report. It returns when
	// each worker has ended or is lost. An error says that the load could not begin. If ctx ends, the workers end early.
	RunTasks(ctx context.Context, tasks []Task, d *Collector) error
}

// Collector takes what the workers of a load report. Workers have numbers from 0. It is safe for concurrent use.
type Collector struct {
	r      *run
	claims steps.Claims

	mu      sync.Mutex
	parts   []Part
	workers []*workerState
	latest  *hdrhistogram.Histogram // since the last progress
	rest    int64                   // bytes of the target before the first session
	end     func()                  // of what happens beside
}

// workerState is a worker as the collector knows it.
type workerState struct {
	who  reports.LoadWorker
	last Report
	at   time.Duration // of the load, when last came
	over bool          // it has ended or is lost: what comes later does not count
}

// spreadLoad carries the load out with several workers.
func (r *run) spreadLoad(ctx context.Context) (*reports.Results, error) {
	of := r.o.Crew.Size()
	if of > r.o.Sessions {
		return nil, usagef("--workers %d: there are only %s (ask for fewer workers, or for more sessions)", of,
			words.Counted(r.o.Sessions, "session"))
	}
	d := &Collector{r: r, latest: newHistogram(), end: func() {}}
	var tasks []Task
	for n := range of {
		t := r.workerTask(n, of)
		tasks, d.parts = append(tasks, t), append(d.parts, t.Part)
		d.workers = append(d.workers, &workerState{who: reports.LoadWorker{Sessions: t.Part.sessionShare(r.o.Sessions)}})
	}
	r.state = d.progressState
	err := r.o.Crew.RunTasks(ctx, tasks, d)
	d.end()
	r.judge.judgeRest(1)
	if err != nil {
		return nil, err
	}
	d.mergeReports(ctx)
	if r.ready.Load() == 0 && ctx.Err() == nil && r.out.LostSessions == 0 {
		return nil, r.whyUnreachable()
	}
	return r.makeResults(ctx)
}

// Begin says that the workers begin to open their sessions.
func (d *Collector) Begin() {
	r := d.r
	rest := r.memory.ofTarget()
	r.began = time.Now()
	r.phase.Store("opening")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest, d.end = rest, r.sampleBeside()
}

// SetProcess says who a worker is: its process, and its machine if that is not this one.
func (d *Collector) SetProcess(worker, pid int, host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers[worker].who.PID, d.workers[worker].who.Host = pid, host
}

// Report takes a report; the last one of each worker counts. It rejects what no worker reports.
func (d *Collector) Report(worker int, now Report) error {
	if err := now.checkReport(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.workers[worker]; !w.over {
		w.last, w.at = now, d.r.elapsed()
		_ = decodeHistogram(d.latest, now.Latest)
	}
	return nil
}

// Opened says that all workers that are not lost have reported that their sessions are open or have failed to. It
// reports whether acts are to arrive.
func (d *Collector) Opened() bool {
	r, open := d.r, 0
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		open += w.last.Opened
	}
	if open > 0 && d.rest > 0 {
		r.out.Memory.TargetSession = max(r.memory.ofTarget()-d.rest, 0) / int64(open)
	}
	r.phase.Store("acting")
	return open > 0
}

// Show takes a connection that a worker shows. It rejects an invalid one.
func (d *Collector) Show(s Shown) error {
	if err := s.checkShown(d.r.o.Sessions); err != nil {
		return err
	}
	d.r.judge.judgeShown(s)
	return nil
}

// Claim is steps.Claims.Elsewhere of the workers.
func (d *Collector) Claim(c steps.Claim) bool { return d.claims.DecideClaim(c) }

// Ended says that a worker has ended as it should, with its last report. Nothing of it counts after that.
func (d *Collector) Ended(worker int, last Report) error {
	if err := d.Report(worker, last); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers[worker].over = true
	return nil
}

// Lost says that a worker will report nothing more, and why. What it has reported counts.
func (d *Collector) Lost(worker int, why string) {
	r := d.r
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.workers[worker]
	if w.over {
		return
	}
	w.over = true
	w.who.Lost = &reports.LoadLoss{Since: float64(w.at.Microseconds()) / 1000, Why: why,
		Acts: max(d.parts[worker].actShare(r.schedule, r.o.Sessions)-w.last.completedActs(), 0)}
}

// progressState returns the state of the load.
func (d *Collector) progressState() Progress {
	p := Progress{Phase: d.r.phase.Load().(string), Elapsed: d.r.elapsed()}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		p.Acts, p.Errors, p.Violations = p.Acts+w.last.Done, p.Errors+w.last.Failed, p.Violations+w.last.Found
		if !w.over {
			p.Open += w.last.Open
		}
	}
	p.P50, p.P99 = quantileOf(d.latest, 50), quantileOf(d.latest, 99)
	d.latest.Reset()
	return p
}

// mergeReports merges what the workers have reported.
func (d *Collector) mergeReports(ctx context.Context) {
	r := d.r
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Report
	peak := int64(0)
	for _, w := range d.workers {
		last := w.last
		all = append(all, last)
		r.meter.mergeReport(last)
		r.sent.Add(last.Sent)
		r.received.Add(last.Received)
		r.ready.Add(int64(last.Opened))
		r.rested.Add(last.Rested)
		r.unfinished.Add(last.Unfinished)
		r.lag.Store(max(r.lag.Load(), int64(last.Lag)))
		peak += last.Peak
		w.who.Opened, w.who.Acts, w.who.Failed = last.Opened, last.completedActs(), last.Failed
		w.who.Lives, w.who.Violations = last.Lives, last.Violations
		w.who.Session, w.who.Peak = last.Rested/max(int64(last.Opened), 1), last.Peak
		if w.who.Lost != nil {
			r.out.LostSessions += w.who.Sessions
		}
		r.out.Workers = append(r.out.Workers, w.who)
	}
	r.judge.mergeCounts(all)
	r.memory.peak = peak
	r.out.Interrupted = ctx.Err() != nil
	r.out.Unshown = r.judge.unshownClauses()
}
