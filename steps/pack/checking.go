package pack

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	gherkin "github.com/cucumber/gherkin/go/v26"
	messages "github.com/cucumber/messages/go/v21"

	"parley/internal/expression"
	"parley/internal/words"
	"parley/steps"
)

// maxExpanded bounds the general steps of a phrase, with its phrases expanded.
const maxExpanded = 1000

// generalSteps are the expressions of the steps that every pack has.
var generalSteps = sync.OnceValue(func() []string { return steps.Expressions(&Pack{doc: &document{}}) })

// Steps that name a message of a client or of a server, and those with an expression.
var (
	namesSent  = regexp.MustCompile(`^client \S+ (?:sends|gets an answer to) "([\w./-]+)"`)
	namesWhere = regexp.MustCompile(`^(?:the scenario applies to|client \S+ (?:receives|has received no)) ` +
		`.*? where (.+)$`)
	namesReceived = regexp.MustCompile(`^client \S+ (?:receives|has received no) "([\w./-]+)"`)
)

// stepCheck finds mistakes in phrases and scenarios.
type stepCheck struct {
	doc      *document
	known    []string // expressions, those of phrases behind the general ones
	mistakes []error
}

func (c *stepCheck) fail(at string, line int, format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf("%s:%d: %w", at, line, fmt.Errorf(format, args...)))
}

// checkSteps finds steps that there are not, also in phrases, phrases that are a step already or contain themselves,
// messages that nobody sends, and tags of clauses that there are not.
func (p *Pack) checkSteps(folder string) error {
	c := &stepCheck{doc: p.doc, known: slices.Clone(generalSteps())}
	for _, ph := range p.doc.phrases {
		c.known = append(c.known, ph.expression())
	}
	c.phrases(filepath.Join(folder, "protocol.yaml"))
	for _, name := range sorted(p.files) {
		if path.Ext(name) == ".feature" {
			at := filepath.Join(folder, strings.TrimPrefix(name, p.doc.id+"/"))
			c.feature(at, p.files[name].Data, p.isClause)
		}
	}
	return errors.Join(c.mistakes...)
}

// isClause reports whether a tag without its @ is a clause, or does not look like one of this protocol.
func (p *Pack) isClause(tag string) bool {
	rest, is := strings.CutPrefix(tag, p.doc.prefix+"-")
	if !is || len(rest) < 3 || strings.Trim(rest[:3], "0123456789") != "" || p.ledger == nil {
		return true
	}
	_, known := p.ledger.Row(tag)
	return known
}

// match returns the index of the definition of a step; -1 if there is none.
func (c *stepCheck) match(text string) int {
	return slices.IndexFunc(c.known, func(expr string) bool { return steps.Expression(expr).MatchString(text) })
}

// step checks a step, and returns its definition. In a phrase its words may vary.
func (c *stepCheck) step(at string, line int, text string) int {
	found := c.match(sample(text))
	if found < 0 {
		mend := "docs/your-own-protocol.md of Parley lists them"
		if near := steps.Closest(c.known, text, 1); len(near) > 0 {
			mend = "did you mean: " + near[0]
		}
		c.fail(at, line, "there is no step: %s (%s)", text, mend)
	}
	if m := namesSent.FindStringSubmatch(text); m != nil && c.doc.sends[m[1]] == nil {
		if _, there := c.doc.sends[m[1]]; !there {
			c.fail(at, line, "clients send no %q (%s)", m[1], words.Suggest(m[1], sorted(c.doc.sends), "add it to sends"))
		}
	}
	m := namesReceived.FindStringSubmatch(text)
	if m != nil && !slices.Contains(c.doc.receives, m[1]) && !isSpecial(m[1]) {
		c.fail(at, line, "servers send no %q (%s)", m[1], words.Suggest(m[1], c.doc.receives, "add it to receives"))
	}
	if m := namesWhere.FindStringSubmatch(text); m != nil && found >= 0 && !strings.Contains(m[1], "{") {
		if _, err := expression.Compile(m[1], c.doc.names(), c.doc.stateMembers); err != nil {
			c.mistakes = append(c.mistakes, fmt.Errorf("%s:%d: %w", at, line, err))
		}
	}
	return found
}

