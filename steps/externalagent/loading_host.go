package externalagent

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// loadPushed are the state.updated that the host sends after each call, before the participant's words.
const loadPushed = 2

// loadedHost is the host of a relay session under load, which the harness plays. It shows little: what it sends
// contains names that nothing else has, so that each message can be recognised. It implements steps.LoadSession.
type loadedHost struct {
	agent *loaded
	in    passage // from the agent
	out   passage // to the agent
	study string
	act   string
}

// passage has the messages that a relay must still pass on in one direction, oldest first.
type passage struct {
	due   []object
	early int // messages with names up to this one may have been lost with a connection, or not
	of    *loaded
}

// add notes a message that is about to be sent.
func (p *passage) add(env object) { p.due = append(p.due, env) }

// take judges a message that was passed on: it is the oldest that is due, as it was sent.
func (p *passage) take(r *transcript.Record, from string, out *steps.LoadStep) {
	i := slices.IndexFunc(p.due, func(e object) bool {
		return e[vocab.Type] == kindOf(r) && wjson.Equal(e[vocab.Payload], r.Event.Data)
	})
	clauses := append([]string{"EA-025"}, model.Passing[kindOf(r)]...)
	for _, lost := range p.due[:max(i, 0)] {
		clauses = append(clauses, model.Passing[steps.Text(lost, "type")]...)
	}
	clauses = slices.DeleteFunc(clauses, func(c string) bool { return !slices.Contains(loadClauses[vocab.Relay], c) })
	switch {
	case i < 0 && (kindOf(r) == vocab.ErrorMessage || p.of.newest(string(r.Bytes)) <= p.early):
		return
	case i < 0:
		out.Find(r, false, "nothing but what "+from+" has sent, each once and unchanged", clauses...)
		return
	}
	expected := fmt.Sprintf("the next message of %s, in order: %s", from, cut.Head(wjson.Compact(p.due[0]), 300))
	out.Find(r, i == 0, expected, clauses...)
	p.due = p.due[i+1:]
}

// newest returns the number of the newest name of the session in a text; 0 if there is none.
func (l *loaded) newest(text string) (most int) {
	for {
		_, rest, found := strings.Cut(text, l.mark.Prefix())
		if !found {
			return most
		}
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(rest)
		}
		n, _ := strconv.Atoi(rest[:digits])
		most, text = max(most, n), rest
	}
}

// forgets notes that a connection is lost, with what was on its way.
func (h *loadedHost) forgets() {
	h.in = passage{of: h.agent, early: h.agent.serial}
	h.out = h.in
}

// rests reports whether all that was sent has arrived.
func (h *loadedHost) rests() bool { return len(h.in.due) == 0 && len(h.out.due) == 0 }

// Dial implements steps.LoadSession. It forgets its session, like a host that has begun anew.
func (h *loadedHost) Dial() driver.OpenOptions {
	h.forgets()
	h.act, h.agent.study, h.study = steps.LoadConnect, "", ""
	return driver.OpenOptions{URL: h.agent.url, Header: h.agent.env.Profile.Header()}
}

// Act implements steps.LoadSession. A host has no acts of its own.
func (h *loadedHost) Act(string) []driver.Message { return nil }

// HandleRecord implements steps.LoadSession.
func (h *loadedHost) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	l := h.agent
	switch {
	case r.Dir != transcript.Received:
		return out
	case r.Kind == transcript.Open:
		m, _ := message(envelope(vocab.RelayJoin, l.mark.Prefix()+"host", "",
			object{"role": l.wire.HostRole, vocab.SessionID: l.relay}))
		out.Send = []driver.Message{m}
		return out
	}
	if alien := l.mark.Foreign(string(r.Bytes)); alien != "" {
		out.Find(r, false, "nothing of another relay session, as "+alien+" is", "EA-025")
		return out
	}
	switch {
	case r.Event == nil:
		return out
	case kindOf(r) == vocab.RelayJoined:
		out.Done, h.act = h.act == steps.LoadConnect, ""
		return out
	case kindOf(r) == vocab.ErrorMessage:
		out.Failed = "the relay refuses its host"
		return out
	}
	h.in.take(r, "the agent", &out)
	for _, env := range h.answers(r) {
		h.out.add(env)
		m, _ := message(env)
		out.Send = append(out.Send, m)
	}
	var other steps.LoadStep
	if l.proceeds(&other); other.Done || len(other.Send) > 0 {
		out.Other = &other
	}
	return out
}

// word returns a name that nothing else has.
func (h *loadedHost) word() string {
	h.agent.serial++
	return h.agent.mark.Nonce(h.agent.serial)
}

// state returns a state that differs from all others.
func (h *loadedHost) state() object {
	return object{vocab.Spec: object{"stage": vocab.MovieStage, "title": h.word()}, vocab.MessageHistory: []any{},
		vocab.ToolSchema: []any{}}
}

