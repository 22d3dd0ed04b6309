package proxy

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/steps"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// maxPending bounds the unanswered requests of a tape.
const maxPending = 1000

// tape has the traffic as the tester of one role would have recorded it. Its methods are called by one goroutine at a
// time, except those of t.
type tape struct {
	role     *judgedRole
	name     string // of the connection, for a role that connects; "" for all connections
	t        *transcript.Transcript
	asked    map[int]pendingRecord // by the proxy's number of the record
	last     int                   // number of the latest record; guarded by t's lock
	orphan   bool                  // the last record is a request of the protocol whose party is unknown
	orphans  atomic.Int64          // such requests without an answer
	unknown  atomic.Bool           // such a request was accepted
	long     atomic.Bool           // a message was too long to be judged
	numbers  numbers               // guarded by the proxy
	owing    *steps.Owing          // nil: what is owed is not known
	judgedTo int                   // number of records at the last judgement
	cost     time.Duration         // of the last judgement
}

// pendingRecord is a request, or the opening of a connection, that has not been answered.
type pendingRecord struct {
	n      int // number of its record on the tape
	label  string
	orphan bool
}

func (p *Proxy) newTape(r *judgedRole, name string, keep transcript.Keep,
	correlate func(*transcript.Record)) *tape {
	began := time.Now()
	if p.recorded {
		began = p.began
	}
	one := &tape{role: r, name: name, asked: map[int]pendingRecord{}, owing: r.newOwing(name)}
	decode := r.Decoder()
	one.t = transcript.NewSpillingAt(began, func(rec *transcript.Record) {
		decodeNamed(decode, rec)
		if rec.N <= one.last { // a record that was moved to the file is decoded again
			return
		}
		one.last = rec.N
		if correlate != nil {
			correlate(rec)
		}
		one.orphan = rec.Kind == transcript.Request && rec.Event != nil && rec.Conn == "" && r.Side == Server
	}, keep)
	return one
}

// decodeNamed decodes a record. The name of a request whose party is not known yet is that of no connection: a decoder
// that follows connections would wait for its end.
func decodeNamed(decode func(*transcript.Record), rec *transcript.Record) {
	name := rec.Conn
	if isUnknownParty(name) {
		rec.Conn = ""
	}
	decode(rec)
	rec.Conn = name
}

// appendRecord appends a record of the client's end. n is its number in the proxy, and when is the time at which it
// passed. It returns its number on the tape.
func (one *tape) appendRecord(r transcript.Record, n int, when time.Time) int {
	if one.role.seesMirrored() {
		r = mirrorRecord(r)
	}
	was, answers := one.asked[r.Reply]
	if !driver.AnswerGoesOn(r) {
		delete(one.asked, r.Reply)
	}
	r.Reply = was.n
	if answers && one.role.seesMirrored() && r.Kind == transcript.Response {
		r.Label = was.label
	}
	if was.orphan {
		one.orphans.Add(-1)
		if r.Kind != transcript.Response || r.Status < 400 {
			one.unknown.Store(true) // a refused request has no effect on any connection
		}
	}
	if r.Cut > 0 { // its content is unknown
		r.Label = tooLong
		one.long.Store(true)
	}
	one.orphan = false
	at := one.t.AppendAt(r, when)
	if r.Kind != transcript.Request && (r.Kind != transcript.Open || answers) {
		return at
	}
	if len(one.asked) >= maxPending {
		one.unknown.Store(one.unknown.Load() || one.orphan)
		return at
	}
	one.asked[n] = pendingRecord{at, r.Label, one.orphan}
	if one.orphan {
		one.orphans.Add(1)
	}
	return at
}

// putOnOwnTape adds a record to the tapes of its connection. The caller holds p.mu.
func (p *Proxy) putOnOwnTape(r transcript.Record, n int, at time.Time) {
	for _, role := range p.single {
		one := p.tapeOf(role, r.Conn)
		if one == nil {
			continue
		}
		p.appendTo(one, r, n, at)
	}
}

