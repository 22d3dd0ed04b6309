package load

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// Bounds of the judge.
const (
	maxWaiting  = 128 << 20 // bytes of lives that wait to be judged; further ones are only counted
	recordSize  = 240       // of a record without its payload, about
	maxEvidence = 20        // broken lives that are kept, beside one for each clause
)

// judge judges lives. It is safe for concurrent use.
type judge struct {
	codec    *proxy.Codec
	monitors []monitor.Monitor
	own      monitor.Monitor
	tell     func(clause, observed string)

	found64  atomic.Int64 // findings so far
	lives    atomic.Int64
	unjudged atomic.Int64

	mu       sync.Mutex
	more     *sync.Cond
	queue    []*life
	waiting  int // bytes
	closed   bool
	worst    verdict.Worst
	told     map[string]bool
	failures int64
	broken   int64
	evidence []evidence
	shown    map[string]bool // clauses with evidence
	last     *life           // one that broke nothing
	work     sync.WaitGroup
}

// evidence is a life in which clauses were broken.
type evidence struct {
	life     *life
	judged   []verdict.Judgement
	failures []steps.Failure
}

func newJudge(c *proxy.Codec, monitors []monitor.Monitor, own monitor.Monitor,
	tell func(clause, observed string)) *judge {
	j := &judge{codec: c, monitors: monitors, own: own, tell: tell, worst: verdict.Worst{}, told: map[string]bool{},
		shown: map[string]bool{}}
	j.more = sync.NewCond(&j.mu)
	j.work.Go(j.judgeOn)
	return j
}

// found takes a finding of a session on a record of its present life, which the caller guards.
func (j *judge) found(v *life, f verdict.Finding) {
	if !f.OK {
		v.breaks(f)
		j.found64.Add(1)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range f.Clauses {
		if f.OK {
			j.worst.Take(id, verdict.Passed)
		}
	}
}

// submit has a life judged whose connection has ended.
func (j *judge) submit(v *life) {
	j.mu.Lock()
	defer j.mu.Unlock()
	size := v.bytes + recordSize*len(v.records)
	if j.waiting+size > maxWaiting && len(v.findings) == 0 {
		j.unjudged.Add(1)
		return
	}
	j.waiting += size
	j.queue = append(j.queue, v)
	j.more.Signal()
}

// close judges what waits, with all processors, and returns when that is done.
func (j *judge) close(workers int) {
	j.mu.Lock()
	j.closed = true
	j.more.Broadcast()
	j.mu.Unlock()
	for range workers - 1 {
		j.work.Go(j.judgeOn)
	}
	j.work.Wait()
}

// judgeOn judges lives until the judge is closed and none waits.
func (j *judge) judgeOn() {
	for {
		j.mu.Lock()
		for len(j.queue) == 0 && !j.closed {
			j.more.Wait()
		}
		if len(j.queue) == 0 {
			j.mu.Unlock()
			return
		}
		v := j.queue[0]
		j.queue[0] = nil
		j.queue = j.queue[1:]
		j.waiting -= v.bytes + recordSize*len(v.records)
		j.mu.Unlock()
		j.judge(v)
	}
}

// judgements judges a life by all monitors, and by what its session has found.
func (j *judge) judgements(v *life) ([]verdict.Judgement, []steps.Failure) {
	records, decode := slices.Clone(v.records), j.codec.Decoder()
	for i := range records {
		decode(&records[i])
	}
	seen, _ := j.codec.Observed(records)
	own := j.own
	own.Check = func([]transcript.Record) []verdict.Finding { return v.findings }
	return steps.JudgePassively(j.codec.Env, append(slices.Clone(j.monitors), own), seen)
}

// judge judges a life.
func (j *judge) judge(v *life) {
	judged, failures := j.judgements(v)
	j.lives.Add(1)
	if len(v.findings) == 0 {
		j.found64.Add(int64(len(failures)))
	}
	for _, f := range j.settle(v, judged, failures) {
		j.tell(f.Clause, f.Observed)
	}
}

// settle keeps judgements, and returns the first failures on clauses.
func (j *judge) settle(v *life, judged []verdict.Judgement, failures []steps.Failure) (news []steps.Failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range judged {
		j.worst.Take(one.Clause, one.Outcome)
	}
	fresh, binding := false, false
	for _, f := range failures {
		if f.Outcome == verdict.Failed {
			j.failures++
			binding = true
		}
		fresh = fresh || !j.shown[f.Clause]
		if j.shown[f.Clause] = true; !j.told[f.Clause] {
			j.told[f.Clause] = true
			news = append(news, f)
		}
	}
	if binding {
		j.broken++
	}
	switch {
	case len(failures) == 0:
		j.last = v
	case fresh || len(j.evidence) < maxEvidence:
		j.evidence = append(j.evidence, evidence{v, judged, failures})
	}
	return news
}

// violations returns the findings so far. Those of lives that have not ended are among them, as far as their sessions
// have found them.
func (j *judge) violations() int64 { return j.found64.Load() }

// transcriptOf makes the transcript of a life.
func transcriptOf(v *life, began time.Time) *transcript.Transcript {
	t := transcript.NewAt(began, nil)
	for _, r := range v.records {
		t.AppendAt(r, began.Add(r.At))
	}
	return t
}
