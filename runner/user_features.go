package runner

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/internal/words"
	"parley/reports"
	"parley/steps"
)

// OwnFeature is a feature file of the user.
type OwnFeature struct {
	Path string // as the user gave it; used in results
	Text []byte
}

// withOwn reads the scenarios of o.Own, and returns them after those of the suite that o keeps: all with o.Beside, else
// only preflight. The features of o then contain both. The error is a *UsageError that names the place of a
// mistake.
func withOwn(o *Options, p steps.Protocol, role string, all []Planned) ([]Planned, error) {
	if len(o.Own) == 0 {
		return all, nil
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	var own []Planned
	files := &union{base: o.FS, own: map[string][]byte{}}
	for i, f := range o.Own {
		name := fmt.Sprintf("%s/own/%d/%s", steps.Name(p), i+1, strings.TrimSuffix(path.Base(f.Path), ".feature")+".feature")
		files.own[name] = steps.CurrentFeature(p, f.Text)
		planned, err := ownScenarios(files, name, f, p, role)
		if err != nil {
			return nil, err
		}
		own = append(own, planned...)
	}
	for _, pl := range own {
		for _, id := range pl.Clauses {
			if _, known := ledger.Row(id); !known {
				return nil, &UsageError{Msg: fmt.Sprintf("%s: %s has no clause %s (see parley list --protocol %[2]s)", pl.Location,
					steps.Name(p), id)}
			}
		}
	}
	o.FS = files
	kept := slices.DeleteFunc(slices.Clone(all), func(pl Planned) bool { return !o.Beside && pl.Stage == 0 })
	return append(kept, own...), nil
}

// ownScenarios are those of one file. If targets have several roles and a scenario names none, it is for that of the
// run.
func ownScenarios(files fs.FS, name string, f OwnFeature, p steps.Protocol, role string) ([]Planned, error) {
	found, err := parseFeatures(files, "", name)
	if err != nil {
		return nil, &UsageError{Msg: f.Path + parserMistake(err, name)}
	}
	expressions := append(steps.Expressions(p), steps.RawExpressions()...)
	base := strings.TrimSuffix(path.Base(f.Path), ".feature")
	var out []Planned
	for _, parsed := range found {
		lines := stepLines(parsed)
		for _, pickle := range parsed.pickles {
			pl := Planned{ID: fmt.Sprintf("own-%s-%02d", base, len(out)+1), Name: pickle.Name, Feature: parsed.doc.Feature.Name,
				key: pickleKey(pickle), steps: lines.stepsOf(pickle)}
			pl.describePlanned(p, parsed.doc, pickle)
			pl.Location = f.Path + pl.Location[strings.LastIndexByte(pl.Location, ':'):]
			if !slices.ContainsFunc(steps.Roles(p), func(r string) bool { return pl.hasTag("@" + r) }) {
				pl.Tags = append(pl.Tags, "@"+role)
			}
			pl.Stage = 0
			for i, st := range pickle.Steps {
				if steps.ExpressionOf(expressions, st.Text) == "" {
					return nil, &UsageError{Msg: fmt.Sprintf("%s:%d: %v", f.Path, pl.stepLine(i+1),
						&steps.UndefinedError{Text: st.Text, Alike: steps.Closest(expressions, st.Text, 3)})}
				}
			}
			out = append(out, pl)
		}
	}
	if len(out) == 0 {
		return nil, &UsageError{Msg: f.Path + ": it has no scenario"}
	}
	return out, nil
}

// nodeLines are lines of a file by the ids of what is written on them.
type nodeLines map[string]int64

// writtenStep is a step with its keyword, and the line of its file.
type writtenStep struct {
	text string
	line int64
}

// stepsOf returns the steps of a scenario.
func (n nodeLines) stepsOf(pickle *messages.Pickle) (all []writtenStep) {
	for _, st := range pickle.Steps {
		all = append(all, writtenStep{steps.StepText(st), n[st.AstNodeIds[0]]})
	}
	return all
}

// stepLines returns the lines of a file's steps.
func stepLines(f feature) nodeLines {
	lines := nodeLines{}
	note := func(list []*messages.Step) {
		for _, st := range list {
			lines[st.Id] = st.Location.Line
		}
	}
	for _, c := range f.doc.Feature.Children {
		if c.Background != nil {
			note(c.Background.Steps)
		}
		if c.Rule == nil {
			continue
		}
		for _, rc := range c.Rule.Children {
			if rc.Background != nil {
				note(rc.Background.Steps)
			}
		}
	}
	eachScenario(f.doc.Feature, func(_ string, s *messages.Scenario) { note(s.Steps) })
	return lines
}

var parserPlace = regexp.MustCompile(`\((\d+):(\d+)\): (.*)`)

// parserMistake is the first error of the Gherkin parser, with the name of the file and the place.
func parserMistake(err error, name string) string {
	if m := parserPlace.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf(":%s:%s: %s", m[1], m[2], plainGherkin(m[3]))
	}
	return ": " + strings.ReplaceAll(err.Error(), name, "it")
}

