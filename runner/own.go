package runner

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	messages "github.com/cucumber/messages/go/v21"

	"parley/internal/cut"
	"parley/internal/words"
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
	found, err := retrieve(files, "", name)
	if err != nil {
		return nil, &UsageError{Msg: f.Path + mistake(err, name)}
	}
	expressions := append(steps.Expressions(p), steps.RawExpressions()...)
	base := strings.TrimSuffix(path.Base(f.Path), ".feature")
	var out []Planned
	for _, parsed := range found {
		lines := stepLines(parsed)
		for _, pickle := range parsed.pickles {
			pl := Planned{ID: fmt.Sprintf("own-%s-%02d", base, len(out)+1), Name: pickle.Name, Feature: parsed.doc.Feature.Name,
				key: pickleKey(pickle), file: name}
			pl.describe(parsed.doc, pickle)
			_, line, _ := strings.Cut(pl.Location, ".feature:")
			pl.Location = f.Path + ":" + line
			if !slices.ContainsFunc(steps.Roles(p), func(r string) bool { return pl.has("@" + r) }) {
				pl.Tags = append(pl.Tags, "@"+role)
			}
			pl.Stage = 0
			for _, st := range pickle.Steps {
				if steps.ExpressionOf(expressions, st.Text) == "" {
					return nil, &UsageError{Msg: fmt.Sprintf("%s:%d: %v", f.Path, lines[st.AstNodeIds[0]],
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

// stepLines are the lines of a file's steps, by the ids of their nodes.
func stepLines(f feature) map[string]int64 {
	lines := map[string]int64{}
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

// mistake is the first error of the Gherkin parser, with the name of the file and the place.
func mistake(err error, name string) string {
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
