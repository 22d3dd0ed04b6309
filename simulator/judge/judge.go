// Package judge judges a user's program while Parley plays the other side. It applies the passive monitors of the
// protocol (docs/passive.md) to the records of a play as they come. It knows no protocol.
package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// Judge judges the records of one transcript. It is safe for concurrent use.
type Judge struct {
	t        *transcript.Transcript
	place    func(context.Context, transcript.Record) int
	role     proxy.Role
	codec    *proxy.Codec
	decode   func(*transcript.Record)
	protocol steps.Protocol
	modelled bool // what the program owes is known
	client   bool // the program is a client but not a target of the protocol: records are mirrored, see steps.Clients

	mu     sync.Mutex
	mark   int              // number of the last record that is on a tape
	tapes  map[string]*tape // by connection; "" has all if the role's connections are judged together
	asked  map[int]string   // parties of unanswered requests, by the number of the request's record
	known  func(r *transcript.Record)
	lost   bool    // the transcript was too long to keep
	doubts []doubt // those after which no record has come
	unsure string  // the first doubt; "" for none

	worst verdict.Worst
	found []steps.Failure // the first of each monitor and clause
	fresh chan struct{}   // closed and replaced at each change
}

// doubt says that from some record on, the records of a connection do not show what the program got.
type doubt struct {
	after int
	conn  string
	why   string
}

// Options configure a Judge.
type Options struct {
	Protocol steps.Protocol
	Side     gate.Side // of the program
	Base     string    // the program's base URL if it is a server

	// Records has the records of the party that is played for the program: Received is what the program has sent.
	Records *transcript.Transcript

	// Place returns the number under which a record of Records is shown to users. It waits until it is shown, or until
	// ctx ends, and then returns 0. nil: its own number.
	Place func(ctx context.Context, r transcript.Record) int
}

// New makes a Judge. It returns nil if the protocol has no clauses that can be judged by the messages of such a
// program.
func New(o Options) (*Judge, error) {
	role, err := roleOf(o.Protocol, o.Side)
	if err != nil || len(role.Monitors) == 0 {
		return nil, err
	}
	bound, client := role.Name, role.NoTarget
	if client {
		bound = o.Protocol.Kind().Roles[0] // the client of such a target, whose profile has the wire names
	}
	c, err := proxy.NewCodec(o.Protocol, bound, o.Base)
	if err != nil {
		return nil, err
	}
	j := &Judge{t: o.Records, place: o.Place, role: role, codec: c, decode: c.Decoder(), client: client,
		tapes: map[string]*tape{}, asked: map[int]string{}, worst: verdict.Worst{}, fresh: make(chan struct{})}
	j.protocol = o.Protocol
	j.modelled = j.newOwing("") != nil
	if by, ok := o.Protocol.(steps.Correlator); ok && (client || o.Side == gate.Server) {
		correlate := by.Correlate(c.Env.Profile)
		j.known = func(r *transcript.Record) {
			if party := correlate(r, nil); r.Conn == "" {
				r.Conn = party
			}
		}
	}
	return j, nil
}

// roleOf returns the role in which a program on a side is judged; it has no monitors if there is none.
func roleOf(p steps.Protocol, side gate.Side) (role proxy.Role, err error) {
	roles, err := proxy.RolesOf(p, nil)
	if client, _ := steps.ClientOf(p); err == nil && client != "" {
		var clients []proxy.Role
		clients, err = proxy.RolesOf(p, []string{client})
		roles = append(roles, clients...)
	}
	if i := slices.IndexFunc(roles, func(r proxy.Role) bool { return r.Side == side }); i >= 0 {
		return roles[i], err
	}
	return role, err
}

// Doubt says that from now on the records of a connection do not show what the program got, and why. Later records are
// judged only by monitors of single records, on all connections if they are judged together.
func (j *Judge) Doubt(conn, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doubts = append(j.doubts, doubt{j.t.Len(), conn, why})
}

// Untested returns, sorted, the clauses that have no outcome because of a doubt, and the doubt; none if there is no
// doubt.
func (j *Judge) Untested() (clauses []string, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsure == "" {
		return nil, ""
	}
	for _, m := range j.role.Monitors {
		for _, id := range m.Clauses {
			if _, judged := j.worst[id]; !judged && !m.PerRecord {
				clauses = append(clauses, id)
			}
		}
	}
	slices.Sort(clauses)
	return slices.Compact(clauses), j.unsure
}

// Role returns the role in which the program is judged.
func (j *Judge) Role() string { return j.role.Name }

// Clauses returns the ids of the clauses that can be judged, sorted.
func (j *Judge) Clauses() []string { return j.role.Clauses() }

// Outcomes returns the worst outcome so far of each clause that was judged.
func (j *Judge) Outcomes() map[string]verdict.Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.worst)
}

// Findings returns the first finding of each monitor on each clause, in chronological order.
func (j *Judge) Findings() []steps.Failure {
	j.mu.Lock()
	all := slices.Clone(j.found)
	j.mu.Unlock()
	return j.placeFindings(all, 0)
}

