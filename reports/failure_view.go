package reports

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"parley/reports/lang"
)

// failureView is what every report says about a failure, or about a scenario without a judgement: it is put together
// here alone, and the reports only lay it out. Labels and texts of ours are in the language of the report.
type failureView struct {
	Scenario *Scenario
	Also     []*Scenario // in which the same was found over other drivers
	Step     string      // of the failure, with its keyword; "" if none is known
	Rows     []viewRow   // each with a text at least
}

// viewRow is what a report says under one label.
type viewRow struct {
	Name  string // the label in English, by which layouts know the row
	Label string
	Texts []string
	// further texts that are only counted, and what they are
	More int
	Noun string
	// of a file, whose path in the results folder is the text; else nil
	File *Evidence
}

// onlyPortions returns a view of the rows that have a portion of their own, which files have not.
func (v failureView) onlyPortions(show portions) failureView {
	v.Rows = slices.DeleteFunc(v.Rows, func(r viewRow) bool {
		_, shown := show[r.Name]
		return !shown
	})
	return v
}

// firstText returns the first text of the first row that has one of these names; "" if there is none.
func (v failureView) firstText(names ...string) string {
	if i := slices.IndexFunc(v.Rows, func(r viewRow) bool { return slices.Contains(names, r.Name) }); i >= 0 {
		return v.Rows[i].Texts[0]
	}
	return ""
}

// viewer puts a view together.
type viewer struct {
	failureView
	lang lang.Lang
}

func newViewer(s *Scenario, l lang.Lang) *viewer { return &viewer{failureView{Scenario: s}, l} }

// addRow adds a row, unless it has no text.
func (v *viewer) addRow(name string, texts ...string) {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	if len(texts) > 0 {
		v.Rows = append(v.Rows, viewRow{Name: name, Label: v.lang.Say(name), Texts: texts})
	}
}

// onStderr begins what the target wrote last, at the end of an observation (steps.Cry).
const onStderr = "; on its stderr: "

// viewOf returns the view of a failure, which others found, too.
func viewOf(h hit, l lang.Lang, also ...*Scenario) failureView {
	v := viewOfExample(nil, h, nil, l)
	v.Also = also
	return v
}

// viewOfCause returns the view of a cause: of its example, with what else it brought about.
func viewOfCause(run *Run, c *Cause, l lang.Lang) failureView {
	return viewOfExample(run, run.failureOfExample(c.Example), c, l)
}

func viewOfExample(run *Run, h hit, cause *Cause, l lang.Lang) failureView {
	v, f := newViewer(h.Scenario, l), h.Failure
	v.Step = f.Step
	v.addRow("scenario", h.Scenario.Name)
	v.addRow(f.stepLabel(), h.placeAndStep())
	observed, last, _ := strings.Cut(f.Observed, onStderr)
	v.addRow("expected", l.Of(f.Expected))
	v.addRow("observed", l.Of(observed))
	v.addRow("stderr", last)
	if cause != nil {
		v.addOtherExpectations(run, cause)
	}
	v.addRow("diff", strings.Trim(f.Diff, "\n"))
	v.addRow("at", l.Of(f.At))
	v.addRow("alike", alikeText(f, l))
	v.addRow("monitor", f.Monitor)
	if cause != nil {
		v.addFollowing(cause.Following, cause.MoreFollowing)
		v.addLikelyFaults(cause)
	} else {
		v.addFollowing(f.briefFollowing(), f.MoreFollowing)
	}
	v.addRow("wire", strings.Join(f.Excerpt, "\n"))
	v.addFiles()
	v.addRow("again", f.Again)
	return v.failureView
}

// viewOfError returns the view of a scenario that ended without a judgement.
func viewOfError(s *Scenario, l lang.Lang) failureView {
	v := newViewer(s, l)
	v.addRow("reason", s.Reason)
	if at := failedStep(s); at != nil {
		v.Step = at.fullText()
		place := hit{s, Failure{Step: v.Step, Location: s.placeOf(at.Line)}}.placeAndStep()
		v.addRow("step", strings.TrimSpace(place+"\n"+at.Error))
	} else {
		v.addRow("feature", s.Location)
	}
	v.addFiles()
	return v.failureView
}

// stepLabels are the labels of the row that says where a failure was found; see Failure.stepLabel.
var stepLabels = []string{"step", "while", "feature"}

// stepLabel returns the label of the step of a failure: what a monitor objects to came while a step ran.
func (f Failure) stepLabel() string {
	switch {
	case f.Step == "":
		return "feature"
	case f.Monitor != "":
		return "while"
	}
	return "step"
}

// placeAndStep returns the step of a failure after its file and line; the place of the scenario if no step is known.
func (h hit) placeAndStep() string {
	at := cmp.Or(h.Failure.Location, h.Scenario.Location)
	if h.Failure.Step == "" {
		return at
	}
	return strings.TrimPrefix(at+" · "+h.Failure.Step, " · ")
}

// fullText returns a step as it is written.
func (st *Step) fullText() string { return strings.TrimSpace(st.Keyword) + " " + st.Text }

// failedStep returns the step that a scenario ended in; nil if there is none.
func failedStep(s *Scenario) *Step {
	i := slices.IndexFunc(s.Steps, func(st Step) bool { return st.Status != "passed" && st.Status != "skipped" })
	if i < 0 {
		return nil
	}
	return &s.Steps[i]
}

