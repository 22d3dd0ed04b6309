package externalagent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/steps/externalagent/studylog"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// ended returns the latest session.end of a party that was answered, with its answer, or nil.
func (s *suite) ended(p *party) (*request, *transcript.Record) {
	for _, q := range slices.Backward(p.asked) {
		if q.kind != vocab.SessionEnd {
			continue
		}
		if r := s.got(q); r != nil && kindOf(r) == vocab.SessionEnded {
			return q, r
		}
	}
	return nil, nil
}

// logInOrder judges the current content of the log named by session.ended (EA-010, EA-065, EA-085 to EA-093, EA-107).
func (s *suite) logInOrder(_ context.Context, p *party) error {
	q, rec := s.ended(p)
	if rec == nil {
		return steps.NotTestedf("no session of agent %s has ended", p.name)
	}
	folder, err := s.logPlace()
	if err != nil {
		return steps.NotTestedf("the log cannot be read: %v", err)
	}
	name, _ := payload(rec)[vocab.LogFile].(string)
	old, before := int64(0), 0 // what the log had before the session, in bytes and lines, is not the session's
	content, err := readLogFrom(folder, name, func(f io.ReaderAt, size int64) int64 {
		if start := s.began(p, q); start != nil {
			old = start.laid.within(f, size)
		}
		before = linesUpTo(f, old)
		return old
	})
	there := verdict.Finding{Clauses: []string{"EA-010", "EA-065"}, OK: true, At: rec.N, Judge: verdict.ByLog}
	var outside *target.OutsideError
	var unread *steps.NotTestedError
	switch {
	case errors.As(err, &outside):
		s.Security("the log is outside its folder: %v", err)
		return steps.NotTestedf("the log is not read: %v", err)
	case errors.As(err, &unread):
		_ = s.Judge(there)
		return err
	case err != nil:
		return s.Need(verdict.Finding{Clauses: []string{"EA-010", "EA-065", "EA-085", "EA-107"}, At: rec.N,
			Judge: verdict.ByLog, Expected: fmt.Sprintf("a log at logFile %q in %s", name, folder), Observed: err.Error()})
	}
	_ = s.Judge(there)
	study, _ := payload(rec)[vocab.SessionID].(string)
	if _, read := s.reads[name]; !read {
		s.reads[name] = logPart{old, before, string(content)}
	}
	report := studylog.Check(bytes.NewReader(content), studylog.Options{Session: study, Messages: s.messages(p, q),
		Complete: true, Before: before})
	form := "ISO 8601, in UTC and with milliseconds"
	for _, n := range report.Notes {
		if strings.Contains(n.Text, "timestamp") {
			form = n.String()
		}
	}
	s.Observe("EA-089a", "the timestamps: "+form)
	var found []verdict.Finding
	for _, fd := range report.Findings {
		check := verdict.Finding{Clauses: []string{fd.Clause}, OK: fd.OK, At: rec.N, Judge: verdict.ByLog,
			Expected: fd.Expected, Observed: fd.Observed, Group: "log: " + fd.Expected}
		if !fd.OK && fd.Line > 0 {
			check.Observed = fmt.Sprintf("%s:%d: %s", name, fd.Line, fd.Observed)
		}
		found = append(found, check)
	}
	return s.Judge(found...)
}

// logsUnchanged judges that later sessions do not change the logs of earlier ones (EA-010, EA-088).
func (s *suite) logsUnchanged() error {
	if len(s.reads) == 0 {
		return steps.NotTestedf("no log was read")
	}
	folder, err := s.logPlace()
	if err != nil {
		return steps.NotTestedf("the log cannot be read: %v", err)
	}
	for name, was := range s.reads {
		check := verdict.Finding{Clauses: []string{"EA-010", "EA-086", "EA-088"}, Judge: verdict.ByLog,
			Expected: fmt.Sprintf("a log %q that still begins as it did when its session ended", name)}
		now, err := readLogFrom(folder, name, func(_ io.ReaderAt, size int64) int64 { return min(was.from, size) })
		is := string(now)
		if unread := (*steps.NotTestedError)(nil); errors.As(err, &unread) {
			return err
		}
		if err != nil {
			check.Observed = err.Error()
			return s.Judge(check)
		}
		if check.OK = strings.HasPrefix(is, was.text); !check.OK { // lines of later sessions may have been appended
			same := shared(was.text, is)
			check.Observed = fmt.Sprintf("it had %d bytes and now has %d: identical up to line %d",
				was.from+int64(len(was.text)), was.from+int64(len(is)), was.line+strings.Count(was.text[:same], "\n"))
		}
		_ = s.Judge(check)
	}
	return nil
}

// readLog reads a log of a folder. A NotTestedError means that the log exists but cannot be read.
func readLog(folder, name string) ([]byte, error) {
	return readLogFrom(folder, name, func(io.ReaderAt, int64) int64 { return 0 })
}

