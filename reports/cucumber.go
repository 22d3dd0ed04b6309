package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	messages "github.com/cucumber/messages/go/v21"
	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/jsonform"
	"parley/reports/lang"
)

// WriteCucumber writes r as Cucumber messages, a JSON object per line, which Cucumber's HTML formatter and other
// readers accept. A feature is a document for each run and driver. What decides no step, as the findings of monitors,
// is the result of a hook after the last step; it has the evidence attached. A scenario fails if its JUnit testcase
// does, or if a clause failed by what was found in its traffic; one that was not tested, does not apply or is expected
// to fail is skipped, with the reason.
func WriteCucumber(w io.Writer, r *Results) error {
	r = makePresentable(r)
	c := &cucumber{start: r.Started}
	c.writeEnvelope(&messages.Envelope{Meta: &messages.Meta{ProtocolVersion: "21.0.1",
		Implementation: &messages.Product{Name: "parley", Version: r.Suite.Version}, Runtime: &messages.Product{Name: "go"},
		Os: &messages.Product{Name: runtime.GOOS}, Cpu: &messages.Product{Name: runtime.GOARCH}}})
	hook := c.nextID()
	c.writeEnvelope(&messages.Envelope{Hook: &messages.Hook{Id: hook, Name: "judged at the end",
		SourceReference: &messages.SourceReference{Uri: "parley"}}})
	c.hook = hook
	for i := range r.Runs {
		c.writeDocuments(&r.Runs[i])
	}
	c.writeEnvelope(&messages.Envelope{TestRunStarted: &messages.TestRunStarted{Timestamp: timestampOf(r.Started)}})
	success := true
	for _, t := range c.cases {
		success = c.writeResult(t) && success
	}
	c.writeEnvelope(&messages.Envelope{TestRunFinished: &messages.TestRunFinished{
		Success: success && r.Exit == verdict.ExitConformant, Message: strings.Join(verdictGrounds(r, lang.English), "; "),
		Timestamp: timestampOf(r.Started.Add(ofMillis(r.Duration)))}})
	if c.err != nil {
		return fmt.Errorf("write Cucumber messages: %w", c.err)
	}
	_, err := w.Write(c.Bytes())
	return err
}

// cucumber is a stream of messages being written.
type cucumber struct {
	bytes.Buffer
	start time.Time
	last  int
	hook  string
	cases []cucumberCase
	err   error
}

// cucumberCase is a scenario with the ids of its messages.
type cucumberCase struct {
	run   *Run
	s     *Scenario
	id    string
	steps []string // of the test case; the last is the hook
}

func (c *cucumber) nextID() string { c.last++; return strconv.Itoa(c.last) }

func (c *cucumber) writeEnvelope(e *messages.Envelope) {
	b, err := json.Marshal(e, jsonform.Escaped)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.Write(append(b, '\n'))
}

// writeDocuments writes the features of a run with their pickles and test cases.
func (c *cucumber) writeDocuments(run *Run) {
	for _, d := range driversOf(run) {
		mine := slices.DeleteFunc(slices.Clone(run.Scenarios), func(s Scenario) bool { return s.Driver != d })
		for _, f := range byFeature(mine) {
			c.writeDocument(run, d, f)
		}
	}
}

