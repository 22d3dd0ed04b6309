package console

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parley/simulator"
	"parley/steps"
	"parley/transport/transcript"
)

// Copies are the forms in which somebody can send a message again elsewhere. A form that would not send the same bytes
// to such a target is empty.
type Copies struct {
	Connect string `json:"connect"` // a line of parley connect
	Curl    string `json:"curl"`    // a command, without headers that the profile adds
	Step    string `json:"step"`    // a raw step of a scenario
}

// showCopies answers with the forms of the message with a number.
func (s *session) showCopies(_ http.ResponseWriter, r *http.Request) (any, error) {
	n, err := queryNumber(r, "n", 0, 1<<50)
	if err != nil {
		return nil, err
	}
	some := s.records.Page(n-1, 1)
	if len(some) == 0 || some[0].N != n {
		return nil, newError(http.StatusNotFound, "there is no record "+strconv.Itoa(n)+" in session "+s.id)
	}
	return s.copiesOf(some[0]), nil
}

// withPath matches the label of a request: its method and path, and perhaps the type of its message.
var withPath = regexp.MustCompile(`^([A-Z]+) (/\S*)(?: [^(]\S*)?$`)

// partyWord matches the name of a party that a raw line can have, as package terminal reads it.
var partyWord = regexp.MustCompile(`^[\pL\d_-]+$`)

// copiesOf returns the forms of a message that went to a target or to a server. A message from which a secret was
// removed, or of which only a part was kept, has none.
func (s *session) copiesOf(r transcript.Record) (out Copies) {
	text := string(r.Bytes)
	if r.Cut > 0 || s.redact(text) != text || s.redact(r.Label) != r.Label {
		return out
	}
	request := withPath.FindStringSubmatch(r.Label)
	message := text
	switch {
	case r.Kind == transcript.Request && request != nil:
		message = request[1] + " " + request[2] + " " + text
	case r.Kind == transcript.Open && request != nil:
		message = ""
	case r.Kind != transcript.Frame:
		return out
	}
	if base := s.serverURL(r); request != nil && base != "" && utf8.ValidString(text) {
		out.Curl = curl(r, base+request[2], request[1])
	}
	name, own := s.ownParty(r)
	if !own || message == "" {
		return out
	}
	binary := r.Type == "binary"
	oneLine := utf8.ValidString(message) && !strings.ContainsAny(message, "\r\n")
	if oneLine && !binary && partyWord.MatchString(r.Conn) {
		out.Connect = r.Conn + "> " + message
	}
	step, arg := steps.RawStep(name, []byte(message), binary)
	out.Step = simulator.StepLines("When", step, arg)
	return out
}

// ownParty returns the party of a message that the harness sent to a target, as steps call it.
func (s *session) ownParty(r transcript.Record) (name string, own bool) {
	switch {
	case r.Conn == "" || r.Dir != transcript.Sent:
		return "", false
	case s.kind == kindTest:
		return s.test.PartyName(r.Conn), true
	case s.kind == kindReplay: // a recording of a run or of a session names the role of the target
		return r.Conn, s.replay.header.Role != "" && s.sentFirst()
	}
	return "", false
}

// sentFirst reports whether who recorded opened the first connection.
func (s *session) sentFirst() bool {
	for _, r := range s.records.Page(0, usualRecords) {
		if r.Kind == transcript.Open || r.Kind == transcript.Request {
			return r.Dir == transcript.Sent
		}
	}
	return false
}

// serverURL returns the URL of the server to which a request went; "" if it did not go to one, or its URL is unknown.
func (s *session) serverURL(r transcript.Record) string {
	url := s.sessionView().URL
	toServer := r.Dir == transcript.Sent
	if s.kind == kindPlay && !s.dials || s.kind == kindReplay && !s.sentFirst() {
		toServer = r.Dir == transcript.Received
	}
	if !toServer || !strings.HasPrefix(url, "http") {
		return ""
	}
	return strings.TrimSuffix(url, "/")
}

// curl writes a request as a command of a shell.
func curl(r transcript.Record, url, method string) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	words := []string{"curl -sS"}
	if r.Kind == transcript.Open {
		words = append(words, "-N -H 'Accept: text/event-stream'")
		if r.ID != "" {
			words = append(words, "-H", quoted("Last-Event-ID: "+r.ID))
		}
	}
	if method != http.MethodGet && (method != http.MethodPost || len(r.Bytes) == 0) {
		words = append(words, "-X", method)
	}
	words = append(words, quoted(url))
	if len(r.Bytes) > 0 {
		if jsontext.Value(r.Bytes).IsValid() {
			words = append(words, "-H 'Content-Type: application/json'")
		}
		words = append(words, "--data-binary", quoted(string(r.Bytes)))
	}
	return strings.Join(words, " ")
}
