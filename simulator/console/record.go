package console

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/features/verdict"
	"parley/internal/jsonform"
	"parley/internal/jsonwhy"
	"parley/internal/words"
	"parley/protocol/messages"
	"parley/reports"
	"parley/transport/recording"
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
	Was     *string  `json:"was,omitempty"`    // the message that was held, and in whose place this one was sent
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

// fixedRecords are the records of a recording. Their numbers grow, and may have gaps.
type fixedRecords []transcript.Record

func (s fixedRecords) After(mark int) []transcript.Record {
	return s[sort.Search(len(s), func(i int) bool { return s[i].N > mark }):]
}

func (s fixedRecords) Page(mark, limit int) []transcript.Record {
	after := s.After(mark)
	return after[:min(limit, len(after))]
}

func (s fixedRecords) Len() int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].N
}

func (s fixedRecords) Overflow() int { return 0 }

// Await returns the first record above mark that matches. If there is none, it waits for the end of ctx, since no more
// records come.
func (s fixedRecords) Await(ctx context.Context, mark int, match func(*transcript.Record) bool) (transcript.Record,
	error) {
	for _, r := range s.After(mark) {
		if match(&r) {
			return r, nil
		}
	}
	<-ctx.Done()
	return transcript.Record{}, context.Cause(ctx)
}

// recordView returns a record as the API shows it.
func (s *session) recordView(r transcript.Record) Record {
	out := Record{N: r.N, At: float64(r.At.Microseconds()) / 1000, Party: r.Conn, Dir: string(r.Dir), Kind: string(r.Kind),
		Label: s.redact(r.MaskedLabel()), Type: s.typeOf(r), Media: r.Type, Cut: r.Cut, Status: r.Status, To: r.Reply,
		Late:    r.Late,
		Clauses: s.brokenClauses(r.N)}
	if r.Bytes == nil {
		return out
	}
	out.Was = s.original(r)
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
		out[i] = s.recordView(r)
	}
	return out
}

// Bounds of one answer with records.
const (
	usualRecords = 1000
	mostRecords  = 10_000
	mostBytes    = 16 << 20 // of payload, but at least one record
)

// firstRecords returns the first n records, fewer if their payloads are long.
func firstRecords(records []transcript.Record, n, payload int) []transcript.Record {
	n = min(n, len(records))
	for i, size := 0, 0; i < n; i++ {
		if size += len(records[i].Bytes); size > payload && i > 0 {
			return records[:i]
		}
	}
	return records[:n]
}

// queryNumber reads a number of the query; usual if it is missing.
func queryNumber(r *http.Request, name string, usual, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, newError(http.StatusBadRequest, "?"+name+"= is a number from 0 to "+strconv.Itoa(most)+", and not "+
			strconv.Quote(text))
	}
	return n, nil
}

// showRecords answers with records after a number.
func (s *session) showRecords(_ http.ResponseWriter, r *http.Request) (any, error) {
	after, err := queryNumber(r, "after", 0, 1<<50)
	if err != nil {
		return nil, err
	}
	limit, err := queryNumber(r, "limit", usualRecords, mostRecords)
	if err != nil {
		return nil, err
	}
	return s.shownAll(firstRecords(s.records.Page(after, limit), limit, mostBytes)), nil
}