// tapeOf returns the tape of a connection, a new one if necessary; nil if none can be made. The caller holds p.mu.
func (p *Proxy) tapeOf(r *judgedRole, conn string) *tape {
	for i := len(p.tapes) - 1; i >= 0; i-- {
		if one := p.tapes[i]; one.role == r && one.name == conn {
			return one
		}
	}
	if p.passing[conn] { // its beginning was not kept
		return nil
	}
	if len(p.tapes) >= maxTapes {
		select {
		case p.many <- struct{}{}:
		default:
		}
	}
	if len(p.tapes) >= moreTapes {
		if p.open[conn] {
			p.passing[conn] = true
			p.unjudged.Add(1)
		}
		return nil
	}
	keep := p.o.Keep
	keep.Records, keep.Bytes = cmp.Or(keep.Records, 10_000)/10, cmp.Or(keep.Bytes, 16<<20)/10
	one := p.newTape(r, conn, keep, nil)
	p.tapes = append(p.tapes, one)
	return one
}

// mirrorRecord returns a record of the client's end as seen at the server's end.
func mirrorRecord(r transcript.Record) transcript.Record {
	switch {
	case r.Kind == transcript.Closed && strings.HasPrefix(r.Label, "closed by the harness"):
		r.Label = "the target has ended the connection, or the proxy"
	case r.Kind == transcript.Closed:
		r.Dir, r.Label = transcript.Sent, "the peer has ended the connection: "+r.Label
	case r.Dir == transcript.Sent:
		r.Dir = transcript.Received
	case r.Dir == transcript.Received:
		r.Dir = transcript.Sent
	}
	return r
}

// tooLong is the label of a message that was too long to be kept completely.
const tooLong = "too long to be judged"

// omitLong omits messages that were too long.
func omitLong(records []transcript.Record) []transcript.Record {
	long := func(r transcript.Record) bool { return r.Label == tooLong }
	if !slices.ContainsFunc(records, long) {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), long)
}

// judgeRecords returns the judgements of the monitors on all records so far. held is that of steps.JudgeEach.
func (one *tape) judgeRecords(held func(clause string, record int)) (out []verdict.Judgement,
	failures []steps.Failure, whole bool) {
	began := time.Now()
	defer func() { one.cost = time.Since(began) }()
	one.judgedTo = one.t.Len()
	records, whole := one.t.First()
	for i := range records {
		if records[i].N != i+1 { // the records between were lost, and their effects break no clause
			records, whole = records[:i], false
			break
		}
	}
	last := 0
	if len(records) > 0 {
		last = records[len(records)-1].N
	}
	records = omitLong(records)
	records, filters := one.role.observe(records)
	monitors := one.role.Monitors
	if one.whyPartly() != "" { // so only judgements on single records count
		monitors = slices.DeleteFunc(slices.Clone(monitors), func(m monitor.Monitor) bool { return !m.PerRecord })
	}
	out, failures = steps.JudgeEach(one.role.Env, monitors, records, held)
	if whole || filters {
		return out, failures, whole
	}
	more, found := one.judgeBeyond(last)
	return append(out, more...), append(failures, found...), false
}

// whyPartly says why only monitors of single records judge; "" if all do.
func (one *tape) whyPartly() string {
	switch {
	case one.long.Load():
		return "a message was too long to be judged, so all others were judged by monitors of single records alone"
	case one.unknown.Load(), one.orphans.Load() > 0:
		return "a request names no stream, and several could be meant, so the traffic was judged by monitors of single " +
			"records alone: a profile can say how requests name their stream"
	}
	return ""
}

// Pages of records beyond those that all monitors see.
const (
	pageRecords = 2000
	shownBefore = 200
)

// judgeBeyond judges the records after a mark with the monitors of single records. It keeps only the first failures.
func (one *tape) judgeBeyond(mark int) (out []verdict.Judgement, failures []steps.Failure) {
	seen := map[[2]string]bool{}
	for end := one.t.Len(); mark < end; mark = min(mark+pageRecords, end) {
		before := max(mark-shownBefore, 0)
		page := one.t.Page(before, min(mark+pageRecords, end)-before)
		said, found := steps.JudgeRecords(one.role.Env, one.role.Monitors, mark, omitLong(page))
		for _, j := range said {
			if key := [2]string{j.Clause, string(j.Outcome)}; !seen[key] {
				seen[key] = true
				out = append(out, j)
			}
		}
		for _, f := range found {
			if key := [2]string{f.Monitor, f.Clause}; !seen[key] {
				seen[key] = true
				failures = append(failures, f)
			}
		}
	}
	return out, failures
}

