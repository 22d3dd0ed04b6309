package load

import (
	"errors"
	"maps"
	"slices"

	"parley/features/verdict"
	"parley/transport/transcript"
)

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

// check rejects what no worker of this version shows.
func (s Shown) check(sessions int) error {
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

// report adds to a report what was judged so far.
func (j *judge) report(to *Report) {
	to.Found, to.Lives, to.Unjudged = j.found64.Load(), j.lives.Load(), j.unjudged.Load()
	j.mu.Lock()
	defer j.mu.Unlock()
	to.Violations, to.Broken, to.Worst = j.failures, j.broken, map[string]verdict.Outcome{}
	maps.Copy(to.Worst, j.worst)
}

// take judges a connection that a worker shows, of which the worker's report has the counts.
func (j *judge) take(s Shown) {
	v := &life{name: s.Name, session: s.Session, records: s.Records, cut: s.Cut, findings: s.Findings}
	judged, failures := j.judgements(v)
	if s.Sound && len(failures) > 0 { // it was not judged there as it is here
		return
	}
	for _, f := range j.settle(v, judged, failures) {
		j.tell(f.Clause, f.Observed)
	}
}

// merge adds the counts of a worker's last report. Call it after settle, whose counts it replaces.
func (j *judge) merge(all []Report) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures, j.broken = 0, 0
	for _, r := range all {
		j.lives.Add(r.Lives)
		j.unjudged.Add(r.Unjudged)
		j.found64.Add(r.Found)
		j.failures += r.Violations
		j.broken += r.Broken
		for id, o := range r.Worst {
			j.worst.Take(id, o)
		}
	}
}

// unshown returns the clauses that workers found broken without showing how.
func (j *judge) unshown() (out []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(j.worst)) {
		if j.worst[id] == verdict.Failed && !j.shown[id] {
			out = append(out, id)
		}
	}
	return out
}
