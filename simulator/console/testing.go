package console

import (
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
	"parley/simulator/terminal"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Outcome is the judgement on a clause.
type Outcome struct {
	Clause  string          `json:"clause"`
	Outcome verdict.Outcome `json:"outcome"`
	Reason  string          `json:"reason"`
}

// Failure is a finding of a step or a monitor.
type Failure struct {
	Clause   string          `json:"clause"`
	Outcome  verdict.Outcome `json:"outcome"`
	Monitor  string          `json:"monitor"` // "" for a step
	Expected string          `json:"expected"`
	Observed string          `json:"observed"`
	Diff     string          `json:"diff"`
	At       int             `json:"at"` // number of the record; 0 for none
}

// Judged is the result of a step.
type Judged struct {
	Seq      int       `json:"seq,omitempty"` // of the event
	Step     string    `json:"step"`
	Status   string    `json:"status"` // passed, failed or skipped
	Error    string    `json:"error"`  // why it could not judge; "" if it could
	From     int       `json:"from"`   // number of the last record before it
	To       int       `json:"to"`     // number of the last record at its end
	Duration float64   `json:"duration"`
	Outcomes []Outcome `json:"outcomes"`
	Failures []Failure `json:"failures"`
}

// failureView returns a finding in the form of the API, and remembers its record.
func (s *session) failureView(f steps.Failure) Failure {
	if f.Outcome == verdict.Failed {
		s.breaksAt(f.At, f.Clause)
	}
	return s.describeFailure(f)
}

func (s *session) describeFailure(f steps.Failure) Failure {
	return Failure{Clause: f.Clause, Outcome: f.Outcome, Monitor: f.Monitor, Expected: s.redact(f.Expected),
		Observed: s.redact(f.Observed), Diff: s.redact(f.Diff), At: f.At}
}

// keepFindings keeps findings for showFindings.
func (s *session) keepFindings(all ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findings = append(s.findings, all[:min(len(all), max(0, maxNotices-len(s.findings)))]...)
}

// reportFinding reports a finding of a monitor.
func (s *session) reportFinding(f steps.Failure) Failure {
	shown := s.failureView(f)
	s.addNotice("finding", func(seq int) any {
		return struct {
			Seq int `json:"seq"`
			Failure
		}{seq, shown}
	})
	return shown
}

// foundBetween reports a finding in the traffic between a program and a user's server. The judge has its own records:
// at is the one that shows the finding, and is searched in the session by its content. It is not there while the
// message is held, or if another one was sent instead.
func (s *session) foundBetween(f steps.Failure, at transcript.Record) {
	select {
	case <-s.ready:
	case <-s.ctx.Done():
		return
	}
	f.At = s.player.Transcript().Like(at)
	s.keepFindings(s.reportFinding(f))
}

// runStep executes a step. It is interrupted when the request ends.
func (s *session) runStep(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Text  string     `json:"text"`
		Doc   *string    `json:"doc"`
		Table [][]string `json:"table"`
	}
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	for _, row := range q.Table {
		if len(row) != len(q.Table[0]) {
			return nil, newError(http.StatusBadRequest, "table: its rows have different lengths (fill in empty cells)")
		}
	}
	ctx, done := s.addPending(r.Context(), q.Text)
	defer done()
	from := s.records.Len()
	judged, err := s.test.Do(ctx, q.Text, steps.StepArg{Text: q.Doc, Table: q.Table})
	if judged.Text == "" {
		return nil, s.stepError(err)
	}
	out := Judged{Step: s.redact(judged.Text), Status: judged.Status, From: from, To: s.records.Len(),
		Duration: float64(judged.Duration.Microseconds()) / 1000, Outcomes: []Outcome{}, Failures: []Failure{}}
	if broken := new(steps.BrokenError); judged.Err != nil && !errors.As(judged.Err, &broken) {
		out.Error = s.redact(judged.Err.Error())
	}
	for _, j := range judged.Outcomes {
		out.Outcomes = append(out.Outcomes, Outcome{j.Clause, j.Outcome, s.redact(j.Reason)})
	}
	for _, f := range judged.Failures {
		out.Failures = append(out.Failures, s.failureView(f))
	}
	s.keepFindings(out.Failures...)
	s.addNotice("judged", func(seq int) any { out.Seq = seq; return out })
	return out, nil
}

// stepError adds the status to the error of a step that was not begun.
func (s *session) stepError(err error) error {
	if errors.Is(err, steps.ErrLiveOver) || s.ctx.Err() != nil {
		return s.endedError()
	}
	if errors.Is(err, errCancelled) {
		return newError(http.StatusConflict, errCancelled.Error())
	}
	if undefined := new(steps.UndefinedError); errors.As(err, &undefined) {
		text, _, _ := strings.Cut(err.Error(), ";")
		return &Error{Status: http.StatusBadRequest, Text: text + " (search finds steps by their words)",
			Similar: undefined.Alike}
	}
	return err
}

