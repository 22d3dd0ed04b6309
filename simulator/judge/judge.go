// Package judge judges somebody's program while Parley plays the other side: the records of a play, as they come, by
// the passive monitors of the protocol (docs/passive.md). It knows no protocol.
package judge

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/simulator/gate"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transcript"
	"parley/verdict"
)

// Judge judges the records of one transcript. It is safe for concurrent use.
type Judge struct {
	t     *transcript.Transcript
	role  proxy.Role
	codec *codec

	mu    sync.Mutex
	mark  int              // number of the last record that is on a tape
	tapes map[string]*tape // by connection; under "" all, if the role's connections are judged together
	asked map[int]string   // parties of requests without an answer, by number of their records
	known func(r *transcript.Record)
	lost  bool // the transcript was too long to be kept

	worst map[string]verdict.Outcome
	found []steps.Failure // the first of each monitor and clause
	fresh chan struct{}   // closed and replaced when there is something new
}

// New makes a Judge of the records in t, which are those of a party that is played for a program on the given side:
// Received is what the program has sent. base is the program's base URL if it is a server. nil: the protocol has no
// clauses that what such a program sends can show.
func New(p steps.Protocol, side gate.Side, base string, t *transcript.Transcript) (*Judge, error) {
	roles, err := proxy.RolesOf(p, nil)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(roles, func(r proxy.Role) bool { return r.Side == side })
	if i < 0 || len(roles[i].Monitors) == 0 {
		return nil, nil
	}
	c, err := newCodec(p, roles[i].Name, base)
	if err != nil {
		return nil, err
	}
	j := &Judge{t: t, role: roles[i], codec: c, tapes: map[string]*tape{}, asked: map[int]string{},
		worst: map[string]verdict.Outcome{}, fresh: make(chan struct{})}
	if by, ok := p.(steps.Correlator); ok && side == gate.Server {
		correlate := by.Correlate(c.profile)
		j.known = func(r *transcript.Record) {
			if party := correlate(r, nil); r.Conn == "" {
				r.Conn = party
			}
		}
	}
	return j, nil
}

// Role returns the role in which the program is judged.
func (j *Judge) Role() string { return j.role.Name }

// Clauses returns the ids of the clauses that can be judged, sorted.
func (j *Judge) Clauses() []string { return j.role.Clauses() }

// Outcomes returns the worst outcome so far of each clause that was judged.
func (j *Judge) Outcomes() map[string]verdict.Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make(map[string]verdict.Outcome, len(j.worst))
	for id, o := range j.worst {
		out[id] = o
	}
	return out
}

// Findings returns the first finding of each monitor on each clause, in the order in which they were made.
func (j *Judge) Findings() []steps.Failure {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.found)
}

// Pace of judging while records come: soon after an exchange, and for no more than a share of the time.
const (
	quiet = 30 * time.Millisecond  // without a record: an exchange may be over
	soon  = 250 * time.Millisecond // since the first record: it is judged even if more come
	share = 10
)

// Follow judges records as they come, and calls tell, from one goroutine, with the first finding of each monitor on
// each clause, and without one when only outcomes have changed. It returns once ctx has ended and all is judged.
func (j *Judge) Follow(ctx context.Context, tell func([]steps.Failure)) {
	next := func(mark int, within time.Duration) bool { // reports whether a record came
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_, err := j.t.Await(limited, mark, func(r *transcript.Record) bool { return r.N > mark })
		return err == nil
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		j.watch(over, tell)
	}()
	for mark := 0; ctx.Err() == nil; {
		if _, err := j.t.Await(ctx, mark, func(r *transcript.Record) bool { return r.N > mark }); err != nil {
			break
		}
		for end := time.Now().Add(soon); time.Now().Before(end) && next(j.t.Len(), quiet); {
		}
		began := time.Now()
		mark = j.Check()
		rest(ctx, share*time.Since(began))
	}
	j.Check()
	close(over)
	<-watched
}

// watch calls tell with what is new until over is closed, and with the rest.
func (j *Judge) watch(over <-chan struct{}, tell func([]steps.Failure)) {
	for told, last := 0, false; ; {
		j.mu.Lock()
		news, fresh := j.found[told:len(j.found):len(j.found)], j.fresh
		j.mu.Unlock()
		told += len(news)
		tell(news)
		if last {
			return
		}
		select {
		case <-fresh:
		case <-over:
			last = true
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Check judges all records that have come, and returns the number of the last one.
func (j *Judge) Check() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	for r := range j.t.From(j.mark) {
		j.lost = j.lost || r.N != j.mark+1
		j.mark = r.N
		j.take(r)
	}
	for name, one := range j.tapes {
		judged, failures := one.judge(j.codec.env, j.role.Monitors)
		j.settle(judged, failures)
		if one.ended {
			delete(j.tapes, name)
		}
	}
	return j.mark
}

// take puts a record on its tape. The caller holds j.mu.
func (j *Judge) take(r transcript.Record) {
	if r.Dir == transcript.Noted {
		return
	}
	r.Event = nil
	j.codec.decode(&r)
	orphan := false
	if j.known != nil {
		if r.Kind == transcript.Response && r.Conn == "" {
			r.Conn = j.asked[r.Reply]
			delete(j.asked, r.Reply)
		}
		j.known(&r)
		orphan = r.Kind == transcript.Request && r.Event != nil && r.Conn == ""
		if r.Kind == transcript.Request && len(j.asked) < maxAsked {
			j.asked[r.N] = r.Conn
		}
	}
	name := r.Conn
	if j.role.Together {
		name = ""
	}
	one := j.tapes[name]
	if one == nil {
		one = &tape{of: j.codec.observed}
		j.tapes[name] = one
	}
	one.partly = one.partly || orphan || j.lost || r.Cut > 0
	if r.Cut == 0 { // nobody knows what a message says that was too long to be kept whole
		one.add(r)
	}
	one.ended = !j.role.Together && r.Kind == transcript.Closed
}

// maxAsked bounds the requests that wait for an answer.
const maxAsked = 1000

// settle keeps what is new. The caller holds j.mu.
func (j *Judge) settle(judged []verdict.Judgement, failures []steps.Failure) {
	changed := false
	for _, one := range judged {
		if was, ok := j.worst[one.Clause]; !ok || rank(one.Outcome) > rank(was) {
			j.worst[one.Clause] = one.Outcome
			changed = true
		}
	}
	for _, f := range failures {
		if !slices.ContainsFunc(j.found, func(was steps.Failure) bool {
			return was.Monitor == f.Monitor && was.Clause == f.Clause
		}) {
			j.found = append(j.found, f)
			changed = true
		}
	}
	if changed {
		close(j.fresh)
		j.fresh = make(chan struct{})
	}
}

func rank(o verdict.Outcome) int {
	return slices.Index([]verdict.Outcome{verdict.NotTested, verdict.NotApplicable, verdict.Passed, verdict.Warned,
		verdict.Failed}, o)
}
