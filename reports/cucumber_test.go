package reports

import (
	"encoding/json"
	"strings"
	"testing"

	messages "github.com/cucumber/messages/go/v21"
)

// reader reads Cucumber messages and follows their ids.
type reader struct {
	t       *testing.T
	defined map[string]bool
	names   map[string]string // of test cases, by the id of a pickle, test case or its start
	failed  map[string]bool   // by name
	ended   map[string]int
	success bool
}

func (r *reader) define(id string) {
	if r.defined[id] || id == "" {
		r.t.Errorf("the id %q is defined twice, or empty", id)
	}
	r.defined[id] = true
}

func (r *reader) refer(id string) {
	if !r.defined[id] {
		r.t.Errorf("the id %q is referred to, and not defined", id)
	}
}

// document defines the ids of a document.
func (r *reader) document(d *messages.GherkinDocument) {
	scenario := func(s *messages.Scenario) {
		r.define(s.Id)
		for _, st := range s.Steps {
			r.define(st.Id)
		}
		for _, tag := range s.Tags {
			r.define(tag.Id)
		}
	}
	for _, c := range d.Feature.Children {
		if c.Scenario != nil {
			scenario(c.Scenario)
			continue
		}
		r.define(c.Rule.Id)
		for _, c := range c.Rule.Children {
			scenario(c.Scenario)
		}
	}
}

// plan reads what is to be run.
func (r *reader) plan(e messages.Envelope) {
	switch {
	case e.Hook != nil:
		r.define(e.Hook.Id)
	case e.GherkinDocument != nil:
		r.document(e.GherkinDocument)
	case e.Pickle != nil:
		r.define(e.Pickle.Id)
		r.names[e.Pickle.Id] = e.Pickle.Name
		r.refer(e.Pickle.AstNodeIds[0])
		for _, st := range e.Pickle.Steps {
			r.define(st.Id)
			r.refer(st.AstNodeIds[0])
		}
	case e.TestCase != nil:
		r.define(e.TestCase.Id)
		r.refer(e.TestCase.PickleId)
		r.names[e.TestCase.Id] = r.names[e.TestCase.PickleId]
		for _, st := range e.TestCase.TestSteps {
			r.define(st.Id)
			r.refer(st.PickleStepId + st.HookId)
		}
	}
}

// result reads what came of it.
func (r *reader) result(e messages.Envelope) {
	switch {
	case e.TestCaseStarted != nil:
		r.define(e.TestCaseStarted.Id)
		r.refer(e.TestCaseStarted.TestCaseId)
		r.names[e.TestCaseStarted.Id] = r.names[e.TestCaseStarted.TestCaseId]
	case e.Attachment != nil:
		r.refer(e.Attachment.TestStepId)
	case e.TestStepFinished != nil:
		r.refer(e.TestStepFinished.TestStepId)
		if e.TestStepFinished.TestStepResult.Status == messages.TestStepResultStatus_FAILED {
			r.failed[r.names[e.TestStepFinished.TestCaseStartedId]] = true
		}
	case e.TestCaseFinished != nil:
		r.ended[r.names[e.TestCaseFinished.TestCaseStartedId]]++
	case e.TestRunFinished != nil:
		r.success = e.TestRunFinished.Success
	}
}

// TestCucumber: every id that a message refers to was defined before, every test case ends once, and it failed exactly
// if JUnit says so.
func TestCucumber(t *testing.T) {
	r := &reader{t: t, defined: map[string]bool{}, names: map[string]string{}, failed: map[string]bool{},
		ended: map[string]int{}, success: true}
	text := strings.TrimSuffix(writtenBy(t, WriteCucumber, sample()), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		var e messages.Envelope
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		r.plan(e)
		r.result(e)
	}
	n := 0
	for _, s := range parseJUnit(t, junit(t, sample())).Suites {
		for _, c := range s.Cases {
			if strings.HasPrefix(c.Name, "baseline ") || c.Name == "the target can be reached" {
				continue
			}
			n++
			if bad := c.Failure != nil || c.Error != nil; r.ended[c.Name] != 1 || r.failed[c.Name] != bad {
				t.Errorf("%s ended %d times, failed %t; JUnit says %q", c.Name, r.ended[c.Name], r.failed[c.Name], element(c))
			}
		}
	}
	if n != len(r.ended) || n < 10 || r.success {
		t.Errorf("%d test cases ended, JUnit has %d; the run succeeded: %t", len(r.ended), n, r.success)
	}
}