// readLogFrom is readLog from an offset, which from returns for the file and its size.
func readLogFrom(folder, name string, from func(f io.ReaderAt, size int64) int64) ([]byte, error) {
	f, err := target.OpenLogFrom(folder, name, from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, steps.NotTestedf("the log could not be read: %v", err)
	}
	return content, nil
}

// logPart is what a log had from an offset on when it was read.
type logPart struct {
	from int64
	line int // number of lines before
	text string
}

// shared returns the length in bytes of the common prefix of two texts.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// began returns the session.start with which the session began that a session.end has ended; nil if there was none. A
// session that is given the same id again, such as after the agent has lost its connection, goes on: only a
// session.ended makes it another one.
func (s *suite) began(p *party, end *request) (start *request) {
	var study any
	for _, q := range slices.Backward(p.asked) {
		r := s.got(q)
		switch {
		case q.mark >= end.mark || r == nil:
		case kindOf(r) == vocab.SessionEnded:
			return start
		case kindOf(r) != vocab.SessionStarted:
		case start != nil && payload(r)[vocab.SessionID] != study:
			return start
		default:
			start, study = q, payload(r)[vocab.SessionID]
		}
	}
	return start
}

// laid is what the folder of logs contained when a session began: the length of each file, and a checksum of its end.
// It identifies logs that several sessions are appended to, even if all have one name.
type laid []lying

type lying struct {
	size int64 // up to the end of its last whole line
	sum  [sha256.Size]byte
}

// logEnd is how much of the end of a log identifies it.
const logEnd = 64 << 10

// sumBefore returns the checksum of what a log has just before an offset.
func sumBefore(f io.ReaderAt, end int64) (sum [sha256.Size]byte, err error) {
	b := make([]byte, min(end, logEnd))
	if _, err = f.ReadAt(b, end-int64(len(b))); err != nil {
		return sum, err
	}
	return sha256.Sum256(b), nil
}

// within returns how many bytes of a log existed already.
func (l laid) within(f io.ReaderAt, size int64) (most int64) {
	for _, old := range l {
		if old.size > most && old.size <= size {
			if sum, err := sumBefore(f, old.size); err == nil && sum == old.sum {
				most = old.size
			}
		}
	}
	return most
}

// linesUpTo counts the lines of a log up to an offset.
func linesUpTo(f io.ReaderAt, end int64) (n int) {
	r, b := io.NewSectionReader(f, 0, end), make([]byte, 1<<20)
	for {
		read, err := r.Read(b)
		n += bytes.Count(b[:read], []byte("\n"))
		if err != nil {
			return n
		}
	}
}

// The limits for the folder's content: logs beyond the first are judged as if they had been empty before a session, and
// beyond the second is not searched for what a session has written.
const (
	mostLogs  = 512
	mostBytes = 64 << 20
)

// lies records the existing logs if the scenario is about logs and they can be read.
func (s *suite) lies() laid {
	folder, err := s.logPlace()
	if err != nil || !s.HasTag("@log") {
		return nil
	}
	var out laid
	_ = filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // e.g. deleted meanwhile
		}
		if len(out) == mostLogs {
			return fs.SkipAll
		}
		if old, ok := liesAt(name); ok {
			out = append(out, old)
		}
		return nil
	})
	return out
}

// liesAt reads the end of a log. It reports false for a log without a whole line.
func liesAt(name string) (lying, bool) {
	f, err := os.Open(name)
	if err != nil {
		return lying{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return lying{}, false
	}
	b := make([]byte, 1<<16)
	for end := info.Size(); end > 0; {
		n := min(end, int64(len(b)))
		if _, err := f.ReadAt(b[:n], end-n); err != nil {
			return lying{}, false
		}
		if at := bytes.LastIndexByte(b[:n], '\n'); at >= 0 { // the last line may still be incomplete
			size := end - n + int64(at) + 1
			sum, err := sumBefore(f, size)
			return lying{size, sum}, err == nil
		}
		end -= n
	}
	return lying{}, false
}

// logged are the message types that a study needs: the log must have every such message. The document leaves open
// which other events are logged; those that are must have the message's payload.
var logged = []string{vocab.ToolCall, vocab.ToolResult}

// messages returns the messages between a party and the host from session.start to session.end, as the host sees them,
// of the kinds that may be logged.
func (s *suite) messages(p *party, end *request) []studylog.Message {
	from, latest := 0, 0
	for _, q := range p.asked {
		if q.kind == vocab.SessionStart && q.mark < end.mark {
			from, latest = q.mark, q.mark
		}
	}
	if start := s.began(p, end); start != nil {
		from = start.mark
	}
	var out []studylog.Message
	for _, r := range s.T.After(from - 1) {
		if r.Conn != p.name || r.Event == nil || r.N > end.mark {
			continue
		}
		body, ok := r.Event.Data.(object)
		kind := kindOf(&r)
		if _, known := model.Passing[kind]; !ok || !known || kind == vocab.SessionStart || kind == vocab.SessionStarted {
			continue
		}
		m := studylog.Message{Direction: vocab.In, Type: kind, Payload: body, Record: r.N,
			Optional: r.N < latest || !slices.Contains(logged, kind)}
		if r.Dir == transcript.Received {
			m.Direction = vocab.Out
		}
		out = append(out, m)
	}
	return out
}

// logNoted records, as a security matter, whether a log stays in its folder whatever the ids are, judged by its name
// and by the surrounding folders.
func (s *suite) logNoted(_ context.Context, p *party) error {
	_, rec := s.ended(p)
	if rec == nil {
		return steps.NotTestedf("no session of agent %s has ended: ids that contain path traversal may be refused",
			p.name)
	}
	name, _ := payload(rec)[vocab.LogFile].(string)
	at := ""
	if folder, err := s.logPlace(); err == nil {
		at = astray(folder, s.Nonce)
		f, err := target.OpenLog(folder, name)
		var outside *target.OutsideError
		if errors.As(err, &outside) {
			at = err.Error()
		} else if err == nil {
			_ = f.Close()
		}
	}
	if at == "" && slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		at = "its name is " + wjson.Compact(name)
	}
	s.Observe("EA-066", "with path traversal in its ids a session has the logFile "+wjson.Compact(name))
	if at != "" {
		s.Security("path traversal in studyId or participantId puts the log outside its folder: %s", at)
	}
	return nil
}