// placeFindings replaces the record numbers in findings by those that users see. It waits at most the given time until
// the records are shown. It changes its argument.
func (j *Judge) placeFindings(all []steps.Failure, within time.Duration) []steps.Failure {
	if j.place == nil {
		return all
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for i := range all {
		at := j.t.Page(all[i].At-1, 1)
		if all[i].At == 0 || len(at) == 0 || at[0].N != all[i].At {
			all[i].At = 0
			continue
		}
		all[i].At = j.place(ctx, at[0])
	}
	return all
}

// Pace of judging while records come: soon after an exchange, and for at most a share of the time.
const (
	quiet = 30 * time.Millisecond  // without a record: an exchange may be over
	soon  = 250 * time.Millisecond // since the first record: it is judged even if more come
	share = 10
)

// shown is how long a finding waits for the record that it is about: a fault may delay what is shown, or drop it.
const shown = 2 * time.Second

// Follow judges records as they come, and calls tell, from one goroutine, with the first finding of each monitor on
// each clause, and without findings when only outcomes have changed. It returns after ctx has ended and all records
// have been judged.
func (j *Judge) Follow(ctx context.Context, tell func([]steps.Failure)) {
	next := func(mark int, within time.Duration) bool { // reports whether a record arrived
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_, err := j.t.Await(limited, mark, func(r *transcript.Record) bool { return r.N > mark })
		return err == nil
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		j.watchFindings(over, tell)
	}()
	for mark := 0; ctx.Err() == nil; {
		if _, err := j.t.Await(ctx, mark, func(r *transcript.Record) bool { return r.N > mark }); err != nil {
			break
		}
		for end := time.Now().Add(soon); time.Now().Before(end) && next(j.t.Len(), quiet); {
		}
		began := time.Now()
		mark = j.Check()
		pauseFor(ctx, share*time.Since(began))
	}
	j.Check()
	close(over)
	<-watched
}

// watchFindings calls tell with new findings until over is closed, and then with the rest.
func (j *Judge) watchFindings(over <-chan struct{}, tell func([]steps.Failure)) {
	for told, last := 0, false; ; {
		j.mu.Lock()
		news, fresh := slices.Clone(j.found[told:]), j.fresh
		j.mu.Unlock()
		told += len(news)
		within := shown
		if last {
			within = 0
		}
		tell(j.placeFindings(news, within))
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

func pauseFor(ctx context.Context, d time.Duration) {
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
	j.readRecords()
	for name, one := range j.tapes {
		judged, failures := one.judgeNew(j.codec.Env, j.role.Monitors)
		j.storeFindings(judged, failures)
		if one.ended {
			delete(j.tapes, name)
		}
	}
	return j.mark
}

// readRecords puts the records that have come on their tapes. The caller holds j.mu.
func (j *Judge) readRecords() {
	for r := range j.t.From(j.mark) {
		j.lost = j.lost || r.N != j.mark+1
		j.mark = r.N
		j.applyDoubts(r.N)
		j.addRecord(r)
	}
}

// applyDoubts applies the doubts that came before a record. The caller holds j.mu.
func (j *Judge) applyDoubts(before int) {
	j.doubts = slices.DeleteFunc(j.doubts, func(d doubt) bool {
		if d.after >= before {
			return false
		}
		if j.unsure == "" {
			j.unsure = fmt.Sprintf("%s leaves a doubt about what your program has got", d.why)
			close(j.fresh)
			j.fresh = make(chan struct{})
		}
		for _, one := range j.tapesOf(d.conn) {
			one.full = true
		}
		return true
	})
}

// tapesOf returns the tape of a connection, or all tapes for "". The caller holds j.mu.
func (j *Judge) tapesOf(conn string) []*tape {
	if conn == "" && !j.role.Together {
		return slices.Collect(maps.Values(j.tapes))
	}
	if j.role.Together {
		conn = ""
	}
	one := j.tapes[conn]
	if one == nil {
		one = &tape{of: j.observedRecords, owing: j.newOwing(conn)}
		j.tapes[conn] = one
	}
	return []*tape{one}
}

func (j *Judge) observedRecords(all []transcript.Record) []transcript.Record {
	if j.client {
		return all
	}
	out, _ := j.codec.Observed(all)
	return out
}

// addRecord adds a record to its tape. The caller holds j.mu.
func (j *Judge) addRecord(r transcript.Record) {
	switch {
	case r.Dir == transcript.Noted:
		return
	case j.client && r.Dir == transcript.Received:
		r.Dir = transcript.Sent
	case j.client:
		r.Dir = transcript.Received
	}
	r.Event = nil
	j.decode(&r)
	orphan := false
	if j.known != nil {
		if r.Kind == transcript.Response && r.Conn == "" {
			r.Conn = j.asked[r.Reply]
			delete(j.asked, r.Reply)
		}
		j.known(&r)
		orphan = !j.client && r.Kind == transcript.Request && r.Event != nil && r.Conn == ""
		if r.Kind == transcript.Request && len(j.asked) < maxAsked {
			j.asked[r.N] = r.Conn
		}
	}
	if r.Conn == "" && !j.role.Together { // without a connection
		return
	}
	one := j.tapesOf(r.Conn)[0]
	one.partly = one.partly || orphan || j.lost || r.Cut > 0
	if r.Cut == 0 { // the content of a message that was not kept completely is unknown
		one.addRecord(r)
	}
	one.ended = !j.role.Together && r.Kind == transcript.Closed
}

// maxAsked bounds the unanswered requests that are kept.
const maxAsked = 1000

// storeFindings stores new findings and outcomes. The caller holds j.mu.
func (j *Judge) storeFindings(judged []verdict.Judgement, failures []steps.Failure) {
	changed := false
	for _, one := range judged {
		changed = j.worst.Take(one.Clause, one.Outcome) || changed
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
