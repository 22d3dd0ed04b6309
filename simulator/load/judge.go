package load

import (
	"errors"
	"maps"
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
	judged   func(Life)       // nil: no calls
	began    func() time.Time // of the load

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
	shown    map[string]bool  // clauses with evidence
	kept     map[string]int64 // by clause: connections that showed it kept
	last     *life            // one that broke nothing
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
	if tell == nil {
		tell = func(string, string) {}
	}
	j := &judge{codec: c, monitors: monitors, own: own, tell: tell, worst: verdict.Worst{}, told: map[string]bool{},
		shown: map[string]bool{}, kept: map[string]int64{}}
	j.more = sync.NewCond(&j.mu)
	j.work.Go(j.judgeOn)
	return j
}

// addFinding takes a finding of a session on a record of its present life, which the caller guards.
func (j *judge) addFinding(v *life, f verdict.Finding) {
	if !f.OK {
		v.addBroken(f)
		j.found64.Add(1)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range f.Clauses {
		if f.OK {
			j.worst.Take(id, verdict.Passed)
			j.countKept(v, id)
		}
	}
}

// countKept counts a connection that has shown a clause kept, once. The caller holds j.mu.
func (j *judge) countKept(v *life, clause string) {
	if v.shown[clause] {
		return
	}
	if v.shown == nil {
		v.shown = map[string]bool{}
	}
	v.shown[clause] = true
	j.kept[clause]++
}

// submitLife has a life judged whose connection has ended.
func (j *judge) submitLife(v *life) {
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

// judgeRest judges what waits, with all processors, and returns when that is done.
func (j *judge) judgeRest(workers int) {
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
		j.judgeLife(v)
	}
}

// lifeJudgements judges a life by all monitors, and by what its session has found.
func (j *judge) lifeJudgements(v *life) (judged []verdict.Judgement, failures []steps.Failure) {
	records, decode := slices.Clone(v.records), j.codec.Decoder()
	for i := range records {
		decode(&records[i])
	}
	seen, _ := j.codec.Observed(records)
	own := j.own
	own.Check = func([]transcript.Record) []verdict.Finding { return v.findings }
	monitors := append(slices.Clone(j.monitors), own)
	if j.judged == nil {
		return steps.JudgePassively(j.codec.Env, monitors, seen)
	}
	held := map[int][]string{}
	judged, failures = steps.JudgeEach(j.codec.Env, monitors, seen, func(clause string, record int) {
		held[record] = append(held[record], clause)
	})
	j.judged(Life{Name: v.name, Began: j.began(), Records: records, Held: held, Failures: failures})
	return judged, failures
}

// judgeLife judges a life.
func (j *judge) judgeLife(v *life) {
	judged, failures := j.lifeJudgements(v)
	j.lives.Add(1)
	if len(v.findings) == 0 {
		j.found64.Add(int64(len(failures)))
	}
	for _, f := range j.keepJudgements(v, judged, failures) {
		j.tell(f.Clause, f.Observed)
	}
}

// keepJudgements keeps judgements, and returns the first failures on clauses.
func (j *judge) keepJudgements(v *life, judged []verdict.Judgement, failures []steps.Failure) (news []steps.Failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range judged {
		if j.worst.Take(one.Clause, one.Outcome); one.Outcome == verdict.Passed {
			j.countKept(v, one.Clause)
		}
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

// violationsSoFar returns the findings so far. Those of lives that have not ended are among them, as far as their
// sessions have found them.
func (j *judge) violationsSoFar() int64 { return j.found64.Load() }

// transcriptOf makes the transcript of a life.
func transcriptOf(v *life, began time.Time) *transcript.Transcript {
	t := transcript.NewAt(began, nil)
	for _, r := range v.records {
		t.AppendAt(r, began.Add(r.At))
	}
	return t
}

// Shown is a connection of a worker's session that has ended: one on which a clause is broken, or else the last one
// that was judged. Whoever merges the load judges it again.
type Shown struct {
	Name     string              `json:"name"`
	Session  int                 `json:"session"`
	Records  []transcript.Record `json:"records"`
	Cut      bool                `json:"cut,omitempty"`
	Findings []verdict.Finding   `json:"findings,omitempty"` // of the session itself
	Sound    bool                `json:"sound,omitempty"`    // nothing is broken on it
}

var errShown = errors.New("this is no connection of a session")

// checkShown rejects what no worker of this version shows.
func (s Shown) checkShown(sessions int) error {
	size := 0
	for i, r := range s.Records {
		size += len(r.Bytes)
		if r.N != i+1 || len(r.Conn) > maxLabel || r.At < 0 {
			return errShown
		}
	}
	switch {
	case len(s.Records) == 0, len(s.Records) > mostRecords, size > mostBytes, len(s.Findings) > mostFindings,
		len(s.Name) > maxLabel, s.Session < 0, s.Session >= sessions, s.Sound && len(s.Findings) > 0:
		return errShown
	}
	for _, f := range s.Findings {
		if f.OK || f.At < 0 || f.At > len(s.Records) {
			return errShown
		}
	}
	return nil
}

func shownOf(v *life, sound bool) Shown {
	return Shown{Name: v.name, Session: v.session, Records: v.records, Cut: v.cut, Findings: v.findings, Sound: sound}
}

// evidenceFrom returns the broken connections that were kept after the first n.
func (j *judge) evidenceFrom(n int) (out []Shown) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.evidence[n:] {
		out = append(out, shownOf(e.life, false))
	}
	return out
}

// addToReport adds to a report what was judged so far.
func (j *judge) addToReport(to *Report) {
	to.Found, to.Lives, to.Unjudged = j.found64.Load(), j.lives.Load(), j.unjudged.Load()
	j.mu.Lock()
	defer j.mu.Unlock()
	to.Violations, to.Broken, to.Worst = j.failures, j.broken, map[string]verdict.Outcome{}
	maps.Copy(to.Worst, j.worst)
	to.Kept = maps.Clone(j.kept)
}

// judgeShown judges a connection that a worker shows, of which the worker's report has the counts.
func (j *judge) judgeShown(s Shown) {
	v := &life{name: s.Name, session: s.Session, records: s.Records, cut: s.Cut, findings: s.Findings}
	judged, failures := j.lifeJudgements(v)
	if s.Sound && len(failures) > 0 { // it was not judged there as it is here
		return
	}
	for _, f := range j.keepJudgements(v, judged, failures) {
		j.tell(f.Clause, f.Observed)
	}
}

// mergeCounts adds the counts of a worker's last report. Call it after settle, whose counts it replaces.
func (j *judge) mergeCounts(all []Report) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures, j.broken, j.kept = 0, 0, map[string]int64{}
	for _, r := range all {
		j.lives.Add(r.Lives)
		j.unjudged.Add(r.Unjudged)
		j.found64.Add(r.Found)
		j.failures += r.Violations
		j.broken += r.Broken
		for id, o := range r.Worst {
			j.worst.Take(id, o)
		}
		for id, n := range r.Kept {
			j.kept[id] += n
		}
	}
}

// unshownClauses returns the clauses that workers found broken without showing how.
func (j *judge) unshownClauses() (out []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(j.worst)) {
		if j.worst[id] == verdict.Failed && !j.shown[id] {
			out = append(out, id)
		}
	}
	return out
}
