package hosts

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// storeFaults get the file wrong.
var storeFaults = map[string]fault{
	"log-pretty-printed":   writing(func(_ int, line []byte) []string { return []string{indented(line)} }),
	"log-with-blank-lines": writing(func(_ int, line []byte) []string { return []string{string(line), ""} }),
	"log-as-a-list":        writing(func(n int, line []byte) []string { return []string{listed(n, line)} }),
	"log-with-a-prefix":    writing(func(_ int, line []byte) []string { return []string{"INFO " + string(line)} }),
	"log-with-a-mark":      writing(func(n int, line []byte) []string { return []string{marked(n, line)} }),
	"log-with-a-headline":  writing(func(n int, line []byte) []string { return headed(n, line) }),
	"log-of-lists":         writing(func(_ int, line []byte) []string { return []string{"[" + string(line) + "]"} }),
	"log-names-twice":      writing(func(_ int, line []byte) []string { return []string{`{"direction":"in",` + string(line[1:])} }),
	"log-tail-torn": hosting(func(h *hostOptions) {
		h.Store = filing{h.Store, func(l host.Log) host.Log { return &buffered{Log: l} }}
	}),
	"log-written-later":        hosting(func(h *hostOptions) { h.Store = &later{Store: h.Store} }),
	"log-lags-behind":          hosting(func(h *hostOptions) { h.Store = filing{h.Store, func(l host.Log) host.Log { return &lagging{Log: l} }} }),
	"one-log-for-all":          hosting(func(h *hostOptions) { h.Store = &oneLog{Store: h.Store} }),
	"session-ids-repeat":       hosting(func(h *hostOptions) { h.Store = filing{h.Store, func(l host.Log) host.Log { return sameID{l} }} }),
	"log-named-not-there":      spoiling(proto.SessionEnded, change("logFile", func(v any) any { return strings.Replace(v.(string), "/s-", "/session-", 1) })),
	"log-named-without-end":    spoiling(proto.SessionEnded, change("logFile", func(v any) any { return strings.TrimSuffix(v.(string), ".jsonl") })),
	"log-of-session-before":    telling(namesLogBefore),
	"log-named-of-participant": hosting(namesParticipant),
	"log-folder-named":         spoiling(proto.SessionEnded, change("logFile", func(v any) any { s := v.(string); return s[:strings.LastIndex(s, "/")] })),
}

// filing wraps the logs of a store.
type filing struct {
	host.Store
	wrap func(l host.Log) host.Log
}

func (f filing) Create(now time.Time) (host.Log, error) {
	l, err := f.Store.Create(now)
	if err != nil {
		return nil, err
	}
	return f.wrap(l), nil
}

// writing writes other lines in the place of each; n counts them from 1.
func writing(f func(n int, line []byte) []string) fault {
	return hosting(func(h *hostOptions) {
		h.Store = filing{h.Store, func(l host.Log) host.Log { return &rewritten{Log: l, f: f} }}
	})
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

// indented has a line for each member.
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

// buffered writes blocks, and forgets to flush the last one.
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

// later writes a log when the next one begins: not before its session has ended.
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

// Close leaves the file open to flush; without another session it is never written, as when a process is killed.
func (h *held) Close() error { return nil }

func (h *held) flush() {
	for _, line := range h.lines {
		_ = h.Log.Append(line) // too late for anybody to hear of it
	}
	_ = h.Log.Close()
}

// lagging is always some lines behind.
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
		s.log = &shared{Log: l}
		return s.log, nil
	}
	return &alias{shared: s.log.(*shared), own: l}, nil
}

// shared stays open behind its session, as the next one is written to it.
type shared struct {
	host.Log
	lines int
}

func (s *shared) Append(line []byte) error {
	s.lines++
	return s.Log.Append(line)
}

func (s *shared) Close() error { return nil }

// alias is a session of its own in the file of another.
type alias struct {
	*shared
	own host.Log
}

func (a *alias) ID() string   { return a.own.ID() }
func (a *alias) Close() error { return a.own.Close() }

// sameID gives each session of a day the same id.
type sameID struct{ host.Log }

func (s sameID) ID() string { return s.Log.ID()[:len("s-20260213-")] + "001" }

// namesLogBefore names the log of the session before.
func namesLogBefore() host.Outbound {
	before := any(nil)
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.SessionEnded {
			own := msg.Payload()["logFile"]
			if before != nil {
				msg.Payload()["logFile"] = before
			}
			before = own
		}
		send(msg)
	}
}

// namesParticipant names a log after who takes part.
func namesParticipant(h *hostOptions) {
	who := ""
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.SessionStart {
			who = fmt.Sprint(msg.Payload()["participantId"])
		}
		return []message{msg}
	}
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.SessionEnded {
			msg.Payload()["logFile"] = "logs/study/" + strings.ReplaceAll(who, "..", "") + ".jsonl"
		}
		send(msg)
	}
}
