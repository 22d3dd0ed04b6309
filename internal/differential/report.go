package differential

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/reports"
	"parley/simulator/replay"
)

// SchemaID names the version of the format of differential.json; it is the $id of differential.schema.json.
const SchemaID = "urn:parley:differential:1"

// Report is the content of differential.json. Fields are only ever added.
type Report struct {
	Schema    string        `json:"schema"`
	Suite     reports.Suite `json:"suite"`
	Protocol  string        `json:"protocol"`
	Role      string        `json:"role"`
	Exit      int           `json:"exit"`              // 0 they agree, 1 they differ, 3 one could not be judged, 4, 130
	Problem   string        `json:"problem,omitempty"` // why the report has no differences
	A         Target        `json:"a"`
	B         Target        `json:"b"`
	Scenarios int           `json:"scenarios"` // compared, one per driver
	// of these: scenarios in which the harness, which reacts to the targets, acted differently from some point on
	Parted      int            `json:"parted"`
	Compared    int            `json:"compared"`     // pairs of messages
	NotCompared map[string]int `json:"not_compared"` // why → number of scenarios
	// the profiles name the members of messages differently: only the sequence and status of messages was compared
	Mapped bool `json:"mapped"`
	// differences in single scenarios that did not recur, or that also occur between two runs of one target
	Unsteady int     `json:"unsteady"`
	Entries  []Entry `json:"entries"`
}

// Target is one of the two targets.
type Target struct {
	Name    string          `json:"name"` // as it was given
	Verdict verdict.Verdict `json:"verdict"`
	Results string          `json:"results"` // its results.json, relative to the results folder
}

// Class says what is known about a difference.
type Class string

// The classes, in the order of a report.
const (
	Decided Class = "decided" // a clause says who is right
	Open    Class = "open"    // no clause that was judged says so
	Follows Class = "follows" // it occurs only after another difference, which may have caused it
)

// Entry is one difference, in all scenarios that show it.
type Entry struct {
	Number    int        `json:"number"` // from 1
	Class     Class      `json:"class"`
	Kind      string     `json:"kind"`             // replay.DeviationKind, or "verdict": only the clause shows it
	Message   string     `json:"message"`          // type of A's message, or else B's; or what it is
	Other     string     `json:"other,omitempty"`  // of kind instead: that of B's
	Places    []Place    `json:"places,omitempty"` // of kind changed
	Count     int        `json:"count"`            // how often it occurs
	Values    []Value    `json:"values,omitempty"` // at the first place, the most frequent first; at most 5
	Decisions []Decision `json:"decisions"`        // the clauses that decide it; none if it is open
	Section   string     `json:"section"`          // the nearest section of the document
	Clauses   []string   `json:"clauses"`          // of the scenarios that show it, sorted
	Scenarios []Where    `json:"scenarios"`        // that show it
	Example   Example    `json:"example"`
}

// Place is a place in a message at which the targets differ.
type Place struct {
	At string `json:"at"` // JSON Pointer into the message, * for any index; or "status", "content type", "query"
	In string `json:"in"` // who has a value there: "a", "b" or "both"
}

// Value is a pair of values. "" stands for nothing.
type Value struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Count int    `json:"count"`
}

// Decision is a clause that one of the targets breaks where the difference occurs.
type Decision struct {
	Clause   string        `json:"clause"`
	Level    verdict.Level `json:"level"`
	Section  string        `json:"section"`
	Text     string        `json:"text"`
	Breaks   string        `json:"breaks"` // "a", "b", or "both": each in another scenario
	Expected string        `json:"expected"`
	Observed string        `json:"observed"`
}

// Where is a scenario over a driver.
type Where struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Driver string `json:"driver"`
}

// Example is the scenario that shows a difference best.
type Example struct {
	Scenario string   `json:"scenario"`
	Name     string   `json:"name"`
	Driver   string   `json:"driver"`
	Conn     string   `json:"connection"`
	Act      string   `json:"act"`  // what the harness had done before
	Said     string   `json:"said"` // the payload of that act
	A        *Message `json:"a,omitempty"`
	B        *Message `json:"b,omitempty"`
	Diff     string   `json:"diff,omitempty"`
}

// Message is what one target sent.
type Message struct {
	Record     int    `json:"record"` // in the recording and the transcript
	Transcript string `json:"transcript"`
	What       string `json:"what"`
	Text       string `json:"text"`
	After      string `json:"after,omitempty"` // the target's message before it; of kind order
}