// parserWords are the names that the Gherkin parser has for what may stand in a line, in the order in which they are
// told.
var parserWords = []struct{ token, words string }{
	{"#FeatureLine", "Feature:"}, {"#BackgroundLine", "Background:"}, {"#RuleLine", "Rule:"},
	{"#ScenarioLine", "Scenario:"}, {"#ExamplesLine", "Examples:"}, {"#StepLine", "a step (Given, When, Then, And, But)"},
	{"#TableRow", "a row of a table (| a | b |)"}, {"#DocStringSeparator", `""" at the end of a text`},
	{"#TagLine", "tags (@a @b)"},
}

var parserExpected = regexp.MustCompile(
	`^(expected: |unexpected end of file, expected: )([#A-Za-z, ]+?)(?:, got '(.*)')?$`)

// plainGherkin says an error of the Gherkin parser in plain words.
func plainGherkin(text string) string {
	m := parserExpected.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	tokens := strings.Split(m[2], ", ")
	var may []string
	for _, one := range parserWords {
		if slices.Contains(tokens, one.token) {
			may = append(may, one.words)
		}
	}
	if strings.HasPrefix(m[1], "unexpected end") {
		return "the file ends where it needs " + words.Either(may)
	}
	return fmt.Sprintf("expected %s, found %s", words.Either(may), cut.Text(strconv.Quote(m[3]), 60))
}

// union contains the suite's features and the user's files. It lists only the former.
type union struct {
	base fs.FS
	own  map[string][]byte
}

// Open implements fs.FS.
func (u *union) Open(name string) (fs.File, error) {
	if text, ok := u.own[name]; ok {
		return &ownFile{bytes.NewReader(text), path.Base(name), int64(len(text))}, nil
	}
	return u.base.Open(name)
}

// ownFile is a file in memory, and its own fs.FileInfo.
type ownFile struct {
	*bytes.Reader
	name string
	size int64
}

func (f *ownFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *ownFile) Close() error               { return nil }
func (f *ownFile) Name() string               { return f.name }
func (f *ownFile) Size() int64                { return f.size }
func (f *ownFile) Mode() fs.FileMode          { return 0o444 }
func (f *ownFile) ModTime() time.Time         { return time.Time{} }
func (f *ownFile) IsDir() bool                { return false }
func (f *ownFile) Sys() any                   { return nil }

// Guest lends the steps of a protocol to a godog suite of somebody else's, with a target that they judge. Scenarios
// share the target; one tagged @exclusive has it to itself. Safe for concurrent use.
type Guest struct {
	r     *run
	d     *driverRun
	suite *steps.Suite

	end  func()
	once sync.Once

	mu    sync.Mutex
	begun int
	found []reports.Scenario
}

// OpenGuest launches the target of o, to be judged over the first of its drivers. Options that select, repeat or report
// are ignored. The error is a *UsageError, or an error of target.Launcher. The target runs until Close.
func OpenGuest(ctx context.Context, o Options) (*Guest, error) {
	o.Tags, o.Explore, o.Baseline = "", 0, nil
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	stop, err := r.launchTarget(ctx)
	if err != nil {
		r.closeRun()
		return nil, err
	}
	r.started = time.Now()
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	g := &Guest{r: r, d: r.drivers[0], end: func() { stop(); r.closeRun(); unwatch(); watch.Wait() }}
	env := r.newEnvironment(g.d)
	g.d.envs, g.d.reached = env, steps.Answered
	g.suite = &steps.Suite{Protocol: r.protocol, Env: env, Own: true, Begin: g.beginScenario, Done: g.keepResult}
	return g, nil
}

// Initialize registers the steps and their hooks for a scenario, like a godog.TestSuite's ScenarioInitializer.
// A scenario with a tag that has the form of a clause's id, and names none of the protocol, fails.
func (g *Guest) Initialize(sc *godog.ScenarioContext) {
	sc.Before(func(ctx context.Context, sc *godog.Scenario) (context.Context, error) {
		for _, id := range guestPlan(sc).Clauses {
			if _, known := g.r.ledger.Row(id); !known {
				return ctx, fmt.Errorf("%s has no clause %s", steps.Name(g.r.protocol), id)
			}
		}
		return ctx, nil
	})
	g.suite.Initialize(sc)
}