// phrases checks the phrases and their steps.
func (c *stepCheck) phrases(at string) {
	general := len(generalSteps())
	uses := make([][]int, len(c.doc.phrases)) // the definitions of a phrase's steps
	for i, ph := range c.doc.phrases {
		if twin := c.match(sample(ph.text)); twin != general+i {
			c.fail(at, ph.line, "the phrase %q is a step already: %s (use other words)", ph.text,
				steps.StepPattern(c.known[twin]))
		}
		for _, step := range ph.steps {
			uses[i] = append(uses[i], c.step(at, ph.line, step))
		}
	}
	sizes := map[int]int{} // by phrase: 0 while it is being counted
	var size func(i int) int
	size = func(i int) int {
		if n, seen := sizes[i]; seen {
			if n == 0 {
				c.fail(at, c.doc.phrases[i].line, "the phrase %q contains itself (write out its steps)",
					c.doc.phrases[i].text)
				sizes[i] = 1
			}
			return sizes[i]
		}
		sizes[i] = 0
		n := 1
		for _, def := range uses[i] {
			if n++; def >= general {
				n = min(n+size(def-general), maxExpanded+1)
			}
		}
		if n > maxExpanded && sizes[i] == 0 {
			c.fail(at, c.doc.phrases[i].line, "the phrase %q has more than %d steps, with its phrases written out",
				c.doc.phrases[i].text, maxExpanded)
			n = 1 // told once
		}
		sizes[i] = n
		return n
	}
	for i := range c.doc.phrases {
		size(i)
	}
}

// sample fills a word into what the words of a phrase vary in: a number, which stands for a text too.
func sample(text string) string {
	return vary.ReplaceAllStringFunc(text, func(m string) string {
		if isHole(m) {
			return m
		}
		return "1"
	})
}

// feature checks the steps and tags of a feature file.
func (c *stepCheck) feature(at string, text []byte, isClause func(string) bool) {
	id := (&messages.Incrementing{}).NewId
	doc, err := gherkin.ParseGherkinDocument(bytes.NewReader(text), id)
	if err != nil {
		c.mistakes = append(c.mistakes, notGherkin(at, err))
		return
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, tag := range strings.Fields(line) {
			tag, is := strings.CutPrefix(tag, "@")
			if !is {
				break
			}
			if !isClause(tag) {
				c.fail(at, n, "no clause of clauses.yaml has the id %s", tag)
			}
		}
	}
	lines, told := stepLines(doc.Feature), map[string]bool{} // a step of an outline is one of each row
	for _, pickle := range gherkin.Pickles(*doc, at, id) {
		for _, s := range pickle.Steps {
			if first := s.AstNodeIds[0]; !told[first+s.Text] {
				told[first+s.Text] = true
				c.step(at, lines[first], s.Text)
			}
		}
	}
}

// stepLines returns the lines of all steps, by their ids in the document.
func stepLines(f *messages.Feature) map[string]int {
	lines := map[string]int{}
	note := func(b *messages.Background, s *messages.Scenario) {
		var all []*messages.Step
		if b != nil {
			all = append(all, b.Steps...)
		}
		if s != nil {
			all = append(all, s.Steps...)
		}
		for _, step := range all {
			lines[step.Id] = int(step.Location.Line)
		}
	}
	if f == nil {
		return lines
	}
	for _, child := range f.Children {
		note(child.Background, child.Scenario)
		if child.Rule == nil {
			continue
		}
		for _, in := range child.Rule.Children {
			note(in.Background, in.Scenario)
		}
	}
	return lines
}

// firstMistake matches the first mistake that the parser of Gherkin tells: "(6:3): expected: …, got 'x'".
var firstMistake = regexp.MustCompile(`\((\d+):(\d+)\): (?:expected: .*, got '\s*(.*)'|(.*))`)

// notGherkin says what is wrong with the form of a feature file.
func notGherkin(at string, err error) error {
	m := firstMistake.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return fmt.Errorf("%s: %w", at, err)
	case m[3] == "":
		return fmt.Errorf("%s:%s:%s: it is not Gherkin: %s", at, m[1], m[2], m[4])
	}
	return fmt.Errorf("%s:%s:%s: it is not Gherkin: no line such as %q belongs here (Scenario:, Given, When, Then)", at,
		m[1], m[2], m[3])
}
