package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/script"
	"parley/transport/transcript"
)

// answerScript answers with a script of the actions of the program's peer; in a test, the peer is the target.
func (s *session) answerScript(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.kind == kindReplay {
		return nil, s.requireKind(kindPlay)
	}
	head := script.Script{Name: oneLine(r.FormValue("name")), Protocol: s.protocol, As: s.sessionView().As}
	if head.Name == "" {
		head.Name = "session-" + s.id
	}
	if s.kind == kindTest {
		head.As = s.test.Role()
	}
	actions, err := s.recordedActions()
	if err != nil {
		return nil, err
	}
	text, err := script.Record(head, actions)
	if err != nil {
		return nil, newError(http.StatusConflict, err.Error())
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(text)
	return nil, nil
}

// actionCollector collects actions.
type actionCollector struct {
	s       *session
	program transcript.Dir    // of the program's messages
	names   map[string]string // of connections, as a play calls them
	all     []script.RecordedAction
	at      map[int]int // position of a request, from 1, by the number of its record
	size    int         // bytes of the answers
}

// recordedActions returns the actions of program and peer, in the order of the records.
func (s *session) recordedActions() ([]script.RecordedAction, error) {
	d := &actionCollector{s: s, program: transcript.Received, names: map[string]string{}, at: map[int]int{}}
	if s.kind == kindTest {
		d.program = transcript.Sent
	}
	began := s.began
	if t, is := s.records.(interface{ Began() time.Time }); is {
		began = t.Began()
	}
	for after, some := 0, s.records.Page(0, usualRecords); len(some) > 0; some = s.records.Page(after, usualRecords) {
		for _, r := range some {
			after = r.N
			if err := d.addAction(r, began.Add(r.At)); err != nil {
				return nil, err
			}
		}
	}
	return d.all, nil
}

// addAction adds the action of a record.
func (d *actionCollector) addAction(r transcript.Record, at time.Time) error {
	refuse := func(text string) error { return newError(http.StatusConflict, text) }
	if r.Cut > 0 {
		return refuse("record " + strconv.Itoa(r.N) + " is too long to be kept whole (no script can repeat it)")
	}
	if r.Kind == transcript.Open && r.Dir != d.program && r.Reply == 0 {
		return refuse("the program is the server here (scripts are saved of parties that are servers)")
	}
	r.Bytes = []byte(d.s.redact(string(r.Bytes)))
	if r.Dir == d.program && r.Kind != transcript.Closed {
		d.addProgramAction(r, at)
	} else if r.Dir != transcript.Noted {
		d.addPeerAction(r, at)
	}
	if d.size > script.MaxText {
		return refuse("the session is too long for a script, which has at most " + strconv.Itoa(script.MaxText>>20) +
			" MiB (save the recording)")
	}
	return nil
}

// addProgramAction adds an action of the program.
func (d *actionCollector) addProgramAction(r transcript.Record, at time.Time) {
	m := script.Message{Body: r.Bytes}
	switch r.Kind {
	case transcript.Open:
		m.Kind = "open"
		d.names[r.Conn] = "C" + strconv.Itoa(len(d.names)+1)
	case transcript.Request:
		m.Kind = "request"
	case transcript.Frame, transcript.Stream:
		m.Kind = "message"
	default:
		return
	}
	if fields := strings.Fields(r.Label); m.Kind != "message" && len(fields) > 1 {
		m.Method, m.Path = fields[0], fields[1]
		if u, err := url.Parse(m.Path); err == nil {
			m.Path = u.Path
		}
	}
	if m.Kind == "open" {
		m.Body = nil // the head of the request
	}
	if d.s.types != nil && len(m.Body) > 0 {
		m.Type = d.s.types(d.s.protocol, m.Body)
	}
	m.Party = d.names[r.Conn]
	d.all = append(d.all, script.RecordedAction{Program: true, Message: m, Time: at})
	d.at[r.N] = len(d.all)
	d.size += len("- on: {}\n  times: 1\n")
}

// addPeerAction adds an action of the peer.
func (d *actionCollector) addPeerAction(r transcript.Record, at time.Time) {
	a := script.Action{Do: script.Send, Party: d.names[r.Conn], Body: r.Bytes, Binary: r.Type == "binary"}
	answers := 0
	switch r.Kind {
	case transcript.Frame:
	case transcript.Stream:
		if r.Type != "message" {
			a.Event = r.Type
		}
	case transcript.Response:
		a.Do, a.Status, a.Party, a.Header = script.Respond, r.Status, "", map[string]string{"Content-Type": r.Type}
		if answers = d.at[r.Reply]; answers > 0 && d.all[answers-1].Message.Kind == "open" {
			a.Do = script.Refuse
		}
	case transcript.Closed:
		if a.Do = peerEnding(r.Label, d.s.kind == kindTest); a.Do == "" {
			return
		}
		a.Body, a.Binary = nil, false
	default:
		return
	}
	d.all = append(d.all, script.RecordedAction{Action: a, Time: at, Reply: answers})
	d.size += len(a.Body)
}

// peerEnding returns how the program's peer has ended a connection, from the label of the record; "" if it has not. In
// a test the peer is the target, and the harness plays the program.
func peerEnding(label string, test bool) string {
	by := map[bool][]string{true: {"the target"}, false: {"the peer", "closed by the harness", "cut off by the harness",
		"ended by the harness"}}
	peer := slices.ContainsFunc(by[test], func(who string) bool { return strings.HasPrefix(label, who) })
	off := strings.Contains(label, "broke") || strings.HasPrefix(label, "cut off")
	switch {
	case test && off, peer && off: // a driver knows nothing more about a connection that broke off
		return script.Cut
	case peer:
		return script.Close
	}
	return ""
}