// spool is a file of records that wait, oldest first. The zero value is an empty one, and makes its file when it needs
// one.
type spool struct {
	since time.Time // time of the first record ever; times are relative to it
	file  *os.File
	parts []spooledPart // in the file
	size  int64         // of the file
	buf   []byte        // newer records
	err   error         // why nothing more can be written
	lost  error         // why records could not be read again
}

// spooledPart is a part of the file.
type spooledPart struct{ offset, size int64 }

// spoolPart is the number of bytes written at once.
const spoolPart = 1 << 20

func (s *spool) isEmpty() bool { return len(s.parts) == 0 && len(s.buf) == 0 }

// addRecord adds a record; false if there is no room.
func (s *spool) addRecord(w waitingRecord) bool {
	if len(s.buf) >= spoolPart && !s.writeNewer() {
		return false
	}
	if s.since.IsZero() {
		s.since = w.at
	}
	w.r.N, w.r.At = w.n, w.at.Sub(s.since)
	s.buf = transcript.AppendRecord(s.buf, &w.r)
	return true
}

// writeNewer writes the newer records to the file; false if there is no room.
func (s *spool) writeNewer() bool {
	if s.err != nil || s.size+int64(len(s.buf)) > maxSpooled {
		return false
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp("", "parley-proxy-*"); s.err != nil {
			return false
		}
		_ = os.Remove(s.file.Name()) // if an open file can be removed, nothing is left behind
	}
	if _, s.err = s.file.WriteAt(s.buf, s.size); s.err != nil {
		return false
	}
	s.parts = append(s.parts, spooledPart{s.size, int64(len(s.buf))})
	s.size += int64(len(s.buf))
	s.buf = s.buf[:0]
	return true
}

// takeOldest returns the oldest records. Once all have been taken, the file is emptied.
func (s *spool) takeOldest() (all []waitingRecord) {
	text := s.buf
	if len(s.parts) > 0 {
		first := s.parts[0]
		s.parts = s.parts[1:]
		text = make([]byte, first.size)
		if _, err := s.file.ReadAt(text, first.offset); err != nil {
			s.lost, text = fmt.Errorf("records that waited in a file are lost: %w", err), nil
		}
	} else {
		s.buf = nil
	}
	if len(s.parts) == 0 && s.file != nil {
		s.size = 0
		_ = s.file.Truncate(0)
	}
	for len(text) > 0 {
		r, left, ok := transcript.ReadRecord(text)
		if !ok {
			s.lost = fmt.Errorf("records that waited in a file are lost: it is damaged")
			break
		}
		w := waitingRecord{r: r, n: r.N, at: s.since.Add(r.At)}
		w.r.N, w.r.At = 0, 0
		all, text = append(all, w), left
	}
	return all
}

// close removes the file.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}

// Beginnings of the labels of ends, by who has caused them.
const (
	byClient = "the client "
	byServer = "the server "
	byProxy  = "the proxy "
)

// EndedBy returns the last record of a connection as a user gets it: it says whether the client, the server or the
// proxy has ended the connection, and that of the client is sent. Gates, and so tapes, have the words of a harness at
// the client's end.
func EndedBy(r transcript.Record) transcript.Record {
	if r.Kind != transcript.Closed {
		return r
	}
	says := func(dir transcript.Dir, label string) transcript.Record {
		r.Dir, r.Label = dir, label
		return r
	}
	if rest, ok := strings.CutPrefix(r.Label, "the peer "); ok {
		return says(transcript.Sent, byClient+rest)
	}
	if rest, ok := strings.CutPrefix(r.Label, "the target "); ok {
		return says(r.Dir, byServer+rest)
	}
	if rest, ok := strings.CutPrefix(r.Label, "the connection broke off"); ok {
		return says(r.Dir, byServer+"broke the connection off"+rest)
	}
	switch r.Label {
	case "closed by the harness" + gate.ClientLeft:
		return says(transcript.Sent, byClient+"left the stream")
	case "closed by the harness", "cut off by the harness":
		return says(transcript.Sent, byProxy+"ended the connection")
	}
	return r
}
