package console

import (
	"context"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/simulator/fault"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// HeldMessage is a message that waits for a decision, as the API shows it.
type HeldMessage struct {
	N      int       `json:"n"`
	Party  string    `json:"party"`
	Type   string    `json:"type"`
	To     string    `json:"to"`
	Text   *string   `json:"text,omitempty"`
	Base64 *string   `json:"base64,omitempty"`
	Cut    int       `json:"cut,omitempty"` // bytes omitted from an event
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // when it is sent on without a decision
}

// heldInEvent bounds the body of a held message in an event, since each event has all held messages.
const heldInEvent = 16 << 10

// heldMessages returns the held messages, each cut to the given number of bytes; 0 for all bytes.
func (s *session) heldMessages(most int) []HeldMessage {
	out := []HeldMessage{}
	for _, h := range s.player.Held() {
		one := HeldMessage{N: h.N, Party: h.Party, Type: h.Type, To: h.To, Since: h.Since.UTC(), Until: h.Until.UTC()}
		text := s.redact(string(h.Body))
		if whole := len(text); most > 0 && whole > most {
			text = string(cut.Bytes([]byte(text), most))
			one.Cut = whole - len(text)
		}
		if utf8.ValidString(text) {
			one.Text = &text
		} else {
			coded := base64.StdEncoding.EncodeToString([]byte(text))
			one.Base64 = &coded
		}
		out = append(out, one)
	}
	return out
}

// showFaults shows what the faults of a play have done, also after its end.
func (s *session) showFaults(http.ResponseWriter, *http.Request) (any, error) {
	if s.kind != kindPlay {
		return nil, s.requireKind(kindPlay)
	}
	return neverNil(s.player.Faults(), nil)
}

func (s *session) showHeld(http.ResponseWriter, *http.Request) (any, error) {
	if err := s.requireKind(kindPlay); err != nil {
		return nil, err
	}
	return s.heldMessages(0), nil
}

// mostDelay bounds how long a held message may be delayed.
const mostDelay = time.Hour

// decideHeld decides on a held message.
func (s *session) decideHeld(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Do      string   `json:"do"`
		Body    *string  `json:"body"`
		Base64  *string  `json:"base64"`
		After   string   `json:"after"`
		Instead []string `json:"instead"`
	}
	if err := s.requireKind(kindPlay); err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		return nil, newError(http.StatusNotFound,
			"no message "+strconv.Quote(r.PathValue("n"))+" is held (GET held lists them)")
	}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	if q.Body != nil && q.Base64 != nil || q.Instead != nil && (q.Body != nil || q.Base64 != nil) {
		return nil, newError(http.StatusBadRequest,
			"body, base64 and instead each say what is sent in the message's place (give one of them)")
	}
	d := Decision{Drop: q.Do == "drop"}
	if q.Do != "send" && q.Do != "drop" {
		return nil, newError(http.StatusBadRequest, "do: "+strconv.Quote(q.Do)+" is not a decision (send or drop)")
	}
	if q.After != "" {
		if d.After, err = time.ParseDuration(q.After); err != nil || d.After < 0 || d.After > mostDelay {
			return nil, newError(http.StatusBadRequest,
				"after: "+strconv.Quote(q.After)+" is not a duration up to 1h, such as 500ms")
		}
	}
	if q.Body != nil {
		d.Instead = append(d.Instead, []byte(*q.Body))
	}
	if q.Base64 != nil {
		body, err := base64.StdEncoding.DecodeString(*q.Base64)
		if err != nil {
			return nil, newError(http.StatusBadRequest, "base64: "+err.Error())
		}
		d.Instead = append(d.Instead, body)
	}
	for _, text := range q.Instead {
		d.Instead = append(d.Instead, []byte(text))
	}
	if d.Drop && d.Instead != nil {
		return nil, newError(http.StatusBadRequest, "a message is dropped, or another is sent in its place, not both")
	}
	h, _ := s.heldNumbered(n)
	after := s.records.Len()
	s.keepEdits(h, after, d) // before its record comes
	if err := s.player.Decide(n, d); err != nil {
		s.forgetEdits(h, after)
		return nil, err
	}
	return s.heldMessages(0), nil
}

// minds are the minds of a player.
var minds = []string{"auto", "ask", "script", "mutant"}

func (s *session) setMind(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Mind  string   `json:"mind"`
		Types []string `json:"types"`
	}
	return s.changePlay(r, &q, func() error {
		for _, m := range minds {
			if m == q.Mind {
				if err := s.haveTypes(q.Types); err != nil {
					return err
				}
				return s.player.SetMind(r.Context(), q.Mind, q.Types...)
			}
		}
		return newError(http.StatusBadRequest, "mind: "+strconv.Quote(q.Mind)+" is not one of "+strings.Join(minds,
			", "))
	})
}

