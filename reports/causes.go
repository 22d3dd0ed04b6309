package reports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports/causes"
)

// Cause is what several findings of a run have in common: package causes says when they do. It settles no clause.
type Cause struct {
	ID      string          `json:"id"`      // of its first kind: the same in every run that finds it
	Outcome verdict.Outcome `json:"outcome"` // the worst of its clauses
	Clauses []string        `json:"clauses"` // sorted
	// expectation and deviation, without ids, numbers, times, quoted values and parameters; the most frequent first
	Kinds     []CauseKind      `json:"kinds"`
	Scenarios []string         `json:"scenarios"` // that it explains, each once whatever the driver
	Drivers   []string         `json:"drivers"`
	Findings  int              `json:"findings"`
	Example   CauseExample     `json:"example"` // the smallest and clearest finding
	Following []CauseFollowing `json:"following,omitempty"`
	// findings that follow, beyond those
	MoreFollowing int        `json:"more_following,omitempty"`
	LooksLike     []Likeness `json:"looks_like,omitempty"` // at most three, the nearest first
}

// CauseKind is an expectation with the kind of deviation from it.
type CauseKind struct {
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

// CauseExample locates a failure: its index among those of a scenario over a driver.
type CauseExample struct {
	Scenario string `json:"scenario"`
	Driver   string `json:"driver"`
	Failure  int    `json:"failure"`
}

// CauseFollowing is a finding of a model that a cause has proved wrong.
type CauseFollowing struct {
	Clause   string `json:"clause"`
	Observed string `json:"observed"`
}

// Likeness is a known fault of a bundled target that breaks the like.
type Likeness struct {
	Fault    string  `json:"fault"`    // the name of the mutant
	Why      string  `json:"why"`      // how a real implementation comes to have it
	Likeness float64 `json:"likeness"` // from 0 to 1
	// how much of what the cause found the fault breaks, too, from 0 to 1; 0 for results of versions that did not
	// record it
	Explained float64 `json:"explained,omitempty"`
	// how much of what the fault breaks this run could find, from 0 to 1: little if the run was narrowed, or could not
	// judge much; 0 for results of versions that did not record it
	Judged float64 `json:"judged,omitempty"`
}

// Classes of findings; only findings of the same class may have one cause.
const (
	classBroken   = iota // failed or warned
	classExpected        // failed, as the baseline expects
	classObserved        // only recorded
)

// FindCauses groups the failures of a run by their cause.
func FindCauses(run *Run, strict bool) []Cause {
	hits, list := causeFindings(run, strict)
	var out []Cause
	for _, g := range causes.Of(list) {
		c := Cause{ID: g.ID, Clauses: g.Clauses, Scenarios: g.Scenarios, Drivers: g.Drivers, Findings: g.Findings,
			Example: hits[g.Example], MoreFollowing: g.More, Outcome: causeOutcome(g)}
		for _, k := range g.Kinds {
			c.Kinds = append(c.Kinds, CauseKind(k))
		}
		for _, f := range g.Following {
			c.Following = append(c.Following, CauseFollowing(f))
		}
		out = append(out, c)
	}
	return out
}

func causeOutcome(g causes.Cause) verdict.Outcome {
	switch {
	case g.Class == classExpected:
		return verdict.ExpectedFail
	case g.Class == classObserved:
		return verdict.NotApplicable
	case g.Rank > 0:
		return verdict.Warned
	}
	return verdict.Failed
}

// processEnded is how an observation says that the target's process ended (package runner).
const processEnded = "the target's process ended during this scenario"

// causeFindings returns the failures of a run for package causes, and where each stands.
func causeFindings(run *Run, strict bool) (hits []CauseExample, list []causes.Finding) {
	class := classesOf(run, strict)
	for _, s := range run.Scenarios {
		for n, f := range s.Failures {
			at := class[f.Clause]
			one := causes.Finding{Clause: f.Clause, Class: at[0], Rank: at[1], Level: levelRank(f.Level),
				Ended: strings.Contains(f.Observed, processEnded), Scenario: s.ID, Driver: s.Driver,
				Expected: f.Expected, Observed: f.Observed, Monitor: f.Monitor, Times: f.Count,
				More: f.MoreFollowing, Index: len(hits)}
			one.Record, one.N = recordOf(f.At)
			for _, next := range f.Following {
				one.Following = append(one.Following, causes.Following{Clause: next.Clause, Observed: next.Observed})
			}
			hits = append(hits, CauseExample{s.ID, s.Driver, n})
			list = append(list, one)
		}
	}
	return hits, list
}

// classesOf returns the class of the findings of each clause, and their rank within it.
func classesOf(run *Run, strict bool) map[string][2]int {
	found := findingsOf(run, strict)
	out := map[string][2]int{}
	for i, list := range [][]finding{found.Failed, found.Warned, found.Expected, found.Observed} {
		for _, f := range list {
			out[f.Clause.ID] = [][2]int{{classBroken, 0}, {classBroken, 1}, {classExpected, 0}, {classObserved, 0}}[i]
		}
	}
	return out
}

var placed = regexp.MustCompile(`^(?:client|connection) (.*), record (\d+), `)

// recordOf returns the record that a place names, and its number.
func recordOf(at string) (string, int) {
	m := placed.FindStringSubmatch(at)
	if m == nil {
		return "", 0
	}
	n, _ := strconv.Atoi(m[2])
	return m[1] + " " + m[2], n
}

// causesOf returns the causes of a run with these outcomes. Results of older versions have none, and are grouped here.
func causesOf(run *Run, strict bool, outcomes ...verdict.Outcome) (out []Cause) {
	all := run.Causes
	if len(all) == 0 {
		all = FindCauses(run, strict)
	}
	for _, c := range all {
		if slices.Contains(outcomes, c.Outcome) && run.failureOfExample(c.Example).Scenario != nil {
			out = append(out, c)
		}
	}
	return out
}

// causeOf returns the id of the cause that a failure has, or of its kind if none is listed.
func (r *Run) causeOf(f Failure) string {
	kind := CauseKind{causes.Kind(f.Expected), causes.Kind(f.Observed)}
	for _, c := range r.Causes {
		if slices.Contains(c.Kinds, kind) {
			return c.ID
		}
	}
	return causes.ID(kind.Expected, kind.Observed)
}

// exampleOfKind returns an expectation and an observation of a kind as a scenario of the cause has them.
func (r *Run) exampleOfKind(c Cause, k CauseKind) CauseKind {
	for i := range r.Scenarios {
		if !slices.Contains(c.Scenarios, r.Scenarios[i].ID) {
			continue
		}
		for _, f := range r.Scenarios[i].Failures {
			if causes.Kind(f.Expected) == k.Expected && causes.Kind(f.Observed) == k.Observed {
				return CauseKind{f.Expected, f.Observed}
			}
		}
	}
	return k
}

// Alike reports whether a cause looks like the first of the faults that it resembles, and not only possibly: the fault
// explains all that the cause found, nearly all that the fault breaks was found, most of it could be found, and no
// other fault is as near.
func (c Cause) Alike() bool {
	l := c.LooksLike
	return len(l) > 0 && l[0].Likeness >= likely && l[0].Explained >= allExplained && l[0].Judged >= mostJudged &&
		(len(l) == 1 || l[0].Likeness-l[1].Likeness >= clearly)
}

// What makes a likeness more than possible.
const (
	likely       = 0.85
	allExplained = 0.95
	mostJudged   = 0.5
	clearly      = 0.1 // the distance to the next fault
)

// failureOfExample returns the failure that an example names; with a nil scenario if there is none.
func (r *Run) failureOfExample(e CauseExample) hit {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.ID == e.Scenario && s.Driver == e.Driver && e.Failure < len(s.Failures) {
			return hit{s, s.Failures[e.Failure]}
		}
	}
	return hit{}
}