// worksAstray lets an agent, and the host if the harness plays it, join a relay session whose id contains path
// characters, and do there what a log would be written for. No clause says what must happen: the id may be refused at
// the join or later.
func (s *suite) worksAstray(ctx context.Context, p *party) error {
	p.session = "../../parley-" + s.Nonce
	var missing *steps.NotTestedError
	if err := s.joins(ctx, p); errors.As(err, &missing) {
		s.Note("no host joins such a relay session: %s", missing.Reason)
		return nil
	} else if err != nil {
		return err
	}
	for _, next := range []struct {
		kind string
		body object
	}{
		{vocab.SessionStart, object{"studyId": "parley", "participantId": "P01"}},
		{vocab.AgentMessage, object{"text": "parley"}},
		{vocab.SnapshotGet, object{}}, {vocab.SessionEnd, theEnd()},
	} {
		if p.last.kind != vocab.AgentMessage { // which needs no answer
			rec, miss := s.answer(ctx, p.last)
			if miss != nil || refused(&rec) {
				said := "nothing"
				if miss == nil {
					said = steps.Seen(rec)
				}
				s.Note("with path traversal in the relay session's id, %s is answered by: %s", p.last.kind, said)
				break
			}
		}
		if _, err := s.ask(ctx, p, next.kind, next.body); err != nil {
			return nil // the target has ended the connection
		}
		p.joined = true
	}
	if p.last.kind == vocab.SessionEnd {
		_, _ = s.answer(ctx, p.last)
	}
	if p.conn != nil {
		_ = s.disconnect(p, driver.Graceful) // some hosts write a log at the end of the connection
	}
	p.study = ""
	return nil
}

// AboutLogs implements steps.LogJudge.
func (Protocol) AboutLogs() (what, by string) {
	return "study logs of external-agent hosts", "study logs, the JSONL files of external-agent hosts, by section 6 of " +
		"external-agent.zh.md (EA-085 to EA-093)"
}

// CheckLog implements steps.LogJudge.
func (Protocol) CheckLog(in io.Reader, session string, complete bool) steps.LogReport {
	r := studylog.Check(in, studylog.Options{Session: session, Complete: complete})
	l := steps.LogReport{Verdict: steps.LogFine, Session: r.Session, Sessions: append([]string{}, r.Sessions...),
		Lines: r.Lines, Events: r.Events, Clauses: []steps.LogTally{}, Findings: []steps.LogFinding{}, Dropped: r.Dropped,
		Notes: []steps.LogNote{}, Torn: (*steps.LogTorn)(r.Torn)}
	for _, clause := range slices.Sorted(maps.Keys(r.Clauses)) {
		l.Clauses = append(l.Clauses, steps.LogTally{Clause: clause, Kept: r.Clauses[clause].Kept,
			Broken: r.Clauses[clause].Broken})
	}
	for _, f := range r.Findings {
		if !f.OK {
			l.Findings = append(l.Findings, steps.LogFinding{Clause: f.Clause, Line: f.Line, Expected: f.Expected,
				Observed: f.Observed})
		}
	}
	for _, n := range r.Notes {
		l.Notes = append(l.Notes, steps.LogNote(n))
	}
	switch {
	case r.Err != nil:
		l.Verdict, l.Error = steps.LogUnreadable, r.Err.Error()
	case r.Failed():
		l.Verdict = steps.LogFindings
	case r.Events == 0:
		l.Verdict = steps.LogEmpty
	}
	return l
}