// Scenarios returns the results of the scenarios that are over, in the order of their ends.
func (g *Guest) Scenarios() []reports.Scenario {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.found)
}

// Close ends the target. It may be called again. No scenario may run any more.
func (g *Guest) Close() { g.once.Do(g.end) }

// beginScenario gives a scenario the target.
func (g *Guest) beginScenario(ctx context.Context, sc *godog.Scenario) steps.Slot {
	pl := guestPlan(sc)
	if why := g.r.protocol.NotRunnable(g.d.envs, pl.Tags); why != "" {
		return steps.Slot{Skip: verdict.NotTested, Reason: why}
	}
	g.mu.Lock()
	g.begun++
	nonce := fmt.Sprintf("guest-%d-%s-%x", g.begun, g.d.name, g.r.salt)
	g.mu.Unlock()
	resets := g.r.o.Profile.Resets()
	if pl.Exclusive() || !resets && g.r.o.Profile.Reach().Shared != "" {
		return g.r.exclusiveSlot(ctx, nonce)
	}
	s := g.r.shareTarget(ctx, nonce, false, g.r.idle)
	s.Beside = !resets
	return s
}

// keepResult keeps the result of a scenario.
func (g *Guest) keepResult(res steps.Result) {
	defer res.Release()
	sc := g.r.scenarioReport(g.d, guestPlan(res.Scenario), res)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = append(g.found, sc)
}

// guestPlan describes a scenario of somebody else's suite, of which only the pickle is known.
func guestPlan(sc *godog.Scenario) Planned {
	pl := Planned{ID: sc.Name, Name: sc.Name, Location: sc.Uri, file: sc.Uri}
	for _, t := range sc.Tags {
		pl.Tags = append(pl.Tags, t.Name)
		if id := strings.TrimPrefix(t.Name, "@"); steps.IsClause(id) {
			pl.Clauses = append(pl.Clauses, id)
		}
	}
	return pl
}

// span is where a scenario stands in its file: the lines from its first tag up to, but without, what follows it. Rows
// of the same Examples share one. The zero span is unknown.
type span struct{ from, to int64 }

// scenarioSpans returns the spans of a file's scenarios, by the ids of their nodes.
func scenarioSpans(f *messages.Feature) map[string]span {
	out := map[string]span{}
	before := "" // the scenario whose end is not known yet
	starts := func(id string, line int64, tags []*messages.Tag) {
		for _, t := range tags {
			line = min(line, t.Location.Line)
		}
		if s, ok := out[before]; ok {
			s.to = line
			out[before] = s
		}
		if before = id; id != "" {
			out[id] = span{from: line, to: 1 << 62}
		}
	}
	scenario := func(s *messages.Scenario) {
		if s != nil {
			starts(s.Id, s.Location.Line, s.Tags)
		}
	}
	for _, c := range f.Children {
		scenario(c.Scenario)
		if c.Rule == nil {
			continue
		}
		starts("", c.Rule.Location.Line, c.Rule.Tags)
		for _, rc := range c.Rule.Children {
			scenario(rc.Scenario)
		}
	}
	return out
}

// featureExcerpts returns the features with the files of the wanted scenarios cut down to these, as parsing a scenario
// and registering its steps takes longer than most scenarios themselves. Every scenario keeps its lines. Files of which
// the spans are not known remain whole.
func featureExcerpts(fsys fs.FS, all, wanted []Planned) fs.FS {
	keep := map[string]map[span]bool{}
	for _, pl := range wanted {
		file := pl.file
		if keep[file] == nil {
			keep[file] = map[span]bool{}
		}
		keep[file][pl.span] = true
	}
	drop := map[string]map[span]bool{}
	for _, pl := range all {
		file := pl.file
		if kept := keep[file]; kept == nil || kept[pl.span] || pl.span == (span{}) {
			continue
		}
		if drop[file] == nil {
			drop[file] = map[span]bool{}
		}
		drop[file][pl.span] = true
	}
	out := &union{base: fsys, own: map[string][]byte{}}
	for file, spans := range drop {
		if text, err := fs.ReadFile(fsys, file); err == nil { // otherwise godog says what is wrong
			out.own[file] = blankLines(text, spans)
		}
	}
	return out
}

// blankLines empties the lines of the spans.
func blankLines(text []byte, spans map[span]bool) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for s := range spans {
		for n := s.from; n < min(s.to, int64(len(lines)+1)); n++ {
			lines[n-1] = []byte("\n")
		}
	}
	return bytes.Join(lines, nil)
}