func (s *session) setMutant(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Mutant *string `json:"mutant"`
	}
	return s.changePlay(r, &q, func() error {
		name, err := requireMember("mutant", q.Mutant)
		if err != nil {
			return err
		}
		return s.player.SetMutant(r.Context(), name)
	})
}

// setScript arms a script: the body is its YAML, or as JSON {"script": the name of a ready one, or the text}.
func (s *session) setScript(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Script *string `json:"script"`
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "application/json" {
		return s.changePlay(r, &q, func() error {
			text, err := requireMember("script", q.Script)
			if err != nil {
				return err
			}
			return s.player.SetScript(r.Context(), text)
		})
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = http.NoBody
	r.Header.Del("Content-Type")
	return s.changePlay(r, &struct{}{}, func() error { return s.player.SetScript(r.Context(), string(text)) })
}

func (s *session) resetPlay(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.changePlay(r, &struct{}{}, func() error { return s.player.Reset(r.Context()) })
}

// changePlay changes a play, and answers with the session.
func (s *session) changePlay(r *http.Request, q any, do func() error) (any, error) {
	if err := s.requireKind(kindPlay); err != nil {
		return nil, err
	}
	if err := readBody(r, q); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	s.log.wakeForState()
	return s.sessionView(), nil
}

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Player plays a party of a protocol for a user's program. It is safe for concurrent use.
type Player interface {
	Protocol() string
	As() string
	Driver() string // "" if it depends on the program
	URL() string    // where the program reaches it, or the program's for a party that is a client
	// Transcript has the messages that the program sent (received) and got (sent).
	Transcript() *transcript.Transcript
	Redact(text string) string // removes secrets
	Parties() []string         // names of the open connections
	State() PlayState
	// SetMind sets the mind for messages of some types; without types, for all that have no mind of their own.
	SetMind(ctx context.Context, mind string, types ...string) error
	// SetScript arms a script: the name of a ready one, or the text of one.
	SetScript(ctx context.Context, script string) error
	// SetMutant replaces the bundled target by one with a fault; "" is the correct one. Open connections end.
	SetMutant(ctx context.Context, name string) error
	Held() []Held // oldest first
	// Decide decides on a held message; an *Error with status 404 if it is not held.
	Decide(n int, d Decision) error
	// Send sends a message to the program on an open connection, and returns the number of its record; 0 if it was not
	// sent.
	Send(ctx context.Context, party string, body []byte) (mark int, err error)
	Hang(ctx context.Context, party string, how driver.CloseMode) error
	// Changed returns a channel that closes when a message is held or no longer held, or the mind changes.
	Changed() <-chan struct{}
	Reset(ctx context.Context) error
	// Judge returns the judge of the program's messages; nil if they are not judged, and Unjudged then says why. With
	// PlayOptions.To it judges both sides, and reports findings on the server only through PlayOptions.Found.
	Judge() Judge
	Unjudged() string
	Faults() []fault.Fired // what each fault has done, in the order of the file; nil without faults
	Close()                // may be called again
}

// Judge judges the messages of a program. It is safe for concurrent use.
type Judge interface {
	Role() string                         // in which the program is judged
	Clauses() []string                    // those that can be judged
	Outcomes() map[string]verdict.Outcome // the worst so far, by clause
	Untested() (ids []string, why string) // clauses without an outcome because of faults
	Findings() []steps.Failure            // the first of each monitor and clause
	Check() int                           // judges all records so far
	// Owed returns what is owed after all records so far, as steps.Owing.Read does; modelled is false if nothing is known
	// of that. Record is the number of a record of Player.Transcript, unless At is set.
	Owed() (list []steps.Owed, count int, modelled bool)
	// Follow judges until ctx ends, and calls tell, from one goroutine, with each finding, and without a finding when an
	// outcome has changed.
	Follow(ctx context.Context, tell func([]steps.Failure))
}

// ProgramJudge is an optional interface of a Judge of both sides of a play between a program and its server, whose
// records are those of the program's end.
type ProgramJudge interface {
	ProgramRole() string // in which the program alone is judged; "" if it is not
}

// PlayState is the state of a player.
type PlayState struct {
	Mind   string            // auto, ask, script or mutant
	Types  map[string]string // minds for messages of some types
	Mutant string            // id of the fault; "" for none
	Script string            // name of the script; "" for none
}

// Held is a message to the program that waits for a decision.
type Held struct {
	N            int    // identifies it within the play
	Party        string // the connection it is for; "" for an HTTP answer
	Type         string // in the protocol; "" if it has none
	To           string // for people, what it answers, such as "POST /message"
	Body         []byte // what is sent if no decision is made
	Since, Until time.Time
}

// Decision says what happens to a held message.
type Decision struct {
	Drop    bool
	After   time.Duration // how long it is delayed
	Instead [][]byte      // sent instead of it; nil: itself
}