// wantedRecord describes an awaited record. Empty members match every record.
type wantedRecord struct {
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

// awaitRecord answers with the first record that matches, which may already be there.
func (s *session) awaitRecord(_ http.ResponseWriter, r *http.Request) (any, error) {
	q := wantedRecord{Dir: string(transcript.Received)}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	within := usualWait
	if q.Within != "" {
		var err error
		if within, err = time.ParseDuration(q.Within); err != nil || within < 0 || within > mostWait {
			return nil, newError(http.StatusBadRequest, "within: "+strconv.Quote(q.Within)+
				" is not a duration up to "+mostWait.String()+", such as 500ms or 10s")
		}
	}
	if q.Dir != "" && q.Dir != string(transcript.Sent) && q.Dir != string(transcript.Received) {
		return nil, newError(http.StatusBadRequest, "dir: "+strconv.Quote(q.Dir)+
			" is not a direction (sent, received, or an empty text for both)")
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	found, err := s.records.Await(ctx, q.After, func(r *transcript.Record) bool { return s.matchesRecord(q, r) })
	if err == nil {
		return s.recordView(found), nil
	}
	if s.ctx.Err() != nil {
		return nil, s.endedError()
	}
	came := s.records.After(max(q.After, s.records.Len()-instead))
	return nil, &Error{Status: http.StatusRequestTimeout, Text: "no such record came within " + within.String(),
		Instead: s.shownAll(came)}
}

// matchesRecord reports whether a record is an awaited one.
func (s *session) matchesRecord(q wantedRecord, r *transcript.Record) bool {
	return (q.Dir == "" || q.Dir == string(r.Dir)) && (q.Party == "" || q.Party == r.Conn) &&
		(q.Type == "" || q.Type == s.typeOf(*r)) && (q.Text == "" || strings.Contains(s.redact(r.Line(0)), q.Text))
}

// uploadedRecords is the content that a replay shows: a recording, or a scenario of a run. It is never a path.
type uploadedRecords struct {
	Recording  string          `json:"recording"`  // JSON Lines
	HAR        string          `json:"har"`        // a HAR file: what a page exchanged with one server
	Origin     string          `json:"origin"`     // the server in HAR, if there are several
	Results    *jsontext.Value `json:"results"`    // the results.json of a run
	Scenario   string          `json:"scenario"`   // id of one of its scenarios; "": the first that failed
	Transcript string          `json:"transcript"` // its transcript as text; "": only the excerpts in Results are used
	Steps      []string        `json:"steps"`      // to continue with; nil: those of the scenario
}

// replay is the state of a replay other than its records.
type replay struct {
	header   recording.Header
	steps    []string
	failures []Failure
}

// openReplay reads what was uploaded.
func (s *session) openReplay(q uploadedRecords) error {
	s.replay = &replay{steps: q.Steps}
	var records []transcript.Record
	switch {
	case count(q.Recording != "", q.HAR != "", q.Results != nil || q.Transcript != "") > 1:
		return newError(http.StatusBadRequest,
			"give a recording, a HAR file, or results and a transcript: one of them")
	case q.Recording != "" || q.HAR != "":
		rec, err := q.readRecording()
		if err != nil {
			return err
		}
		s.replay.header, records = rec.Header, rec.Records
		if !rec.Header.Began.IsZero() {
			s.began = rec.Header.Began
		}
	case q.Results != nil || q.Transcript != "":
		lines := strings.Split(q.Transcript, "\n")
		if q.Results != nil {
			excerpts, err := s.replay.selectScenario(*q.Results, q.Scenario)
			if err != nil {
				return err
			}
			if q.Transcript == "" {
				lines = excerpts
			}
		}
		if records = readLines(lines); len(records) == 0 {
			return newError(http.StatusBadRequest,
				"there are no records in it (upload the scenario's file of the results folder as transcript)")
		}
	default:
		return newError(http.StatusBadRequest,
			"give a recording (JSON Lines), a HAR file, or results or a transcript of a run")
	}
	s.protocol, s.records = s.replay.header.Protocol, fixedRecords(records)
	s.keepFindings(s.replay.failures...)
	for _, f := range s.replay.failures {
		s.breaksAt(f.At, f.Clause)
		s.addNotice("finding", func(seq int) any {
			return struct {
				Seq int `json:"seq"`
				Failure
			}{seq, f}
		})
	}
	return nil
}

// selectScenario selects a scenario from results, and returns the excerpts of its transcript.
func (p *replay) selectScenario(text jsontext.Value, id string) (lines []string, err error) {
	var results reports.Results
	if err := json.Unmarshal(text, &results, jsonform.Lenient); err != nil {
		return nil, newError(http.StatusBadRequest,
			"results: "+jsonwhy.InFile(err)+" (upload the results.json of a run)")
	}
	for _, run := range results.Runs {
		i := slices.IndexFunc(run.Scenarios, func(sc reports.Scenario) bool {
			return sc.ID == id || id == "" && sc.Outcome == verdict.Failed
		})
		if i < 0 {
			continue
		}
		sc := run.Scenarios[i]
		p.header = recording.Header{Protocol: run.Protocol, Role: run.Role, Driver: sc.Driver, URL: run.Target.URL}
		if p.steps == nil {
			p.steps = stepsOf(sc)
		}
		p.failures = failuresOf(sc)
		for _, f := range sc.Failures {
			lines = append(lines, f.Excerpt...)
		}
		return lines, nil
	}
	if id == "" {
		return nil, newError(http.StatusBadRequest, "results: no scenario failed (name one by its id)")
	}
	return nil, newError(http.StatusBadRequest, fmt.Sprintf("results: there is no scenario %q", id))
}

// Lines of a transcript, as transcript.Record.Line writes them; lines of excerpts begin with a mark.
var (
	lineOf = regexp.MustCompile(`^[> ▸]*(\d+) +(\d+)\.(\d{3}) ms  (\S*) +(->|<-|--) (\S+)(?: (.*))?$`)
	replyT = regexp.MustCompile(` to (\d+)$`)
	mediaT = regexp.MustCompile(` \(([^()]*)\)$`)
	codeT  = regexp.MustCompile(`(?:^| )(\d{3,4})$`)
)

// readLines reads the records in lines of a transcript, each once, in the order of their numbers. It skips other lines.
func readLines(lines []string) []transcript.Record {
	var out []transcript.Record
	for _, line := range lines {
		m := lineOf.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			continue
		}
		n, errN := strconv.Atoi(m[1])
		ms, errMS := strconv.ParseInt(m[2]+m[3], 10, 52)
		if errN != nil || errMS != nil || n == 0 {
			continue
		}
		r := transcript.Record{N: n, At: time.Duration(ms) * time.Microsecond, Conn: m[4], Kind: transcript.Kind(m[6]),
			Dir: map[string]transcript.Dir{"->": transcript.Sent, "<-": transcript.Received, "--": transcript.Noted}[m[5]]}
		readRest(&r, m[7])
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b transcript.Record) int { return a.N - b.N })
	return slices.CompactFunc(out, func(a, b transcript.Record) bool { return a.N == b.N })
}