// placeOf returns where a line of a scenario's file is; "" for line 0.
func (s *Scenario) placeOf(line int64) string {
	if line == 0 {
		return ""
	}
	file, _ := splitLocation(s.Location)
	return file + ":" + strconv.FormatInt(line, 10)
}

// addOtherExpectations adds the other expectations that the same records broke.
func (v *viewer) addOtherExpectations(run *Run, c *Cause) {
	var texts []string
	for _, k := range c.Kinds[1:] {
		one := run.exampleOfKind(*c, k)
		texts = append(texts, v.lang.Say("%s; observed %s", v.lang.Of(one.Expected), v.lang.Of(one.Observed)))
	}
	v.addCountedRow("also", texts, 0, "more expectation")
}

// addFollowing adds what follows from a failure, and how much more does.
func (v *viewer) addFollowing(list []CauseFollowing, more int) {
	var texts []string
	for _, next := range list {
		texts = append(texts, v.lang.Say("%s: %s", next.Clause, v.lang.Of(next.Observed)))
	}
	v.addCountedRow("following", texts, more, "more finding")
}

// briefFollowing returns what follows from a failure as causes have it.
func (f Failure) briefFollowing() (out []CauseFollowing) {
	for _, next := range f.Following {
		out = append(out, CauseFollowing{next.Clause, next.Observed})
	}
	return out
}

// addCountedRow adds a row of which a report may show a part, and count the rest.
func (v *viewer) addCountedRow(name string, texts []string, more int, noun string) {
	if v.addRow(name, texts...); len(texts) > 0 {
		last := &v.Rows[len(v.Rows)-1]
		last.More, last.Noun = more, noun
	}
}

// otherFaults names the row of the faults that a cause looks like less than like another.
const otherFaults = "other faults"

// addLikelyFaults adds the known faults that a cause looks like; one that is not certain, or not the only one, is
// possible.
func (v *viewer) addLikelyFaults(c *Cause) {
	var texts []string
	for _, l := range c.LooksLike {
		texts = append(texts, v.nameFault(l))
	}
	if !c.Alike() {
		v.addRow("possibly", texts...)
		return
	}
	v.addRow("looks like", texts[0])
	if len(texts) > 1 {
		v.Rows = append(v.Rows, viewRow{Name: otherFaults, Label: v.lang.Say("possibly"), Texts: texts[1:]})
	}
}

// nameFault names a known fault, and says in English, the only language of the catalogues, how implementations come to
// have it.
func (v *viewer) nameFault(l Likeness) string {
	if v.lang == lang.Chinese {
		return l.Fault
	}
	return v.lang.Say("%s: %s", l.Fault, l.Why)
}

// viewOfEvidence returns the view of a scenario's evidence alone.
func viewOfEvidence(s *Scenario, l lang.Lang) failureView {
	v := newViewer(s, l)
	v.addEvidence()
	return v.failureView
}

// addFiles adds the scenario's transcript and evidence.
func (v *viewer) addFiles() {
	if t := v.Scenario.Transcript; t != nil {
		v.addFile("transcript", &Evidence{Path: t.Path})
	}
	v.addEvidence()
}

func (v *viewer) addEvidence() {
	for i := range v.Scenario.Evidence {
		e := &v.Scenario.Evidence[i]
		v.addFile(evidenceLabel(*e), e)
	}
}

func (v *viewer) addFile(name string, e *Evidence) {
	v.Rows = append(v.Rows, viewRow{Name: name, Label: v.lang.Say(name), Texts: []string{e.Path}, File: e})
}

// firstTexts returns the first texts of a row, at most so many: the last one then counts those that are left out.
func (r viewRow) firstTexts(most int, l lang.Lang) []string {
	texts, more := r.Texts, r.More
	if most > 0 && len(texts)+min(more, 1) > most && r.Noun != "" {
		more += len(texts) - (most - 1)
		texts = texts[:most-1]
	} else if most > 0 {
		texts = texts[:min(len(texts), most)]
	}
	if more > 0 {
		texts = append(slices.Clone(texts), l.Say("and %s", l.Count(more, r.Noun)))
	}
	return texts
}

// rowLook is how reports show a row: the colour of its label on a console, and what stands for that on the page.
type rowLook struct {
	tint, text colour
	Class      string // of the label
	Pre        string // class of the preformatted text; "": it is prose
}

var rowLooks = map[string]rowLook{
	"expected":   {green, "", "wanted", "text"},
	"observed":   {red, "", "got", "text"},
	"stderr":     {red, "", "got", "text"},
	"step":       {dim, "", "", "text"},
	"while":      {dim, "", "", "text"},
	"looks like": {tint: cyan},
	"possibly":   {tint: cyan},
	otherFaults:  {tint: cyan},
	"following":  {tint: dim, text: dim},
	"wire":       {dim, dim, "", "lines"},
	"again":      {dim, "", "", "command"},
}

// Look returns how a row is shown.
func (r viewRow) Look() rowLook {
	if look, ok := rowLooks[r.Name]; ok {
		return look
	}
	return rowLook{tint: dim}
}
