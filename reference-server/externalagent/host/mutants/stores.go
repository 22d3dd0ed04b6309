package mutants

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/spoil"
)

// storeFaults write a wrong log file, or use a wrong name.
var storeFaults = map[string]fault{
	"log-pretty-printed":   writing(func(_ int, line []byte) []string { return []string{indented(line)} }),
	"log-with-blank-lines": writing(func(_ int, line []byte) []string { return []string{string(line), ""} }),
	"log-as-a-list":        writing(func(n int, line []byte) []string { return []string{listed(n, line)} }),
	"log-with-a-prefix":    writing(func(_ int, line []byte) []string { return []string{"INFO " + string(line)} }),
	"log-with-a-mark":      writing(func(n int, line []byte) []string { return []string{marked(n, line)} }),
	"log-with-a-headline":  writing(func(n int, line []byte) []string { return headed(n, line) }),
	"log-of-lists":         writing(func(_ int, line []byte) []string { return []string{"[" + string(line) + "]"} }),
	"log-names-twice": writing(func(_ int, line []byte) []string {
		return []string{`{"direction":"in",` + string(line[1:])}
	}),
	"log-tail-torn":      filing(func(l host.Log) host.Log { return &buffered{Log: l} }),
	"log-written-later":  hosting(func(h *hostOptions) { h.Store = &later{Store: h.Store} }),
	"log-lags-behind":    filing(func(l host.Log) host.Log { return &lagging{Log: l} }),
	"one-log-for-all":    hosting(func(h *hostOptions) { h.Store = &oneLog{Store: h.Store} }),
	"session-ids-repeat": filing(func(l host.Log) host.Log { return sameID{l} }),
	"log-named-not-there": spoiling(proto.SessionEnded, spoil.Text("logFile", func(s string) string {
		return strings.Replace(s, "/s-", "/session-", 1)
	})),
	"log-named-without-end": spoiling(proto.SessionEnded, spoil.Text("logFile", func(s string) string {
		return strings.TrimSuffix(s, ".jsonl")
	})),
	"log-of-session-before":    hosting(namesLogBefore),
	"log-named-of-participant": hosting(namesParticipant),
	"log-folder-named":         spoiling(proto.SessionEnded, spoil.Text("logFile", path.Dir)),
}

// filing wraps the logs of each host.
func filing(wrap func(l host.Log) host.Log) fault {
	return hosting(func(h *hostOptions) { h.Store = wrapped{h.Store, wrap} })
}

type wrapped struct {
	host.Store
	wrap func(l host.Log) host.Log
}

func (w wrapped) Create(now time.Time) (host.Log, error) {
	l, err := w.Store.Create(now)
	if err != nil {
		return nil, err
	}
	return w.wrap(l), nil
}

// writing replaces each line by others; n counts the lines from 1.
func writing(f func(n int, line []byte) []string) fault {
	return filing(func(l host.Log) host.Log { return &rewritten{Log: l, f: f} })
}

type rewritten struct {
	host.Log
	n int
	f func(n int, line []byte) []string
}

func (r *rewritten) Append(line []byte) error {
	r.n++
	for _, l := range r.f(r.n, line) {
		if err := r.Log.Append([]byte(l)); err != nil {
			return err
		}
	}
	return nil
}

// indented writes each member on its own line.
func indented(line []byte) string {
	return strings.Replace(strings.ReplaceAll(string(line), `,"`, ",\n  \""), "{", "{\n  ", 1) + "\n"
}

func listed(n int, line []byte) string {
	if n == 1 {
		return "[" + string(line) + ","
	}
	return string(line) + ","
}

func marked(n int, line []byte) string {
	if n == 1 {
		return "\ufeff" + string(line)
	}
	return string(line)
}

func headed(n int, line []byte) []string {
	if n == 1 {
		return []string{"# study log", string(line)}
	}
	return []string{string(line)}
}

// buffered writes in blocks and does not flush the last one.
type buffered struct {
	host.Log
	kept bytes.Buffer
}