// readRest reads the rest of a record's line, after its kind.
func readRest(r *transcript.Record, rest string) {
	if r.Kind == transcript.Remark {
		r.Label = rest
		return
	}
	head, payload, has := strings.Cut(rest, "  ")
	if has {
		r.Bytes = []byte(payload)
	}
	if m := replyT.FindStringSubmatch(head); m != nil {
		r.Reply, _ = strconv.Atoi(m[1])
		head = strings.TrimSuffix(head, m[0])
	}
	if m := mediaT.FindStringSubmatch(head); m != nil {
		r.Type = m[1]
		head = strings.TrimSuffix(head, m[0])
	}
	if m := codeT.FindStringSubmatch(head); m != nil {
		r.Status, _ = strconv.Atoi(m[1])
		head = strings.TrimSuffix(head, m[0])
	}
	r.Label = head
}

// ofModel is the party whose messages are not those of the protocol.
const ofModel = "model"

// lookedAt is the number of the newest records among which a type is sought that the protocol does not have.
const lookedAt = 10_000

// haveTypes refuses types of messages that can occur neither in a play's protocol nor, by its records, in its program:
// a mind for a mistyped type would never decide on anything.
func (s *session) haveTypes(types []string) error {
	known := messages.For(s.protocol).Types()
	if len(known) == 0 || s.player.As() == ofModel {
		return nil
	}
	minds := s.player.State().Types
	for _, t := range types {
		if _, has := minds[t]; has || t == "" || slices.Contains(known, t) || s.hasType(t) {
			continue
		}
		return &Error{Status: http.StatusBadRequest, Similar: words.Near(t, known, 3),
			Text: "types: no message of " + s.protocol + " has the type " + strconv.Quote(t) + " (" +
				words.Suggest(t, known, "types are "+strings.Join(known, ", ")) + ")"}
	}
	return nil
}

// hasType reports whether a record has a type.
func (s *session) hasType(typ string) bool {
	return slices.ContainsFunc(s.records.After(max(0, s.records.Len()-lookedAt)), func(r transcript.Record) bool {
		return s.typeOf(r) == typ
	})
}