func (c *cucumber) writeDocument(run *Run, driver string, f featureView) {
	file, _ := splitLocation(f.Scenarios[0].Location)
	uri := strings.Join([]string{run.Protocol, run.Role, driver, file}, "/")
	name := fmt.Sprintf("%s (%s, %s)", f.Name, runName(run), driver)
	feature := &messages.Feature{Location: &messages.Location{Line: 1}, Tags: []*messages.Tag{}, Language: "en",
		Keyword: "Feature", Name: name, Children: []*messages.FeatureChild{}}
	var behind []*messages.Envelope
	var rule *messages.Rule
	for i := range f.Scenarios {
		s := &f.Scenarios[i]
		scenario, rest := c.addPickle(run, uri, s)
		behind = append(behind, rest...)
		if s.Rule == "" {
			rule = nil
			feature.Children = append(feature.Children, &messages.FeatureChild{Scenario: scenario})
			continue
		}
		if rule == nil || rule.Name != s.Rule {
			rule = &messages.Rule{Id: c.nextID(), Location: scenario.Location, Tags: []*messages.Tag{}, Keyword: "Rule",
				Name: s.Rule}
			feature.Children = append(feature.Children, &messages.FeatureChild{Rule: rule})
		}
		rule.Children = append(rule.Children, &messages.RuleChild{Scenario: scenario})
	}
	c.writeEnvelope(&messages.Envelope{GherkinDocument: &messages.GherkinDocument{Uri: uri, Feature: feature,
		Comments: []*messages.Comment{}}})
	for _, e := range behind {
		c.writeEnvelope(e)
	}
}

// addPickle returns a scenario as the document has it, and its pickle and test case.
func (c *cucumber) addPickle(run *Run, uri string, s *Scenario) (*messages.Scenario, []*messages.Envelope) {
	_, line := splitLocation(s.Location)
	at := &messages.Location{Line: line}
	out := &messages.Scenario{Id: c.nextID(), Location: at, Tags: []*messages.Tag{}, Keyword: "Scenario",
		Name: s.ID + " " + s.Name, Steps: []*messages.Step{}, Examples: []*messages.Examples{}}
	pickle := &messages.Pickle{Id: c.nextID(), Uri: uri, Name: out.Name, Language: "en", Steps: []*messages.PickleStep{},
		Tags: []*messages.PickleTag{}, AstNodeIds: []string{out.Id}}
	test := &messages.TestCase{Id: c.nextID(), PickleId: pickle.Id, TestSteps: []*messages.TestStep{}}
	for _, name := range s.Tags {
		tag := &messages.Tag{Id: c.nextID(), Location: at, Name: name}
		out.Tags = append(out.Tags, tag)
		pickle.Tags = append(pickle.Tags, &messages.PickleTag{Name: name, AstNodeId: tag.Id})
	}
	found := cucumberCase{run: run, s: s, id: test.Id}
	for i, st := range s.Steps {
		at := &messages.Location{Line: cmp.Or(st.Line, line+int64(i)+1)}
		step := &messages.Step{Id: c.nextID(), Location: at, Keyword: st.Keyword,
			KeywordType: messages.StepKeywordType_UNKNOWN, Text: st.Text}
		out.Steps = append(out.Steps, step)
		of := &messages.PickleStep{Id: c.nextID(), Text: st.Text, Type: messages.PickleStepType_UNKNOWN,
			AstNodeIds: []string{step.Id}}
		pickle.Steps = append(pickle.Steps, of)
		ts := &messages.TestStep{Id: c.nextID(), PickleStepId: of.Id, StepDefinitionIds: []string{},
			StepMatchArgumentsLists: []*messages.StepMatchArgumentsList{}}
		test.TestSteps = append(test.TestSteps, ts)
		found.steps = append(found.steps, ts.Id)
	}
	last := &messages.TestStep{Id: c.nextID(), HookId: c.hook}
	test.TestSteps = append(test.TestSteps, last)
	found.steps = append(found.steps, last.Id)
	c.cases = append(c.cases, found)
	return out, []*messages.Envelope{{Pickle: pickle}, {TestCase: test}}
}

// writeResult writes how a scenario went, and reports whether it did not fail.
func (c *cucumber) writeResult(t cucumberCase) bool {
	var judged junitCase
	judged.setOutcome(t.run, t.s)
	status, text := messages.TestStepResultStatus_PASSED, ""
	switch {
	case judged.Failure != nil:
		status, text = messages.TestStepResultStatus_FAILED, judged.Failure.Message
	case judged.Error != nil:
		status, text = messages.TestStepResultStatus_FAILED, judged.Error.Message
	case judged.Skipped != nil:
		status, text = messages.TestStepResultStatus_SKIPPED, judged.Skipped.Message
	}
	if text := besideText(t.run, t.s); text != "" && status != messages.TestStepResultStatus_FAILED {
		return c.finishScenario(t, messages.TestStepResultStatus_FAILED, text)
	}
	return c.finishScenario(t, status, text)
}

