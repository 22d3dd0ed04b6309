package parley_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/reports"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

var update = flag.Bool("update", false,
	"write which steps judge which clause, features/<protocol>/judges.yaml, as TestFeatures sees it,\n"+
		"and "+apiFile+" as TestAPI sees it")

// judging is what runs show of a protocol's judges.
type judging struct {
	steps  steps.Judges    // which steps have judged or observed which clause
	judged map[string]bool // the clauses that findings of steps have judged
}

// judgings are those of each protocol.
type judgings map[string]judging

// take adds what the steps of a run have judged.
func (j judgings) take(t *testing.T, protocol string, res *reports.Results) {
	t.Helper()
	expressions := steps.Expressions(protocols.Get(protocol))
	if j[protocol].steps == nil {
		j[protocol] = judging{steps.Judges{}, map[string]bool{}}
	}
	for _, run := range res.Runs {
		suitetest.CheckJudges(t, protocol, run.Scenarios...)
		for _, sc := range run.Scenarios {
			for id := range sc.Judges {
				j[protocol].judged[id] = true
			}
			for _, id := range sc.AtEnd {
				j[protocol].steps.Add(id, steps.AtEnd)
			}
			for _, step := range sc.Steps {
				for _, id := range step.Clauses {
					j[protocol].steps.Add(id, steps.ExpressionOf(expressions, step.Text))
				}
			}
		}
	}
}

// compare checks that the features list every step that judged a clause, and list no step that no longer exists.
func (j judgings) compare(t *testing.T) {
	t.Helper()
	for _, protocol := range slices.Sorted(maps.Keys(j)) {
		p := protocols.Get(protocol)
		known, err := steps.JudgesOf(p)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			j.write(t, protocol, known)
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(j[protocol].steps)) {
			for _, expr := range j[protocol].steps[id] {
				if !slices.Contains(known[id], expr) {
					t.Errorf("%s is judged by the step %q, and "+
						"features/%s/judges.yaml does not say so: go test . -run TestFeatures -update",
						id, expr, protocol)
				}
			}
		}
		j[protocol].judgeEach(t, p)
		expressions := steps.Expressions(p)
		for _, id := range slices.Sorted(maps.Keys(known)) {
			for _, expr := range known[id] {
				if expr != steps.AtEnd && !slices.Contains(expressions, expr) {
					t.Errorf("features/%s/judges.yaml: %s: %q is no step any more: go test . -run TestFeatures -update", protocol, id,
						expr)
				}
			}
		}
	}
}

// judgeEach checks that the ledger names a judge of each tested clause that findings judge, and of no other. What is
// only observed, such as the choice that a MAY leaves, has none.
func (j judging) judgeEach(t *testing.T, p steps.Protocol) {
	t.Helper()
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	monitors := slices.Concat(p.Monitors(), steps.PassiveMonitors(p))
	if c, ok := p.(steps.Clients); ok {
		_, ofClient := c.Client()
		monitors = append(monitors, ofClient...)
	}
	for _, row := range ledger.Rows() {
		judged := j.judged[row.ID] ||
			slices.ContainsFunc(monitors, func(m monitor.Monitor) bool { return slices.Contains(m.Clauses, row.ID) })
		switch {
		case judged && row.Tested() && len(row.Judged) == 0:
			t.Errorf("%s is judged in a run, and the ledger does not say by what (judged: …)", row.ID)
		case !judged && len(row.Judged) > 0:
			t.Errorf("%s is judged by %q according to the ledger, and by nothing in a run", row.ID, row.Judged)
		}
	}
}

// write updates judges.yaml, and logs each row that it drops. After a failure it writes nothing: a scenario that
// stopped early has not run all of its steps.
func (j judgings) write(t *testing.T, protocol string, known steps.Judges) {
	t.Helper()
	if t.Failed() {
		t.Errorf("features/%s/judges.yaml is left as it is: a run that fails does not show every step", protocol)
		return
	}
	judges := j[protocol].steps
	for _, id := range slices.Sorted(maps.Keys(known)) {
		for _, expr := range known[id] {
			if !slices.Contains(judges[id], expr) {
				t.Logf("features/%s/judges.yaml: %s was not judged by %q and loses that row", protocol, id, expr)
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintln(&b,
		"# Which steps judge which clause, as runs against the bundled targets show it: go test . -run TestFeatures -update")
	for _, id := range slices.Sorted(maps.Keys(judges)) {
		fmt.Fprintf(&b, "%s:\n", id)
		for _, expr := range judges[id] {
			fmt.Fprintf(&b, "  - '%s'\n", bytes.ReplaceAll([]byte(expr), []byte("'"), []byte("''")))
		}
	}
	if err := os.WriteFile(filepath.Join("features", protocol, "judges.yaml"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
