package externalagent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/studylog"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
	wjson "parley/wire/json"
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
	name, _ := payload(rec)["logFile"].(string)
	content, err := readLog(folder, name)
	var outside *target.OutsideError
	var unread *steps.NotTestedError
	switch {
	case errors.As(err, &outside):
		s.Security("the log is outside its folder: %v", err)
		return steps.NotTestedf("the log is not read: %v", err)
	case errors.As(err, &unread):
		s.passes(rec.N, "EA-010", "EA-065")
		return err
	case err != nil:
		return s.Need(verdict.Finding{Clauses: []string{"EA-010", "EA-065", "EA-085", "EA-107"}, At: rec.N,
			Expected: fmt.Sprintf("a log at logFile %q in %s", name, folder), Observed: err.Error()})
	}
	s.passes(rec.N, "EA-010", "EA-065")
	study, _ := payload(rec)["sessionId"].(string)
	if _, read := s.reads[name]; !read {
		s.reads[name] = string(content)
	}
	old := p.laid.within(content) // what the log had before the session is not the session's
	report := studylog.Check(bytes.NewReader(content[old:]), studylog.Options{Session: study, Messages: s.messages(p, q),
		Complete: true, Before: bytes.Count(content[:old], []byte("\n"))})
	form := "ISO 8601, in UTC and with milliseconds"
	for _, n := range report.Notes {
		if strings.Contains(n.Text, "timestamp") {
			form = n.String()
		}
	}
	s.Observe("EA-089a", "the timestamps: "+form)
	var found []verdict.Finding
	for _, fd := range report.Findings {
		check := verdict.Finding{Clauses: []string{fd.Clause}, OK: fd.OK, At: rec.N,
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
		check := verdict.Finding{Clauses: []string{"EA-010", "EA-086", "EA-088"},
			Expected: fmt.Sprintf("a log %q that still begins as it did when its session ended", name)}
		is, err := readLog(folder, name)
		if unread := (*steps.NotTestedError)(nil); errors.As(err, &unread) {
			return err
		}
		if err != nil {
			check.Observed = err.Error()
			return s.Judge(check)
		}
		if check.OK = strings.HasPrefix(string(is), was); !check.OK { // lines of later sessions may have been appended
			same := shared(was, string(is))
			check.Observed = fmt.Sprintf("it had %d bytes and now has %d: identical up to line %d",
				len(was), len(is), strings.Count(was[:same], "\n"))
		}
		_ = s.Judge(check)
	}
	return nil
}

// readLog reads a log of a folder. A NotTestedError means that the log exists but cannot be read.
func readLog(folder, name string) ([]byte, error) {
	f, err := target.OpenLog(folder, name)
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

// shared returns the length in bytes of the common prefix of two texts.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// laid is what the folder of logs contained when a session began: the length and checksum of each file. It identifies
// logs that several sessions are appended to, even if all have one name.
type laid []lying

type lying struct {
	size int
	sum  [sha256.Size]byte
}

// within returns how many bytes of a log existed already.
func (l laid) within(content []byte) int {
	most := 0
	for _, f := range l {
		if f.size > most && f.size <= len(content) && sha256.Sum256(content[:f.size]) == f.sum {
			most = f.size
		}
	}
	return most
}

// The limits for the folder's content before a session: logs beyond them are judged as if they had been empty.
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
	left := int64(mostBytes)
	_ = filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // e.g. deleted meanwhile
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if left -= info.Size(); left < 0 || len(out) == mostLogs {
			return fs.SkipAll
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		if end := strings.LastIndexByte(string(b), '\n') + 1; end > 0 { // the last line may still be incomplete
			out = append(out, lying{end, sha256.Sum256(b[:end])})
		}
		return nil
	})
	return out
}

// logged are the message types that a study needs: the log must have every such message. The document leaves open
// which other events are logged; those that are must have the message's payload.
var logged = []string{vocab.ToolCall, vocab.ToolResult}

// messages returns the messages between a party and the host from session.start to session.end, as the host sees them,
// of the kinds that may be logged.
func (s *suite) messages(p *party, end *request) []studylog.Message {
	from := 0
	for _, q := range p.asked {
		if q.kind == vocab.SessionStart && q.mark < end.mark {
			from = q.mark
		}
	}
	var out []studylog.Message
	for _, r := range s.T.After(from - 1) {
		if r.Conn != p.name || r.Event == nil || r.N > end.mark {
			continue
		}
		body, ok := r.Event.Data.(object)
		kind := kindOf(&r)
		if _, known := passing[kind]; !ok || !known || kind == vocab.SessionStart || kind == vocab.SessionStarted {
			continue
		}
		m := studylog.Message{Direction: vocab.In, Type: kind, Payload: body, Record: r.N,
			Optional: !slices.Contains(logged, kind)}
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
	name, _ := payload(rec)["logFile"].(string)
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