const block = 512

func (b *buffered) Append(line []byte) error {
	b.kept.Write(line)
	b.kept.WriteByte('\n')
	for b.kept.Len() > block {
		i := bytes.IndexByte(b.kept.Bytes(), '\n')
		if err := b.Log.Append(bytes.Clone(b.kept.Next(i))); err != nil {
			return err
		}
		b.kept.Next(1)
	}
	return nil
}

func (b *buffered) Close() error {
	if all := b.kept.Bytes(); len(all) > 1 {
		if err := b.Log.Append(bytes.Clone(all[:min(len(all), 20)])); err != nil {
			return err
		}
	}
	return b.Log.Close()
}

// later writes a log only when the next one begins.
type later struct {
	host.Store
	flush func()
}

func (s *later) Create(now time.Time) (host.Log, error) {
	if s.flush != nil {
		s.flush()
	}
	l, err := s.Store.Create(now)
	if err != nil {
		return nil, err
	}
	kept := &held{Log: l}
	s.flush = kept.flush
	return kept, nil
}

// held keeps its lines in memory.
type held struct {
	host.Log
	lines [][]byte
}

func (h *held) Append(line []byte) error {
	h.lines = append(h.lines, bytes.Clone(line))
	return nil
}

// Close leaves the file open; without another session it is never written, as in a killed process.
func (h *held) Close() error { return nil }

func (h *held) flush() {
	for _, line := range h.lines {
		_ = h.Log.Append(line)
	}
	_ = h.Log.Close()
}

// lagging always writes some lines late.
type lagging struct {
	host.Log
	lines [][]byte
}

func (l *lagging) Append(line []byte) error {
	l.lines = append(l.lines, bytes.Clone(line))
	if len(l.lines) < 8 {
		return nil
	}
	first := l.lines[0]
	l.lines = l.lines[1:]
	return l.Log.Append(first)
}

// oneLog appends every session to the file of the first.
type oneLog struct {
	host.Store
	log host.Log
}

func (s *oneLog) Create(now time.Time) (host.Log, error) {
	l, err := s.Store.Create(now)
	if err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = shared{l}
		return s.log, nil
	}
	return alias{s.log, l}, nil
}

// shared stays open after its session, because the next session is written to it.
type shared struct{ host.Log }

func (shared) Close() error { return nil }

// alias is a session that writes into another session's file.
type alias struct {
	host.Log
	own host.Log
}

func (a alias) ID() string   { return a.own.ID() }
func (a alias) Close() error { return a.own.Close() }

// resumedLog appends a session to the log of the one before, under its id.
type resumedLog struct {
	host.Store
	log host.Log // nil: the next session has a log of its own
}

func (s *resumedLog) Create(now time.Time) (host.Log, error) {
	if s.log != nil {
		return s.log, nil
	}
	l, err := s.Store.Create(now)
	if err == nil {
		s.log = shared{l}
	}
	return s.log, err
}

// sameID gives each session of a day the same id.
type sameID struct{ host.Log }

func (s sameID) ID() string { return s.Log.ID()[:len("s-20260213-")] + "001" }

// namesLogBefore names the previous session's log.
func namesLogBefore(h *hostOptions) {
	before := any(nil)
	h.Outbound = rewriter(proto.SessionEnded, func(_ view, msg message) message {
		own := msg.Payload()["logFile"]
		if before != nil {
			msg.Payload()["logFile"] = before
		}
		before = own
		return msg
	})
}

// namesParticipant names a log after the participant.
func namesParticipant(h *hostOptions) {
	who := ""
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.SessionStart {
			who = fmt.Sprint(msg.Payload()["participantId"])
		}
		return []message{msg}
	}
	h.Outbound = rewriter(proto.SessionEnded, func(_ view, msg message) message {
		msg.Payload()["logFile"] = "logs/study/" + strings.ReplaceAll(who, "..", "") + ".jsonl"
		return msg
	})
}