func newReport(o Options, runs [2]oneRun) *Report {
	rep := &Report{Schema: SchemaID, Suite: runs[0].results.Suite, Protocol: runs[0].results.Runs[0].Protocol,
		Role: runs[0].results.Runs[0].Role, NotCompared: map[string]int{}, Entries: []Entry{}}
	for i, r := range runs {
		t := Target{Name: []string{o.A.Name, o.B.Name}[i], Verdict: r.results.Verdict,
			Results: []string{"a", "b"}[i] + "/results.json"}
		if i == 0 {
			rep.A = t
		} else {
			rep.B = t
		}
		switch why := r.whyUnjudged(); {
		case r.results.Partial:
			rep.Exit, rep.Problem = verdict.ExitInterrupted, "interrupted"
		case why != "" && rep.Exit == 0:
			rep.Exit, rep.Problem = verdict.ExitUnreachable, t.Name+": "+why
			if r.results.Exit == verdict.ExitHarness {
				rep.Exit = verdict.ExitHarness
			}
		}
	}
	return rep
}

// groupFindings makes one entry of all findings of the same difference.
func groupFindings(f *findings) []Entry {
	f.markFollowers()
	groups := map[string][]occurrence{}
	for _, o := range f.all {
		groups[o.key] = append(groups[o.key], o)
	}
	assignVerdicts(f, groups)
	out := []Entry{}
	done := map[string]int{} // signature → index in out
	for _, key := range sortedKeys(groups) {
		all := groups[key]
		sign := signatureOf(all)
		if at, is := done[sign]; is && all[0].dev.Kind == replay.Changed {
			out[at].Places = append(out[at].Places, placesOf(all[0])...)
			continue
		}
		done[sign] = len(out)
		out = append(out, entryOf(all))
	}
	alone := map[string][]verdictOnly{}
	for _, v := range f.alone {
		alone[v.failure.Clause+v.side] = append(alone[v.failure.Clause+v.side], v)
	}
	for _, key := range sortedKeys(alone) {
		out = append(out, entryOfVerdict(alone[key]))
	}
	rank := map[Class]int{Decided: 0, Open: 1, Follows: 2}
	slices.SortStableFunc(out, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(rank[x.Class], rank[y.Class]),
			cmp.Compare(strongestDecision(x), strongestDecision(y)),
			cmp.Compare(y.Count, x.Count))
	})
	for i := range out {
		out[i].Number = i + 1
	}
	return out
}

// assignVerdicts assigns each clause that only the verdict shows to a difference of its scenario that occurs only if
// one side breaks a clause: the rarest such difference.
func assignVerdicts(f *findings, groups map[string][]occurrence) {
	var left []verdictOnly
	for _, v := range f.alone {
		best := ""
		for _, key := range sortedKeys(groups) {
			all := groups[key]
			here := slices.ContainsFunc(all, func(o occurrence) bool { return o.place == v.place })
			if here && !slices.ContainsFunc(all, func(o occurrence) bool { return len(oneSided(o.a, o.b)) == 0 }) &&
				(best == "" || len(all) < len(groups[best])) {
				best = key
			}
		}
		if best == "" {
			left = append(left, v)
			continue
		}
		for i := range groups[best] {
			if o := &groups[best][i]; o.place == v.place {
				o.decided = append(o.decided, v.decision)
			}
		}
	}
	f.alone = left
}

// signatureOf names the messages in which a difference shows.
func signatureOf(all []occurrence) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintf(&b, "%s %s %d %d %s|", o.id, o.driver, o.dev.AtA, o.dev.AtB, o.dev.Kind)
	}
	return b.String()
}

func placesOf(o occurrence) []Place {
	if len(o.dev.Places) == 0 {
		return nil
	}
	p := o.dev.Places[o.at]
	return []Place{{At: generalPointer(p.At), In: sidesWith(p)}}
}

// sidesWith returns the side that has a value at a place: "a", "b" or "both".
func sidesWith(p replay.Place) string {
	switch {
	case p.Recorded == "":
		return "b"
	case p.Came == "":
		return "a"
	}
	return "both"
}

func entryOf(all []occurrence) Entry {
	best := bestOf(all)
	e := Entry{Class: Follows, Kind: string(best.dev.Kind),
		Message: cmp.Or(messageKey(best.dev.A), messageKey(best.dev.B)),
		Places:  placesOf(best), Count: len(all), Values: valuesOf(all), Decisions: []Decision{},
		Example: exampleOf(best)}
	if best.dev.Kind == replay.Instead {
		e.Other = messageKey(best.dev.B)
	}
	sections := map[string]int{}
	for _, o := range all {
		sections[o.a.Feature]++
		e.addScenario(o.place, o.a)
		for _, d := range o.decided {
			e.addClause(d)
		}
		if !o.behind {
			e.Class = Open
		}
	}
	e.Section = mostFrequent(sections)
	if len(e.Decisions) > 0 {
		e.Class = Decided
	}
	e.sortLists()
	return e
}

