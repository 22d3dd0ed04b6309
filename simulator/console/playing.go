package console

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/cut"
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

// held returns the held messages, each cut to the given number of bytes; 0 for all bytes.
func (s *session) held(most int) []HeldMessage {
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
	return given(s.player.Faults(), nil)
}

func (s *session) showHeld(http.ResponseWriter, *http.Request) (any, error) {
	if err := s.requireKind(kindPlay); err != nil {
		return nil, err
	}
	return s.held(0), nil
}

// mostDelay bounds how long a held message may be delayed.
const mostDelay = time.Hour

// decide decides on a held message.
func (s *session) decide(_ http.ResponseWriter, r *http.Request) (any, error) {
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
		return nil, fail(http.StatusNotFound, "no message "+strconv.Quote(r.PathValue("n"))+" is held (GET held lists them)")
	}
	if err := read(r, &q); err != nil {
		return nil, err
	}
	if q.Body != nil && q.Base64 != nil || q.Instead != nil && (q.Body != nil || q.Base64 != nil) {
		return nil, fail(http.StatusBadRequest,
			"body, base64 and instead each say what is sent in the message's place (give one of them)")
	}
	d := Decision{Drop: q.Do == "drop"}
	if q.Do != "send" && q.Do != "drop" {
		return nil, fail(http.StatusBadRequest, "do: "+strconv.Quote(q.Do)+" is not a decision (send or drop)")
	}
	if q.After != "" {
		if d.After, err = time.ParseDuration(q.After); err != nil || d.After < 0 || d.After > mostDelay {
			return nil, fail(http.StatusBadRequest,
				"after: "+strconv.Quote(q.After)+" is not a duration up to 1h, such as 500ms")
		}
	}
	if q.Body != nil {
		d.Instead = append(d.Instead, []byte(*q.Body))
	}
	if q.Base64 != nil {
		body, err := base64.StdEncoding.DecodeString(*q.Base64)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "base64: "+err.Error())
		}
		d.Instead = append(d.Instead, body)
	}
	for _, text := range q.Instead {
		d.Instead = append(d.Instead, []byte(text))
	}
	if d.Drop && d.Instead != nil {
		return nil, fail(http.StatusBadRequest, "a message is dropped, or another is sent in its place, not both")
	}
	if err := s.player.Decide(n, d); err != nil {
		return nil, err
	}
	return s.held(0), nil
}

// minds are the minds of a player.
var minds = []string{"auto", "ask", "script", "mutant"}

func (s *session) setMind(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Mind  string   `json:"mind"`
		Types []string `json:"types"`
	}
	return s.change(r, &q, func() error {
		for _, m := range minds {
			if m == q.Mind {
				if err := s.haveTypes(q.Types); err != nil {
					return err
				}
				return s.player.SetMind(r.Context(), q.Mind, q.Types...)
			}
		}
		return fail(http.StatusBadRequest, "mind: "+strconv.Quote(q.Mind)+" is not one of "+strings.Join(minds, ", "))
	})
}

func (s *session) setMutant(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Mutant *string `json:"mutant"`
	}
	return s.change(r, &q, func() error {
		name, err := required("mutant", q.Mutant)
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
		return s.change(r, &q, func() error {
			text, err := required("script", q.Script)
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
	return s.change(r, &struct{}{}, func() error { return s.player.SetScript(r.Context(), string(text)) })
}

func (s *session) reset(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.change(r, &struct{}{}, func() error { return s.player.Reset(r.Context()) })
}

// change changes a play, and answers with the session.
func (s *session) change(r *http.Request, q any, do func() error) (any, error) {
	if err := s.requireKind(kindPlay); err != nil {
		return nil, err
	}
	if err := read(r, q); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	s.log.changed()
	return s.view(), nil
}

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
