package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/jsonwhy"
	"parley/reports"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// uploaded is the content that a replay shows: a recording, or a scenario of a run. It is never a path.
type uploaded struct {
	Recording  string           `json:"recording"`  // JSON Lines
	Results    *json.RawMessage `json:"results"`    // the results.json of a run
	Scenario   string           `json:"scenario"`   // id of one of its scenarios; "": the first that failed
	Transcript string           `json:"transcript"` // its transcript as text; "": only the excerpts in Results are used
	Steps      []string         `json:"steps"`      // to continue with; nil: those of the scenario
}

// replay is the state of a replay other than its records.
type replay struct {
	header   recording.Header
	steps    []string
	failures []Failure
}

// openReplay reads what was uploaded.
func (s *session) openReplay(q uploaded) error {
	s.replay = &replay{steps: q.Steps}
	var records []transcript.Record
	switch {
	case q.Recording != "" && (q.Results != nil || q.Transcript != ""):
		return fail(http.StatusBadRequest, "give a recording, or results and a transcript, not both")
	case q.Recording != "":
		rec, err := recording.Read(strings.NewReader(q.Recording))
		if err != nil {
			return fail(http.StatusBadRequest, "recording: "+err.Error())
		}
		s.replay.header, records = rec.Header, rec.Records
		if !rec.Header.Began.IsZero() {
			s.began = rec.Header.Began
		}
	case q.Results != nil || q.Transcript != "":
		lines := strings.Split(q.Transcript, "\n")
		if q.Results != nil {
			excerpts, err := s.replay.scenario(*q.Results, q.Scenario)
			if err != nil {
				return err
			}
			if q.Transcript == "" {
				lines = excerpts
			}
		}
		if records = readLines(lines); len(records) == 0 {
			return fail(http.StatusBadRequest,
				"there are no records in it (upload the scenario's file of the results folder as transcript)")
		}
	default:
		return fail(http.StatusBadRequest, "give a recording (JSON Lines), or results or a transcript of a run")
	}
	s.protocol, s.records = s.replay.header.Protocol, still(records)
	s.keep(s.replay.failures...)
	for _, f := range s.replay.failures {
		s.breaksAt(f.At, f.Clause)
		s.note("finding", func(seq int) any {
			return struct {
				Seq int `json:"seq"`
				Failure
			}{seq, f}
		})
	}
	return nil
}

// scenario selects a scenario from results, and returns the excerpts of its transcript.
func (p *replay) scenario(text json.RawMessage, id string) (lines []string, err error) {
	var results reports.Results
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, fail(http.StatusBadRequest, "results: "+jsonwhy.InFile(err)+" (upload the results.json of a run)")
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
		return nil, fail(http.StatusBadRequest, "results: no scenario failed (name one by its id)")
	}
	return nil, fail(http.StatusBadRequest, fmt.Sprintf("results: there is no scenario %q", id))
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
