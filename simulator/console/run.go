package console

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"parley/features/verdict"
	"parley/reports"
)

// Progress is the progress of a run.
type Progress struct {
	Running bool   `json:"running"`
	Planned int    `json:"planned"`
	Done    int    `json:"done"`
	Failed  int    `json:"failed"`
	Last    string `json:"last"` // name of the scenario that ended last
}

// RunResult is the result of a run of the suite.
type RunResult struct {
	Verdict     verdict.Verdict         `json:"verdict"`
	Exit        int                     `json:"exit"` // exit code that parley run would have
	Partial     bool                    `json:"partial"`
	Environment string                  `json:"environment"` // why the target could not be reached
	Clauses     map[verdict.Outcome]int `json:"clauses"`
	Scenarios   map[verdict.Outcome]int `json:"scenarios"`
	Failed      []FailedClause          `json:"failed"`
	Broken      []BrokenScenario        `json:"broken"`      // at most 50
	MoreBroken  int                     `json:"more_broken"` // scenarios beyond those
}

// FailedClause is a clause that the target breaks.
type FailedClause struct {
	Clause string `json:"clause"`
	Level  string `json:"level"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// BrokenScenario is a scenario that failed. POST /sessions with kind replay shows its records, given the transcript.
type BrokenScenario struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Location   string    `json:"location"`
	Driver     string    `json:"driver"`
	Steps      []string  `json:"steps"`
	Failures   []Failure `json:"failures"`
	Transcript string    `json:"transcript"` // as the run writes it; "" if it is too long
}

// Bounds of the answer to a run.
const (
	mostBroken     = 50
	mostTranscript = 1 << 20
)

// runSuite runs the suite against the target of a session. It ends early if the request ends.
func (c *Console) runSuite(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	if c.o.Run == nil {
		return nil, newError(http.StatusConflict, "this program cannot run the suite from here (use parley run)")
	}
	if err := readBody(r, &struct{}{}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	running := s.progress != nil && s.progress.Running
	if !running {
		s.progress = &Progress{Running: true}
	}
	s.mu.Unlock()
	if running {
		return nil, newError(http.StatusConflict, "the suite is running already (wait for its end)")
	}
	defer s.updateProgress(func(p *Progress) { p.Running = false })
	s.log.wakeForState()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	out, err := os.MkdirTemp("", "parley-run-")
	if err != nil {
		return nil, newError(http.StatusInternalServerError, "there is no room for the transcripts of a run")
	}
	defer func() { _ = os.RemoveAll(out) }()
	results, err := c.o.Run(ctx, s.options, out, s)
	if s.ctx.Err() != nil {
		return nil, s.endedError()
	}
	if err != nil {
		return nil, err
	}
	return s.resultsView(results, out), nil
}

// updateProgress changes the progress of a run.
func (s *session) updateProgress(change func(*Progress)) {
	s.mu.Lock()
	next := *s.progress
	change(&next)
	s.progress = &next
	s.mu.Unlock()
	s.log.wakeForState()
}

// Planned implements runner.Observer.
func (s *session) Planned(total int) { s.updateProgress(func(p *Progress) { p.Planned = total }) }

// ScenarioDone implements runner.Observer.
func (s *session) ScenarioDone(sc reports.Scenario) {
	s.updateProgress(func(p *Progress) {
		p.Done++
		p.Last = sc.Name
		if sc.Outcome == verdict.Failed {
			p.Failed++
		}
	})
}

// ScenarioWithdrawn implements runner.Withdrawer.
func (s *session) ScenarioWithdrawn(sc reports.Scenario) {
	s.updateProgress(func(p *Progress) {
		p.Done--
		if sc.Outcome == verdict.Failed {
			p.Failed--
		}
	})
}

// resultsView returns results as the API shows them.
func (s *session) resultsView(r *reports.Results, out string) RunResult {
	res := RunResult{Verdict: r.Verdict, Exit: r.Exit, Partial: r.Partial, Clauses: map[verdict.Outcome]int{},
		Scenarios: map[verdict.Outcome]int{}, Failed: []FailedClause{}, Broken: []BrokenScenario{}}
	for _, run := range r.Runs {
		res.Environment = s.redact(run.Environment)
		for _, c := range run.Clauses {
			if c.Excluded || c.OtherRole {
				continue
			}
			res.Clauses[c.Outcome]++
			if c.Outcome == verdict.Failed {
				res.Failed = append(res.Failed, FailedClause{c.ID, string(c.Level), c.Text, s.redact(c.Reason)})
			}
		}
		for _, sc := range run.Scenarios {
			res.Scenarios[sc.Outcome]++
			switch {
			case sc.Outcome != verdict.Failed:
			case len(res.Broken) >= mostBroken:
				res.MoreBroken++
			default:
				res.Broken = append(res.Broken, brokenScenario(sc, out))
			}
		}
	}
	return res
}

// brokenScenario returns a failed scenario, with its transcript from the folder of the results.
func brokenScenario(sc reports.Scenario, out string) BrokenScenario {
	b := BrokenScenario{ID: sc.ID, Name: sc.Name, Location: sc.Location, Driver: sc.Driver, Steps: stepsOf(sc),
		Failures: failuresOf(sc)}
	if sc.Transcript != nil {
		text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(sc.Transcript.Path)))
		if err == nil && len(text) <= mostTranscript {
			b.Transcript = string(text)
		}
	}
	return b
}

func stepsOf(sc reports.Scenario) []string {
	out := []string{}
	for _, st := range sc.Steps {
		out = append(out, st.Text)
	}
	return out
}

// recordOf matches the record number in the place of a failure.
var recordOf = regexp.MustCompile(`\brecord (\d+)\b`)

func failuresOf(sc reports.Scenario) []Failure {
	out := []Failure{}
	for _, f := range sc.Failures {
		one := Failure{Clause: f.Clause, Outcome: verdict.Failed, Monitor: f.Monitor, Expected: f.Expected,
			Observed: f.Observed, Diff: f.Diff}
		if at := recordOf.FindStringSubmatch(f.At); at != nil {
			one.At, _ = strconv.Atoi(at[1])
		}
		out = append(out, one)
	}
	return out
}