// UniteCauses makes one of causes with the same outcome that one known fault is likely to have brought about: it breaks
// what each of them found, and most of what it breaks was found. Of several such faults the one that explains most
// causes counts. The first cause keeps its id; the example is that of the strongest level; what it looks like is left
// for the caller to find anew, by all that was found. It returns the ids of these causes.
func (r *Run) UniteCauses() (ids []string) {
	for {
		fault, outcome := r.commonFault()
		if fault == "" {
			return ids
		}
		whole := func(c Cause) bool { return c.Outcome == outcome && c.bestLikeness(fault) >= likely }
		first := slices.IndexFunc(r.Causes, whole)
		for _, c := range r.Causes[first+1:] {
			if whole(c) {
				r.Causes[first] = r.mergeExplained(r.Causes[first], c)
			}
		}
		rest := slices.DeleteFunc(slices.Clone(r.Causes[first+1:]), whole)
		r.Causes = append(r.Causes[:first+1], rest...)
		r.Causes[first].LooksLike = nil
		ids = append(ids, r.Causes[first].ID)
	}
}

// commonFault returns the fault that is likely to be behind most causes of an outcome, if it is behind several; of
// equals the one that they look like most.
func (r *Run) commonFault() (fault string, outcome verdict.Outcome) {
	type key struct {
		fault   string
		outcome verdict.Outcome
	}
	count, sum := map[key]int{}, map[key]float64{}
	for _, c := range r.Causes {
		for _, l := range c.LooksLike {
			if l.Likeness >= likely && l.Judged >= someJudged {
				count[key{l.Fault, c.Outcome}]++
				sum[key{l.Fault, c.Outcome}] += l.Likeness
			}
		}
	}
	var best key
	for k, n := range count {
		if n > 1 && (best.fault == "" || cmp.Or(cmp.Compare(n, count[best]), cmp.Compare(sum[k], sum[best]),
			cmp.Compare(best.fault, k.fault), cmp.Compare(best.outcome, k.outcome)) > 0) {
			best = k
		}
	}
	return best.fault, best.outcome
}