// sendRaw sends bytes as they are.
func (s *session) sendRaw(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Party  string  `json:"party"`
		Text   *string `json:"text"`
		Base64 *string `json:"base64"`
	}
	if err := s.requireLive(); err != nil {
		return nil, err
	}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	var body []byte
	switch {
	case (q.Text == nil) == (q.Base64 == nil):
		return nil, newError(http.StatusBadRequest, "give the message as text or as base64, one of them")
	case q.Text != nil:
		body = []byte(*q.Text)
	default:
		var err error
		if body, err = base64.StdEncoding.DecodeString(*q.Base64); err != nil {
			return nil, newError(http.StatusBadRequest, "base64: "+err.Error())
		}
	}
	var mark int
	var err error
	if s.kind == kindTest {
		mark, err = s.test.Send(r.Context(), q.Party, body)
	} else {
		mark, err = s.player.Send(r.Context(), q.Party, body)
	}
	if err != nil {
		return nil, s.partyError(err)
	}
	if mark == 0 {
		return nil, newError(http.StatusConflict, "the message was not sent: the connection of "+q.Party+" has ended")
	}
	return map[string]int{"n": mark}, nil
}

// endConnection ends the connection of a party.
func (s *session) endConnection(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Party string `json:"party"`
		How   string `json:"how"`
	}
	if err := s.requireLive(); err != nil {
		return nil, err
	}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	how, ok := map[string]driver.CloseMode{"": driver.Graceful, "close": driver.Graceful, "cut": driver.Reset}[q.How]
	if !ok {
		return nil, newError(http.StatusBadRequest,
			"how: "+strconv.Quote(q.How)+" is not a way to end a connection (close or cut)")
	}
	var err error
	if s.kind == kindTest {
		err = s.test.Hang(r.Context(), q.Party, how)
	} else {
		err = s.player.Hang(r.Context(), q.Party, how)
	}
	if err != nil {
		return nil, s.partyError(err)
	}
	return s.sessionView(), nil
}

// requireLive returns an error if the session has no connections, or has ended.
func (s *session) requireLive() error {
	if s.kind == kindReplay {
		return newError(http.StatusConflict, "session "+s.id+" is a replay, which has no connections (start a test)")
	}
	return s.requireKind(s.kind)
}

// partyError adds the status to an error about a party.
func (s *session) partyError(err error) error {
	if errors.Is(err, steps.ErrLiveOver) || s.ctx.Err() != nil {
		return s.endedError()
	}
	if none := new(steps.NoPartyError); errors.As(err, &none) {
		return &Error{Status: http.StatusConflict, Text: err.Error(), Similar: none.Known}
	}
	return err
}

// undoStep removes the last step from the scenario.
func (s *session) undoStep(http.ResponseWriter, *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	last, ok := s.test.Undo()
	if !ok {
		return nil, newError(http.StatusConflict, "nothing is left to undo")
	}
	s.log.wakeForState()
	return map[string]string{"text": s.redact(last.Text)}, nil
}

// searchSteps answers with steps that contain the words of a text.
func (s *session) searchSteps(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	n, err := queryNumber(r, "n", 0, 10_000)
	if err != nil {
		return nil, err
	}
	return map[string][]string{"steps": append([]string{}, s.test.Search(r.FormValue("q"), n)...)}, nil
}

// completeLine completes a line.
func (s *session) completeLine(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	line := r.FormValue("line")
	out := struct {
		Longer string   `json:"longer"`
		All    []string `json:"all"`
	}{Longer: line, All: []string{}}
	if len(line) > 0 && line[0] == '.' { // the terminal's commands
		return out, nil
	}
	longer, all := terminal.New(terminal.Options{Session: s.test, Out: io.Discard}).Complete(line)
	out.Longer, out.All = longer, append(out.All, all...)
	return out, nil
}

// answerOutcomes answers with the worst outcome of each clause so far.
func (s *session) answerOutcomes(http.ResponseWriter, *http.Request) (any, error) {
	if s.kind == kindReplay {
		return nil, newError(http.StatusConflict,
			"session "+s.id+" is a replay, which judges nothing (GET findings has those of its run)")
	}
	if s.judge != nil {
		s.judge.Check()
	}
	return s.worstOutcomes(), nil
}

// worstOutcomes returns the worst outcome of each clause so far: for a test in the order of the ledger, for a play by
// clause id.
func (s *session) worstOutcomes() []Outcome {
	out := []Outcome{}
	if s.kind == kindTest {
		worst := s.test.Outcomes()
		for _, row := range s.test.Ledger().Rows() {
			if o, ok := worst[row.ID]; ok {
				out = append(out, Outcome{Clause: row.ID, Outcome: o})
			}
		}
	}
	if s.judge != nil {
		worst := s.judge.Outcomes()
		for _, id := range slices.Sorted(maps.Keys(worst)) {
			out = append(out, Outcome{Clause: id, Outcome: worst[id]})
		}
		ids, why := s.judge.Untested()
		for _, id := range ids {
			out = append(out, Outcome{Clause: id, Outcome: verdict.NotTested, Reason: why})
		}
	}
	return out
}

// showFindings answers with the findings of steps and monitors. For a play that is not judged, the only entry says so,
// since an empty list means that nothing is wrong.
func (s *session) showFindings(http.ResponseWriter, *http.Request) (any, error) {
	return s.allFindings(), nil
}

func (s *session) allFindings() []Failure {
	out := []Failure{}
	if s.kind == kindPlay && s.player.Unjudged() != "" {
		out = append(out, Failure{Outcome: verdict.NotTested, Observed: "your program is not judged: " + s.player.Unjudged()})
	}
	if s.judge != nil {
		s.judge.Check()
		for _, f := range s.judge.Findings() {
			out = append(out, s.describeFailure(f))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(out, s.findings...)
}

// answerFeature answers with the session as a feature.
func (s *session) answerFeature(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	name := r.FormValue("name")
	if name == "" {
		name = "session " + s.id
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, s.redact(s.test.Scenario(oneLine(name))))
	return nil, nil
}
