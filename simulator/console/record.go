package console

import (
	"context"
	"encoding/base64"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/transport/transcript"
)

// Record is a record as the API shows it, without secrets.
type Record struct {
	N       int      `json:"n"`
	At      float64  `json:"at"` // milliseconds since the session began
	Party   string   `json:"party"`
	Dir     string   `json:"dir"` // sent, received or noted: see package transcript
	Kind    string   `json:"kind"`
	Label   string   `json:"label"`
	Type    string   `json:"type"`            // of the message in the protocol; "" if it has none
	Media   string   `json:"media,omitempty"` // media type, opcode, or event type of an event stream
	Text    *string  `json:"text,omitempty"`
	Base64  *string  `json:"base64,omitempty"` // instead of Text, for bytes that are not UTF-8
	Cut     int      `json:"cut,omitempty"`    // number of omitted bytes
	Status  int      `json:"status,omitempty"`
	To      int      `json:"to,omitempty"` // number of the record that it answers
	Late    bool     `json:"late,omitempty"`
	Clauses []string `json:"clauses"` // clauses that it breaks, as found so far
}

// source holds the records of a session: a transcript, or a recording.
type source interface {
	After(mark int) []transcript.Record
	Page(mark, limit int) []transcript.Record // the first ones after mark
	Len() int                                 // number of the latest record
	Overflow() int
	Await(ctx context.Context, mark int, match func(*transcript.Record) bool) (transcript.Record, error)
}

// still are the records of a recording. Their numbers grow, and may have gaps.
type still []transcript.Record

func (s still) After(mark int) []transcript.Record {
	return s[sort.Search(len(s), func(i int) bool { return s[i].N > mark }):]
}

func (s still) Page(mark, limit int) []transcript.Record {
	after := s.After(mark)
	return after[:min(limit, len(after))]
}

func (s still) Len() int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].N
}

func (s still) Overflow() int { return 0 }

// Await returns the first record above mark that matches. If there is none, it waits for the end of ctx, since no more
// records come.
func (s still) Await(ctx context.Context, mark int, match func(*transcript.Record) bool) (transcript.Record, error) {
	for _, r := range s.After(mark) {
		if match(&r) {
			return r, nil
		}
	}
	<-ctx.Done()
	return transcript.Record{}, context.Cause(ctx)
}

// shown returns a record as the API shows it.
func (s *session) shown(r transcript.Record) Record {
	out := Record{N: r.N, At: float64(r.At.Microseconds()) / 1000, Party: r.Conn, Dir: string(r.Dir), Kind: string(r.Kind),
		Label: s.redact(r.MaskedLabel()), Type: s.typeOf(r), Media: r.Type, Cut: r.Cut, Status: r.Status, To: r.Reply,
		Late:    r.Late,
		Clauses: s.broken(r.N)}
	if r.Bytes == nil {
		return out
	}
	text := s.redact(string(r.Bytes))
	if utf8.ValidString(text) {
		out.Text = &text
	} else {
		coded := base64.StdEncoding.EncodeToString([]byte(text))
		out.Base64 = &coded
	}
	return out
}

// typeOf returns the type of a record's message in the protocol.
func (s *session) typeOf(r transcript.Record) string {
	raw := r.Kind == transcript.Request && strings.HasPrefix(r.Type, "raw ") // as transport/driver/sse writes it
	switch {
	case r.Event != nil && r.Event.Type != "" && !raw:
		return r.Event.Type
	case r.Kind == transcript.Request && r.Type != "" && !raw:
		return r.Type
	case s.types != nil && len(r.Bytes) > 0:
		return s.types(s.protocol, r.Bytes)
	}
	return ""
}

func (s *session) shownAll(records []transcript.Record) []Record {
	out := make([]Record, len(records))
	for i, r := range records {
		out[i] = s.shown(r)
	}
	return out
}

// Bounds of one answer with records.
const (
	usualRecords = 1000
	mostRecords  = 10_000
	mostBytes    = 16 << 20 // of payload, but at least one record
)

// batch returns the first n records, fewer if their payloads are long.
func batch(records []transcript.Record, n, payload int) []transcript.Record {
	n = min(n, len(records))
	for i, size := 0, 0; i < n; i++ {
		if size += len(records[i].Bytes); size > payload && i > 0 {
			return records[:i]
		}
	}
	return records[:n]
}

// number reads a number of the query; usual if it is missing.
func number(r *http.Request, name string, usual, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fail(http.StatusBadRequest, "?"+name+"= is a number from 0 to "+strconv.Itoa(most)+", and not "+
			strconv.Quote(text))
	}
	return n, nil
}

// showRecords answers with records after a number.
func (s *session) showRecords(_ http.ResponseWriter, r *http.Request) (any, error) {
	after, err := number(r, "after", 0, 1<<50)
	if err != nil {
		return nil, err
	}
	limit, err := number(r, "limit", usualRecords, mostRecords)
	if err != nil {
		return nil, err
	}
	return s.shownAll(batch(s.records.Page(after, limit), limit, mostBytes)), nil
}

// wanted describes an awaited record. Empty members match every record.
type wanted struct {
	After  int    `json:"after"`
	Type   string `json:"type"`
	Text   string `json:"text"` // part of its line
	Party  string `json:"party"`
	Dir    string `json:"dir"`    // default received
	Within string `json:"within"` // default 10s
}

// Bounds of a wait.
const (
	usualWait = 10 * time.Second
	mostWait  = 10 * time.Minute
	instead   = 20 // records that are shown instead of the awaited one
)

// wait answers with the first record that matches, which may already be there.
func (s *session) wait(_ http.ResponseWriter, r *http.Request) (any, error) {
	q := wanted{Dir: string(transcript.Received)}
	if err := read(r, &q); err != nil {
		return nil, err
	}
	within := usualWait
	if q.Within != "" {
		var err error
		if within, err = time.ParseDuration(q.Within); err != nil || within < 0 || within > mostWait {
			return nil, fail(http.StatusBadRequest, "within: "+strconv.Quote(q.Within)+
				" is not a duration up to "+mostWait.String()+", such as 500ms or 10s")
		}
	}
	if q.Dir != "" && q.Dir != string(transcript.Sent) && q.Dir != string(transcript.Received) {
		return nil, fail(http.StatusBadRequest, "dir: "+strconv.Quote(q.Dir)+
			" is not a direction (sent, received, or an empty text for both)")
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	found, err := s.records.Await(ctx, q.After, func(r *transcript.Record) bool { return s.matches(q, r) })
	if err == nil {
		return s.shown(found), nil
	}
	if s.ctx.Err() != nil {
		return nil, s.over()
	}
	came := s.records.After(max(q.After, s.records.Len()-instead))
	return nil, &Error{Status: http.StatusRequestTimeout, Text: "no such record came within " + within.String(),
		Instead: s.shownAll(came)}
}

// matches reports whether a record is an awaited one.
func (s *session) matches(q wanted, r *transcript.Record) bool {
	return (q.Dir == "" || q.Dir == string(r.Dir)) && (q.Party == "" || q.Party == r.Conn) &&
		(q.Type == "" || q.Type == s.typeOf(*r)) && (q.Text == "" || strings.Contains(s.redact(r.Line(0)), q.Text))
}