func entryOfVerdict(all []verdictOnly) Entry {
	v := all[0]
	e := Entry{Class: Decided, Kind: "verdict", Message: v.failure.Clause, Count: len(all), Decisions: []Decision{},
		Section: v.failure.Section,
		Example: Example{Scenario: v.id, Name: v.a.Name, Driver: v.driver, Diff: strings.TrimSpace(v.failure.Diff)}}
	for _, one := range all {
		e.addScenario(one.place, one.a)
		e.addClause(one.decision)
	}
	e.sortLists()
	return e
}

// addScenario notes a scenario that shows an entry.
func (e *Entry) addScenario(at place, sc *reports.Scenario) {
	w := Where{ID: at.id, Name: sc.Name, Driver: at.driver}
	if !slices.Contains(e.Scenarios, w) {
		e.Scenarios = append(e.Scenarios, w)
	}
	for _, c := range sc.Clauses {
		e.Clauses = append(e.Clauses, c.Clause)
	}
}

// addClause notes a clause that decides an entry.
func (e *Entry) addClause(d decision) {
	for i := range e.Decisions {
		if e.Decisions[i].Clause == d.failure.Clause {
			if e.Decisions[i].Breaks != d.side {
				e.Decisions[i].Breaks = "both"
			}
			return
		}
	}
	f := d.failure
	e.Decisions = append(e.Decisions, Decision{Clause: f.Clause, Level: f.Level, Section: f.Section, Text: f.Text,
		Breaks: d.side, Expected: f.Expected, Observed: f.Observed})
}

func (e *Entry) sortLists() {
	slices.Sort(e.Clauses)
	e.Clauses = append([]string{}, slices.Compact(e.Clauses)...)
	slices.SortFunc(e.Decisions, func(x, y Decision) int {
		return cmp.Or(cmp.Compare(levelStrength(x.Level), levelStrength(y.Level)), cmp.Compare(x.Clause, y.Clause))
	})
}

func levelStrength(l verdict.Level) int {
	return cmp.Or(map[verdict.Level]int{verdict.Must: 1, verdict.Should: 2}[l], 3)
}

func strongestDecision(e Entry) int {
	if len(e.Decisions) == 0 {
		return 4
	}
	return levelStrength(e.Decisions[0].Level)
}

// maxValues bounds the pairs of values of an entry.
const maxValues = 5

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// bestOf returns the occurrence that shows a difference best. It prefers one that a clause decides, then one that no
// other difference may have caused, then few other differences in the message, then short messages.
func bestOf(all []occurrence) occurrence {
	return slices.MinFunc(all, func(x, y occurrence) int {
		return cmp.Or(cmp.Compare(btoi(len(x.decided) == 0), btoi(len(y.decided) == 0)),
			cmp.Compare(btoi(x.behind), btoi(y.behind)),
			cmp.Compare(len(x.dev.Places), len(y.dev.Places)),
			cmp.Compare(wireLength(x.dev.A)+wireLength(x.dev.B), wireLength(y.dev.A)+wireLength(y.dev.B)))
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func wireLength(w *replay.Wire) int {
	if w == nil {
		return 0
	}
	return len(w.Text)
}

// valuesOf returns the most frequent pairs of values.
func valuesOf(all []occurrence) []Value {
	count := map[Value]int{}
	for _, o := range all {
		if o.dev.Kind == replay.Changed && len(o.dev.Places) > 0 {
			p := o.dev.Places[o.at]
			count[Value{A: p.Recorded, B: p.Came}]++
		}
	}
	var out []Value
	for v, n := range count {
		v.Count = n
		out = append(out, v)
	}
	slices.SortFunc(out, func(x, y Value) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return out[:min(len(out), maxValues)]
}

func mostFrequent(of map[string]int) string {
	best := ""
	for _, key := range sortedKeys(of) {
		if best == "" || of[key] > of[best] {
			best = key
		}
	}
	return best
}

func exampleOf(o occurrence) Example {
	e := Example{Scenario: o.id, Name: o.a.Name, Driver: o.driver, Conn: o.dev.Conn, Diff: o.dev.Diff,
		A: messageOf(o.dev.A, "a", o.a), B: messageOf(o.dev.B, "b", o.b)}
	if w := cmp.Or(o.dev.A, o.dev.B); w != nil {
		e.Act, e.Said = w.Act, w.Said
	}
	return e
}

func messageOf(w *replay.Wire, side string, sc *reports.Scenario) *Message {
	if w == nil {
		return nil
	}
	m := &Message{Record: w.N, What: w.What, Text: w.Text, After: w.After}
	if sc.Transcript != nil {
		m.Transcript = side + "/" + sc.Transcript.Path
	}
	return m
}