// someJudged is how much of a fault has to be judged before it unites causes.
const someJudged = 0.25

// bestLikeness returns how much a cause looks like a fault, from 0 to 1.
func (c Cause) bestLikeness(fault string) float64 {
	for _, l := range c.LooksLike {
		if l.Fault == fault {
			return l.Likeness
		}
	}
	return 0
}

// mergeExplained returns what two causes with one fault explain.
func (r *Run) mergeExplained(a, b Cause) Cause {
	a.Clauses, a.Scenarios, a.Drivers = sortedUnion(a.Clauses, b.Clauses), sortedUnion(a.Scenarios, b.Scenarios),
		sortedUnion(a.Drivers, b.Drivers)
	a.Findings += b.Findings
	a.Kinds = slices.Concat(a.Kinds, b.Kinds)
	a.Following, a.MoreFollowing = slices.Concat(a.Following, b.Following), a.MoreFollowing+b.MoreFollowing
	if levelRank(r.failureOfExample(b.Example).Failure.Level) < levelRank(r.failureOfExample(a.Example).Failure.Level) {
		a.Example = b.Example
	}
	return a
}

// misplaced are the words with which findings say that a message belongs to another session, or answers another
// request. What is missing elsewhere follows from it.
var misplaced = []string{"of another session", "another relay session", "under another id"}

func (f Failure) isMisplaced() bool {
	return slices.ContainsFunc(misplaced, func(words string) bool {
		return strings.Contains(f.Expected, words) || strings.Contains(f.Observed, words)
	})
}

// OrderCauses orders the causes of each outcome: first those in which the target's process ended, then those of which a
// message belongs to another session or request, then those that clearly look like a known fault.
func (r *Run) OrderCauses() {
	var outcomes []verdict.Outcome
	for _, c := range r.Causes {
		outcomes = append(outcomes, c.Outcome)
	}
	rank := func(c Cause) int {
		at := r.failureOfExample(c.Example)
		switch {
		case at.Scenario != nil && strings.Contains(at.Failure.Observed, processEnded):
			return 0
		case at.Scenario != nil && at.Failure.isMisplaced():
			return 1
		case c.Alike():
			return 2
		}
		return 3
	}
	slices.SortStableFunc(r.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome)),
			cmp.Compare(rank(a), rank(b)))
	})
}

// sortedUnion returns the values of two lists, sorted, each once.
func sortedUnion[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Fault reports the effects of one fault of a faults file.
type Fault struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Name  string `json:"name"`
	Met   int    `json:"met"`   // messages that it matched
	Fired int    `json:"fired"` // messages that it changed, delayed or cut off
}

// Text returns the report as one line.
func (f Fault) Text() string {
	head := fmt.Sprintf("%s:%d: %s ", f.File, f.Line, f.Name)
	met := words.Counted(f.Met, "message")
	switch {
	case f.Fired > 0:
		return head + fmt.Sprintf("fired %s, of %s that it matches", words.Counted(f.Fired, "time"), met)
	case f.Met > 0:
		return head + "never fired, although " + met + " matched: none was due, or it changed none"
	}
	return head + "never fired: no message matched"
}
