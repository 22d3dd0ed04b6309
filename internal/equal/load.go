package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/jsonform"
	"parley/reports"
)

// notSelected is the outcome of a clause that no selected scenario judges. Which scenarios a mutant selects, and what
// preflight and the monitors judge in addition, is not a verdict, so it is counted separately.
const notSelected = "not-selected"

// verdictOf stands for the verdict of a whole run where a clause is named.
const verdictOf = "verdict"

// place is what has an outcome in a target's results.
type place struct {
	clause string // or verdictOf
	driver string // "": over all drivers
}

func (p place) String() string {
	if p.driver == "" {
		return p.clause
	}
	return p.clause + "/" + p.driver
}

// seen holds what the runs of a target produced for a place.
type seen struct {
	outcomes []string // distinct
	reason   string   // of the last
}

// target has the outcomes of one target on one side.
type target struct {
	protocol, role string
	places         map[place]*seen
}

// outcomes are those of one side, by the name of the target.
type outcomes map[string]*target

// loadFolder adds the results below a folder.
func (o outcomes) loadFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		// Not by reports.ReadJSON, which rejects files that lack fields of this version.
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r reports.Results
		if err := json.Unmarshal(b, &r, jsonform.Lenient); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if r.Schema != reports.SchemaID {
			return nil // something else, such as a kill matrix
		}
		if r.Partial {
			return fmt.Errorf("%s is of a run that was interrupted", path)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(name), ".json"), "/results")
		for _, run := range r.Runs {
			id := name
			if len(r.Runs) > 1 {
				id += "/" + run.Protocol + "-" + run.Role
			}
			o.addRun(id, run, r.Selection != "")
		}
		return nil
	})
}

// addRun adds a run; narrowed says that it had a selection of the scenarios.
func (o outcomes) addRun(name string, run reports.Run, narrowed bool) {
	if o[name] == nil {
		o[name] = &target{protocol: run.Protocol, role: run.Role, places: map[place]*seen{}}
	}
	places := o[name].places
	note := func(p place, outcome, reason string) {
		s := places[p]
		if s == nil {
			s = &seen{}
			places[p] = s
		}
		if s.reason = reason; !slices.Contains(s.outcomes, outcome) {
			s.outcomes = append(s.outcomes, outcome)
		}
	}
	note(place{clause: verdictOf}, string(run.Verdict), run.Environment)
	for _, c := range run.Clauses {
		outcome := string(c.Outcome)
		switch {
		case c.Excluded:
			outcome = "excluded"
		case c.OtherRole:
			outcome = "other-role"
		case narrowed && c.Outcome == verdict.NotTested && c.Reason == verdict.NotRun:
			outcome = notSelected
		}
		note(place{clause: c.ID}, outcome, c.Reason)
		if len(c.ByDriver) > 1 {
			for driver, outcome := range c.ByDriver {
				note(place{c.ID, driver}, string(outcome), c.Reason)
			}
		}
	}
}

// isJudged reports whether an outcome says something about the target.
func isJudged(outcome string) bool {
	switch verdict.Outcome(outcome) {
	case verdict.Passed, verdict.Failed, verdict.Warned:
		return true
	}
	return false
}

// explanation is a line of the file of intended differences.
type explanation struct {
	line   int
	fields [4]*regexp.Regexp // target, clause, old and new outcome
	why    string
	used   int
}

// loadExplained reads explanations; none from "".
func loadExplained(path string) ([]*explanation, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*explanation
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 5 {
			return nil, fmt.Errorf("%s:%d: want TARGET CLAUSE OLD NEW WHY", path, n)
		}
		e := &explanation{line: n, why: strings.Join(words[4:], " ")}
		for i := range e.fields {
			e.fields[i] = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(words[i]), `\*`, ".*") + "$")
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// findExplanation finds the explanation of a difference, and nil if there is none.
func findExplanation(all []*explanation, target string, p place, before, after *seen) *explanation {
	for _, e := range all {
		if e.fields[0].MatchString(target) && e.fields[1].MatchString(p.clause) &&
			e.fields[2].MatchString(before.String()) && e.fields[3].MatchString(after.String()) {
			e.used++
			return e
		}
	}
	return nil
}

// String joins the distinct outcomes.
func (s *seen) String() string { return strings.Join(slices.Sorted(slices.Values(s.outcomes)), ",") }
