package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/simulator/script"
	"parley/transcript"
)

// script answers with a script of what the program's peer did: of a test, the target.
func (s *session) script(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.kind == kindReplay {
		return nil, s.only(kindPlay)
	}
	head := script.Script{Name: oneLine(r.FormValue("name")), Protocol: s.protocol, As: s.look().As}
	if head.Name == "" {
		head.Name = "session-" + s.id
	}
	if s.kind == kindTest {
		head.As = s.test.Role()
	}
	deeds, err := s.deeds()
	if err != nil {
		return nil, err
	}
	text, err := script.Record(head, deeds)
	if err != nil {
		return nil, fail(http.StatusConflict, err.Error())
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(text)
	return nil, nil
}

// recorded collects deeds with the records that they come from.
type recorded struct {
	s       *session
	program transcript.Dir    // of what the program did
	names   map[string]string // of connections, as a play calls them
	all     []script.Deed
	from    []int // number of the record of each
}

// deeds returns what program and peer did, the answer to an HTTP request right behind it.
func (s *session) deeds() ([]script.Deed, error) {
	d := &recorded{s: s, program: transcript.Received, names: map[string]string{}}
	if s.kind == kindTest {
		d.program = transcript.Sent
	}
	for _, r := range s.records.After(0) {
		if r.Cut > 0 {
			return nil, fail(http.StatusConflict, "record "+strconv.Itoa(r.N)+
				" is too long to be kept whole (no script can repeat it)")
		}
		if r.Kind == transcript.Open && r.Dir != d.program && r.Reply == 0 {
			return nil, fail(http.StatusConflict, "the program is the server here "+
				"(scripts are saved of parties that are servers)")
		}
		r.Bytes = []byte(s.redact(string(r.Bytes)))
		if r.Dir == d.program {
			d.did(r)
		} else if r.Dir != transcript.Noted {
			d.answered(r)
		}
	}
	return d.all, nil
}

// did adds what the program did.
func (d *recorded) did(r transcript.Record) {
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
	d.all, d.from = append(d.all, script.Deed{Program: true, Message: m}), append(d.from, r.N)
}

// answered adds what the peer did.
func (d *recorded) answered(r transcript.Record) {
	a := script.Action{Do: script.Send, Party: d.names[r.Conn], Body: r.Bytes, Binary: r.Type == "binary"}
	at := len(d.all)
	switch r.Kind {
	case transcript.Frame:
	case transcript.Stream:
		if r.Type != "message" {
			a.Event = r.Type
		}
	case transcript.Response:
		a.Do, a.Status, a.Party, a.Header = script.Respond, r.Status, "", map[string]string{"Content-Type": r.Type}
		if i := slices.Index(d.from, r.Reply); i >= 0 && r.Reply > 0 {
			at = i + 1
			if d.all[i].Message.Kind == "open" {
				a.Do = script.Refuse
			}
		}
	case transcript.Closed:
		if d.s.kind == kindPlay && !strings.Contains(r.Label, "harness") || d.s.kind == kindTest && r.Label == "" {
			return
		}
		a.Do, a.Body, a.Binary = script.Close, nil, false
	default:
		return
	}
	d.all = slices.Insert(d.all, at, script.Deed{Action: a})
	d.from = slices.Insert(d.from, at, 0)
}