// besideText names the clauses that failed by what was found in a scenario beside its own clauses, as by monitors;
// "" for none. Cucumber messages have no other place for them than the scenario.
func besideText(run *Run, s *Scenario) string {
	var ids []string
	counted, _ := countedOf(run, s)
	for _, f := range counted {
		if id := f.Clause + " " + string(f.Level); countsAsFailed(run, f.Clause, s.Driver) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "failed in the traffic of this scenario: " + strings.Join(ids, ", ")
}

// finishScenario writes a scenario with its status, and reports whether it did not fail.
func (c *cucumber) finishScenario(t cucumberCase, status messages.TestStepResultStatus, text string) bool {
	failed := status == messages.TestStepResultStatus_FAILED
	started := c.nextID()
	at := c.start
	c.writeEnvelope(&messages.Envelope{TestCaseStarted: &messages.TestCaseStarted{Id: started, TestCaseId: t.id,
		Timestamp: timestampOf(at)}})
	for i, st := range t.s.Steps {
		at = c.writeStep(started, t.steps[i], at, st.Duration, stepStatus(st, failed), st.Error)
	}
	last := t.steps[len(t.steps)-1]
	if wrong := t.s.Outcome == verdict.EnvError || t.s.Outcome == verdict.HarnessError; len(t.s.Failures) > 0 || wrong {
		c.writeEnvelope(&messages.Envelope{Attachment: &messages.Attachment{
			Body:            strings.TrimSpace(failureText(t.s, t.s.Failures)),
			ContentEncoding: messages.AttachmentContentEncoding_IDENTITY, MediaType: "text/plain", TestCaseStartedId: started,
			TestStepId: last}})
	}
	at = c.writeStep(started, last, at, 0, status, text)
	c.writeEnvelope(&messages.Envelope{TestCaseFinished: &messages.TestCaseFinished{TestCaseStartedId: started,
		Timestamp: timestampOf(at)}})
	return !failed
}

// writeStep writes the result of one step, and returns when it ended.
func (c *cucumber) writeStep(started, id string, at time.Time, ms float64, status messages.TestStepResultStatus,
	text string) time.Time {
	c.writeEnvelope(&messages.Envelope{TestStepStarted: &messages.TestStepStarted{TestCaseStartedId: started,
		TestStepId: id, Timestamp: timestampOf(at)}})
	took := ofMillis(ms)
	at = at.Add(took)
	c.writeEnvelope(&messages.Envelope{TestStepFinished: &messages.TestStepFinished{TestCaseStartedId: started,
		TestStepId: id, Timestamp: timestampOf(at), TestStepResult: &messages.TestStepResult{Status: status,
			Message: text, Duration: &messages.Duration{Seconds: int64(took / time.Second),
				Nanos: int64(took % time.Second)}}}})
	return at
}

// stepStatus returns the status of a step. A failed step of a scenario that did not fail is skipped.
func stepStatus(st Step, failed bool) messages.TestStepResultStatus {
	switch {
	case st.Status == "passed":
		return messages.TestStepResultStatus_PASSED
	case st.Status == "skipped" || !failed:
		return messages.TestStepResultStatus_SKIPPED
	case st.Status == "failed":
		return messages.TestStepResultStatus_FAILED
	default:
		return messages.TestStepResultStatus(strings.ToUpper(st.Status))
	}
}

// splitLocation splits features/…:line.
func splitLocation(location string) (file string, line int64) {
	file = location
	if i := strings.LastIndexByte(location, ':'); i >= 0 {
		if n, err := strconv.ParseInt(location[i+1:], 10, 64); err == nil {
			return location[:i], n
		}
	}
	return file, 1
}

func timestampOf(t time.Time) *messages.Timestamp {
	return &messages.Timestamp{Seconds: t.Unix(), Nanos: int64(t.Nanosecond())}
}

func ofMillis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