// answers returns what the host sends after a message of the agent.
func (h *loadedHost) answers(r *transcript.Record) []object {
	id := field(r, vocab.ID)
	switch kindOf(r) {
	case vocab.SessionStart:
		h.study = "s-" + h.word()
		return []object{envelope(vocab.SessionStarted, "", id, object{vocab.SessionID: h.study})}
	case vocab.SnapshotGet:
		if h.study == "" {
			return []object{envelope(vocab.ErrorMessage, "", id, notActive)}
		}
		s := h.state()
		s[vocab.SessionID] = h.study
		return []object{envelope(vocab.SnapshotState, "", id, s)}
	case vocab.ToolCall:
		out := []object{envelope(vocab.ToolResult, "", id, object{"ok": true, vocab.ToolName: payload(r)[vocab.ToolName],
			vocab.Spec: h.state()[vocab.Spec]})}
		for range loadPushed {
			s := h.state()
			s["source"] = vocab.SourceHost
			out = append(out, envelope(vocab.StateUpdated, "", "", s))
		}
		return append(out, userSays("the participant says "+h.word(), vocab.MovieStage))
	case vocab.SessionEnd:
		study := h.study
		h.study = ""
		return []object{envelope(vocab.SessionEnded, "", id, object{vocab.SessionID: study, "stateReset": true,
			vocab.LogFile: "logs/" + h.word() + ".jsonl"})}
	}
	return nil
}

// The study log is the host's (EA-010). No clause is about a log of the relay, which may keep one as it likes: a file,
// or a folder of files. All that is observed of it is that the id of a relay session leads no file astray.

// logPlace returns where the target writes: a folder, or, for a relay, also a file.
func (s *suite) logPlace() (string, error) {
	keeper, ok := s.Target.(target.LogKeeper)
	if !ok {
		return "", &target.NotDeclaredError{Key: "external-agent.logs"}
	}
	return keeper.LogFolder()
}

// folderNoted records, as a security matter, whether anything with the scenario's nonce is found around the target's
// logs. A relay that does not mention its relay session in them would not show it, which a note says.
func (s *suite) folderNoted(ctx context.Context) error {
	worked := false
	for _, p := range s.parties {
		worked = worked || slices.ContainsFunc(p.asked, func(q *request) bool { return q.mark > 0 })
	}
	if !worked {
		return steps.NotTestedf("no agent has sent anything")
	}
	place, err := s.logPlace()
	relay := s.Env.Role == vocab.Relay
	switch {
	case err != nil && relay: // relays need not keep logs
		return &steps.NotApplicableError{Reason: "it is unknown whether the relay keeps logs: " + err.Error()}
	case err != nil:
		return steps.NotTestedf("it is unknown where the logs would be: %v", err)
	}
	if relay {
		s.Note("external-agent.logs: for a relay only the location of files is checked, not their content: the log " +
			"belongs to the host, which the harness plays here")
	}
	at, within := astray(place, s.Nonce), ""
	if relay && at == "" {
		if within = mentions(place, s.Nonce); within == "" { // some relays write when they are idle
			quiet, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
			<-quiet.Done()
			cancel()
			at, within = astray(place, s.Nonce), mentions(place, s.Nonce)
		}
	}
	said := "no"
	switch {
	case at != "":
		said = "yes"
		s.Security("path traversal in the relay session's id puts a file outside the log folder: %s", at)
	case within != "":
		said = "no; " + within + ", where it belongs, mentions the session"
	case relay:
		s.Note("external-agent.logs: nothing in %s mentions the relay session, so that this shows little: does the relay "+
			"write its log there?", place)
	}
	s.Observe("EA-066", "a relay session whose id contains path traversal writes outside the log folder: "+said)
	return nil
}

// folderThere makes sure that external-agent.logs names a folder, or, for a relay, a folder or a file.
func (s *suite) folderThere() error {
	place, err := s.logPlace()
	if err != nil {
		return steps.NotTestedf("%v", err)
	}
	what := "a folder"
	if s.Env.Role == vocab.Relay {
		what = "a folder or a file"
	}
	info, err := os.Stat(place)
	check := verdict.Finding{Expected: what + " at external-agent.logs, " + place}
	switch {
	case err != nil:
		check.Observed = err.Error()
	case info.IsDir(), s.Env.Role == vocab.Relay && info.Mode().IsRegular():
		check.OK = true
	case info.Mode().IsRegular():
		check.Observed = "a file"
	default:
		check.Observed = "neither a folder nor a file"
	}
	return s.Need(check)
}

// astray looks for an entry with a scenario's nonce in the folders around a place of logs. If the place is a file, its
// own folder is one of them.
func astray(place, nonce string) string {
	for range 3 {
		place = filepath.Dir(place)
		entries, _ := os.ReadDir(place)
		for _, e := range entries {
			if strings.Contains(e.Name(), "parley-"+nonce) {
				return filepath.Join(place, e.Name())
			}
		}
	}
	return ""
}

// mentions returns the name of a log file that has a scenario's nonce in its name or content; "" if none has. It reads
// at most mostLogs files with mostBytes in all, and opens nothing but files below the place.
func mentions(place, nonce string) (found string) {
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	folder := place
	if info, err := os.Stat(place); err == nil && !info.IsDir() {
		folder = filepath.Dir(place)
	}
	files, left := 0, int64(mostBytes)
	_ = filepath.WalkDir(place, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // e.g. deleted meanwhile
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		files++
		if left -= info.Size(); left < 0 || files > mostLogs {
			return fs.SkipAll
		}
		at, _ := filepath.Rel(folder, name)
		content, _ := readLog(folder, at)
		if strings.Contains(at, "parley-"+nonce) || bytes.Contains(content, []byte("parley-"+nonce)) {
			found = at
			return fs.SkipAll
		}
		return nil
	})
	return found
}
