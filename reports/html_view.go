package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/reports/lang"
)

// page is what the template shows.
type page struct {
	frame
	Verdict verdict.Verdict
	Grounds []string
	Facts   []fact
	Runs    []*runView
	Packs   []template.HTML // recordings: gzip, base64, which needs no escaping
}

// fact is one thing that identifies a run or its target.
type fact struct{ Name, Text string }

// runView is the page's view of one run.
type runView struct {
	*Run
	Name             string
	Anchor           string // prefix of all ids of this run
	Alone            bool   // the only run: its verdict is the page's
	Facts            []fact
	DriverList       []string
	Picture          []sectionView
	Outcomes         []outcomeCount // of clauses
	ScenarioOutcomes []outcomeCount
	Heads            []column
	Levels           []levelView
	Reasons          []causeView
	Groups           []findingGroup
	NotTested        []reasonGroup
	Idle             []reasonGroup // not applicable
	Errors           []*Scenario
	Mend             []BaselineRow
	Ending           []endingRow // rows of the baseline that expire soon
	Features         []featureView
	scenarios        map[string]string // id → the driver that first ran it
	packed           map[*Scenario]packed
}

// causeView is a cause with the finding that stands for it.
type causeView struct {
	Cause
	Title string
	View  failureView
}

// causeViews returns the causes of failures and warnings.
func causeViews(run *Run, strict bool, l lang.Lang) []causeView {
	var out []causeView
	for _, c := range causesOf(run, strict, verdict.Failed, verdict.Warned) {
		title := causeTitle(run, c, run.failureOfExample(c.Example).Failure, l)
		out = append(out, causeView{c, title, viewOfCause(run, &c, l).onlyPortions(inFull)})
	}
	return out
}

// sectionView is one section of the picture.
type sectionView struct {
	Section string
	Clauses []Clause
}

// outcomeCount is one entry of the legend.
type outcomeCount struct {
	Outcome verdict.Outcome
	Count   int
}

// levelView is one row of the totals with its bar.
type levelView struct {
	Label string
	Count Count
	Cells []int
	Bar   []barPart
}

// barPart is a part of a bar, in percent of its length.
type barPart struct {
	Outcome  verdict.Outcome
	From, To float64
}

// Length returns the length of the part, in percent.
func (b barPart) Length() float64 { return b.To - b.From }

// endingRow is a row of the baseline that expires soon.
type endingRow struct{ Clause, Text string }

// findingGroup is one list of findings with its title.
type findingGroup struct {
	Key, Title string
	Folded     bool
	Findings   []finding
}

// featureView is a feature with its scenarios.
type featureView struct {
	Name      string
	Scenarios []Scenario
}

// Each returns the scenarios by reference.
func (f featureView) Each() []*Scenario {
	out := make([]*Scenario, len(f.Scenarios))
	for i := range f.Scenarios {
		out[i] = &f.Scenarios[i]
	}
	return out
}

func newPage(r *Results, o PageOptions) page {
	p := page{
		frame: newFrame(""), Verdict: r.Verdict, Grounds: verdictGrounds(r, o.Lang), Facts: pageFacts(r, o.Lang),
	}
	var names []string
	pack := &packer{read: o.Read, lang: o.Lang, most: cmp.Or(o.MaxRecording, maxPacked)}
	for i := range r.Runs {
		run := newRunView(&r.Runs[i], fmt.Sprintf("r%d", i+1), r.Strict, o.Lang)
		run.Alone = len(r.Runs) == 1
		for _, row := range endingRows(r, &r.Runs[i]) {
			run.Ending = append(run.Ending, endingRow{row.Clause, endingText(r, row, o.Lang)})
		}
		run.packed = map[*Scenario]packed{}
		for f := range run.Features {
			for s := range run.Features[f].Scenarios {
				of := &run.Features[f].Scenarios[s]
				run.packed[of] = pack.packRecording(of)
			}
		}
		p.Runs = append(p.Runs, run)
		names = append(names, run.Name+" · "+run.Target.Name)
	}
	pack.endPack()
	p.Packs = pack.packs
	p.Title = o.Lang.Say("%s: %s", o.Lang.Say(string(r.Verdict)), strings.Join(names, ", "))
	return p
}

func pageFacts(r *Results, l lang.Lang) []fact {
	facts := []fact{
		{l.Say("Started"), formatTime(r.Started)},
		{l.Say("Took"), formatDuration(r.Duration, l)},
		{l.Say("Seed"), fmt.Sprint(r.Seed)},
		{l.Say("Exit code"), fmt.Sprint(r.Exit)},
	}
	if r.Strict {
		facts = append(facts, fact{l.Say("Strict"), l.Say("warnings count as failures")})
	}
	return append(facts, fact{l.Say("Suite"), r.Suite.Version + " " + r.Suite.Digest})
}

