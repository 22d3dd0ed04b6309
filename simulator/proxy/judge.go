package proxy

import (
	"maps"
	"slices"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// Pace of judging while traffic passes: after a lull, and for at most a share of the time.
const (
	lull  = 500 * time.Millisecond
	share = 10

	mostSkipped = 10 // lulls that may be skipped while many records arrive
)

// judgeOn judges while traffic passes, and releases the tapes of connections that have ended.
func (p *Proxy) judgeOn() {
	timer := time.NewTimer(lull)
	defer timer.Stop()
	for skipped := 0; ; {
		select {
		case <-p.stop:
			return
		case <-timer.C:
		case <-p.many:
		}
		if skipped < mostSkipped && p.queue.backlog() {
			skipped++
			timer.Reset(lull)
			continue
		}
		skipped = 0
		began := time.Now()
		p.look()
		timer.Reset(max(lull, share*time.Since(began)))
	}
}

// look judges new records.
func (p *Proxy) look() {
	p.judging.Lock()
	defer p.judging.Unlock()
	p.mu.Lock()
	all := slices.Clone(p.all)
	var over []*tape
	p.tapes = slices.DeleteFunc(p.tapes, func(one *tape) bool {
		ended := one.name != "" && !p.open[one.name] || len(p.tapes)-len(over) > maxTapes
		if ended {
			over = append(over, one)
		}
		return ended
	})
	all = append(all, p.tapes...)
	p.mu.Unlock()
	for _, one := range over {
		p.end(one)
	}
	for _, one := range all {
		// monitors see nothing new of a tape that is longer than what a run keeps
		if n := one.t.Len(); n == one.judgedTo || one.judgedTo > transcript.MaxRecords {
			continue
		}
		judged, failures, _ := one.judge()
		p.tell(one, failures)
		p.weigh(judged)
	}
}

// tell reports new findings. The caller holds p.judging.
func (p *Proxy) tell(one *tape, failures []steps.Failure) {
	for _, f := range failures {
		key := [3]string{one.role.Name, f.Monitor, f.Clause}
		if p.told[key] {
			continue
		}
		p.told[key] = true
		p.broken.Add(1)
		if p.o.Found != nil {
			redact := p.secrets.redactor()
			f.Expected, f.Observed, f.Diff = redact.String(f.Expected), redact.String(f.Observed), redact.String(f.Diff)
			at := transcript.Record{}
			if page := one.t.Page(f.At-1, 1); f.At > 0 && len(page) > 0 {
				at = page[0]
			}
			p.o.Found(Found{one.role.Name, f, at})
		}
	}
}

// end makes the final judgement on a tape, and releases it. The caller holds p.judging.
func (p *Proxy) end(one *tape) {
	judged, failures, whole := one.judge()
	p.tell(one, failures)
	p.weigh(judged)
	if p.o.Ended != nil {
		p.o.Ended(Ended{Role: one.role.Role, Conn: one.name, T: one.t, Judged: judged, Failures: failures,
			Whole: whole && one.t.Overflow() == 0, Partly: one.partly(), Duration: time.Since(one.t.Began()),
			Redact: p.secrets.redactor()})
	}
	_ = one.t.Close()
}

// worst has the worst outcome of each clause.
type worst struct {
	mu sync.Mutex
	of verdict.Worst
}

// weigh notes outcomes. The caller holds p.judging.
func (p *Proxy) weigh(judged []verdict.Judgement) {
	p.worst.mu.Lock()
	changed := false
	for _, j := range judged {
		changed = p.worst.of.Take(j.Clause, j.Outcome) || changed
	}
	p.worst.mu.Unlock()
	if changed && p.o.Judged != nil {
		p.o.Judged()
	}
}

// Outcomes returns the worst outcome so far of each clause that was judged. Those of Ended are final.
func (p *Proxy) Outcomes() map[string]verdict.Outcome {
	p.worst.mu.Lock()
	defer p.worst.mu.Unlock()
	return maps.Clone(p.worst.of)
}

// Worst merges the outcomes of several proxies: it returns the worst outcome of each clause.
func Worst(all ...map[string]verdict.Outcome) map[string]verdict.Outcome {
	out := verdict.Worst{}
	for _, one := range all {
		for clause, o := range one {
			out.Take(clause, o)
		}
	}
	return out
}

// Check judges all traffic so far. When it returns, Found and Judged have been called for it.
func (p *Proxy) Check() {
	p.queue.settle()
	p.look()
}