func newRunView(run *Run, anchor string, strict bool, l lang.Lang) *runView {
	found := findingsOf(run, strict)
	v := &runView{
		Run: run, Name: runName(run), Anchor: anchor, Facts: targetFacts(run, l), DriverList: driversOf(run),
		Picture: groupBySection(run), Outcomes: countOutcomes(run.Clauses, shownOutcome),
		ScenarioOutcomes: countOutcomes(run.Scenarios, func(s Scenario) verdict.Outcome { return s.Outcome }),
		Reasons:          causeViews(run, strict, l),
		Groups: []findingGroup{
			{"failures", l.Say("Failures"), false, found.Failed},
			{"warnings", l.Say("Warnings"), false, found.Warned},
			{"expected", l.Say("Expected failures"), true, found.Expected},
			{"observations", l.Say("Observations, which do not affect the verdict"), true, found.Observed},
		},
		NotTested: reasonsFor(run, verdict.NotTested), Idle: reasonsFor(run, verdict.NotApplicable),
		Errors: brokenScenarios(run), Mend: troubledRows(run.Baseline), Features: byFeature(run.Scenarios),
		scenarios: map[string]string{},
	}
	v.addLevels(run.Totals, l)
	for _, s := range slices.Backward(run.Scenarios) {
		v.scenarios[s.ID] = s.Driver
	}
	return v
}

// Packed says where the recording of a scenario of a feature is.
func (v *runView) Packed(s *Scenario) packed { return v.packed[s] }

// ScenarioAnchor returns the anchor of a scenario; "" if it was not run.
func (v *runView) ScenarioAnchor(id string) string {
	d, ok := v.scenarios[id]
	if !ok {
		return ""
	}
	return anchor(v.Anchor, id, d)
}

// insecurityNote says that the certificate of the target was not checked; "" if it was, or there is none.
func insecurityNote(run *Run, l lang.Lang) string {
	if run.Target.Insecure {
		return uncheckedNote(l)
	}
	return ""
}

func targetFacts(run *Run, l lang.Lang) []fact {
	var out []fact
	for _, f := range []fact{
		{l.Say("Target"), run.Target.Name},
		{l.Say("Address"), run.Target.URL},
		{"TLS", insecurityNote(run, l)},
		{l.Say("Profile"), run.Target.Profile},
		{l.Say("Drivers"), strings.Join(run.Target.Drivers, ", ")},
		{l.Say("Capabilities"), strings.Join(run.Target.Capabilities, ", ")},
	} {
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// groupBySection groups the clauses by section, in the order of the source.
func groupBySection(run *Run) []sectionView {
	by := map[string][]Clause{}
	for _, c := range run.Clauses {
		by[c.Section] = append(by[c.Section], c)
	}
	var out []sectionView
	for _, s := range slices.SortedFunc(maps.Keys(by), compareSections) {
		out = append(out, sectionView{s, by[s]})
	}
	return out
}

// countOutcomes counts the outcomes that occur in a list, excluded clauses last.
func countOutcomes[T any](list []T, outcome func(T) verdict.Outcome) []outcomeCount {
	n := map[verdict.Outcome]int{}
	for _, x := range list {
		n[outcome(x)]++
	}
	var out []outcomeCount
	for _, o := range append(slices.Clone(verdict.Outcomes), excluded) {
		if n[o] > 0 {
			out = append(out, outcomeCount{o, n[o]})
		}
	}
	return out
}

// addLevels makes the table of totals: the non-empty columns, and a row with a bar for each level.
func (v *runView) addLevels(t Totals, l lang.Lang) {
	rows := append(levelRows(t.ByLevel), row{l.Say("all clauses"), t.Clauses}, row{l.Say("scenarios"), t.Scenarios})
	v.Heads = usedColumns(rows, l)
	for _, r := range rows {
		level := levelView{Label: r.label, Count: r.count, Bar: barParts(r.count)}
		for _, col := range v.Heads {
			level.Cells = append(level.Cells, col.value(r.count))
		}
		v.Levels = append(v.Levels, level)
	}
}

// barParts divides a bar in proportion to the outcomes.
func barParts(n Count) []barPart {
	var out []barPart
	from := 0.0
	for _, o := range verdict.Outcomes {
		if k := n.ByOutcome[o]; k > 0 && n.Total > 0 {
			to := from + 100*float64(k)/float64(n.Total)
			out = append(out, barPart{o, from, to})
			from = to
		}
	}
	return out
}

// byFeature groups scenarios by feature, in the order in which features first appear.
func byFeature(list []Scenario) []featureView {
	var out []featureView
	at := map[string]int{}
	for _, s := range list {
		n, known := at[s.Feature]
		if !known {
			n = len(out)
			at[s.Feature] = n
			out = append(out, featureView{Name: s.Feature})
		}
		out[n].Scenarios = append(out[n].Scenarios, s)
	}
	return out
}
