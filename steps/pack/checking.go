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

// Steps that name a message of a client or of a server, those with an expression, and those with members.
var (
	namesSent  = regexp.MustCompile(`^client \S+ (?:sends|gets an answer to) "([\w./-]+)"`)
	namesWhere = regexp.MustCompile(`^(?:(?:the scenario applies to|client \S+ (?:receives|has received no)) ` +
		`.*? where (.+)|client \S+ keeps (.+) as "\w+")$`)
	namesReceived = regexp.MustCompile(`^client \S+ (?:receives|has received no) "([\w./-]+)"`)
	namesMembers  = regexp.MustCompile(`^client \S+ (?:sends|gets an answer to) "[\w./-]+" with (\{.*)$`)
)

// stepCheck finds mistakes in phrases and scenarios.
type stepCheck struct {
	pack     *Pack
	rd       *reader
	known    []string // expressions, those of phrases behind the general ones
	clauses  *names   // that rules and scenarios name
	missing  *names   // steps that there are not
	mistakes []error
}

func (c *stepCheck) fail(at string, line int, format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf("%s:%d: %w", at, line, fmt.Errorf(format, args...)))
}

// steps finds steps that there are not, also in phrases, phrases that are a step already or contain themselves,
// messages that nobody sends, and tags of clauses that there are not.
func (c *stepCheck) steps(folder string) error {
	p := c.pack
	c.known = slices.Clone(generalSteps())
	for _, ph := range p.doc.phrases {
		c.known = append(c.known, ph.expression())
	}
	c.phrases(filepath.Join(folder, "protocol.yaml"))
	if p.doc.beginsAt > 0 {
		c.step(filepath.Join(folder, "protocol.yaml"), p.doc.beginsAt, p.doc.begins)
	}
	for _, name := range sorted(p.files) {
		if path.Ext(name) == ".feature" {
			c.feature(filepath.Join(folder, strings.TrimPrefix(name, p.doc.id+"/")), p.files[name].Data)
		}
	}
	return errors.Join(c.mistakes...)
}

// tag checks a tag, without its @.
func (c *stepCheck) tag(at string, line int, tag string) {
	if digits, is := strings.CutPrefix(tag, "preflight-"); is && !slices.Contains(stageTags, tag) {
		c.fail(at, line, "there is no stage %s of preflight (@preflight-1, @preflight-2 or @preflight-3)", digits)
	} else if near := words.Near(tag, stageTags, 1); !is && len(near) > 0 && words.Distance(tag, near[0]) < 3 {
		c.fail(at, line, "@%s is not a stage of preflight (did you mean @%s?)", tag, near[0])
	}
	rest, is := strings.CutPrefix(tag, c.pack.doc.prefix+"-")
	if !is || len(rest) < 3 || strings.Trim(rest[:3], "0123456789") != "" || c.pack.ledger == nil {
		return // it does not look like a clause of this protocol
	}
	c.clauses.used[tag] = true
	if _, known := c.pack.ledger.Row(tag); !known && !c.pack.Told(tag) {
		c.clauses.add(tag, fmt.Sprintf("%s:%d", at, line), "no clause of clauses.yaml has the id %s", tag)
	}
}

var stageTags = []string{"preflight-1", "preflight-2", "preflight-3"}

// match returns the index of the definition of a step; -1 if there is none.
func (c *stepCheck) match(text string) int {
	return slices.IndexFunc(c.known, func(expr string) bool { return steps.Expression(expr).MatchString(text) })
}

// step checks a step, and returns its definition. In a phrase its words may vary.
func (c *stepCheck) step(at string, line int, text string) int {
	found := c.match(sample(text))
	if m := namesMembers.FindStringSubmatch(text); m != nil {
		if _, err := objectOf(m[1]); err != nil {
			c.fail(at, line, "%w (with {\"subject\": \"x\"})", err)
			return found
		}
	}
	if found < 0 && c.pack.Knows("phrases") {
		mend := "docs/your-own-protocol.md of Parley lists them"
		if near := steps.Closest(c.known, text, 1); len(near) > 0 {
			mend = "did you mean: " + near[0]
		}
		c.missing.add(text, fmt.Sprintf("%s:%d", at, line), "there is no step: %s (%s)", text, mend)
	}
	if c.pack.Knows("sends", "receives") {
		if m := namesSent.FindStringSubmatch(text); m != nil && !c.rd.sends(m[1]) {
			c.unknownType(at, line, m[1], "clients", sorted(c.pack.doc.sends), "sends")
		}
		m := namesReceived.FindStringSubmatch(text)
		if m != nil && !slices.Contains(c.pack.doc.receives, m[1]) && !isSpecial(m[1]) {
			c.unknownType(at, line, m[1], "servers", c.pack.doc.receives, "receives")
		}
	}
	if m := namesWhere.FindStringSubmatch(text); m != nil && found >= 0 && !strings.Contains(m[1]+m[2], "{") {
		c.expression(fmt.Sprintf("%s:%d", at, line), m[1]+m[2])
	}
	return found
}

// unknownType tells that a side sends no messages of a type, unless that follows from what protocol.yaml lacks.
func (c *stepCheck) unknownType(at string, line int, kind, side string, known []string, key string) {
	if place := fmt.Sprintf("%s:%d", at, line); c.rd.types.places[kind] != nil {
		c.rd.types.add(kind, place, "")
		return
	}
	c.fail(at, line, "%s send no %q (%s)", side, kind, words.Suggest(kind, known, "add it to "+key))
}

// expression checks an expression of a step.
func (c *stepCheck) expression(place, text string) {
	_, err := expression.Compile(text, c.pack.doc.names(), c.pack.doc.stateMembers)
	if err == nil {
		return
	}
	if m := unknownName.FindStringSubmatch(err.Error()); m != nil {
		c.rd.states.add(m[1]+m[2], place, "%v%s", err, c.rd.meant(m[1], c.pack.doc.names()))
		return
	}
	c.mistakes = append(c.mistakes, fmt.Errorf("%s: %w", place, err))
}

// phrases checks the phrases and their steps.
func (c *stepCheck) phrases(at string) {
	general := len(generalSteps())
	uses := make([][]int, len(c.pack.doc.phrases)) // the definitions of a phrase's steps
	for i, ph := range c.pack.doc.phrases {
		if twin := c.match(sample(ph.text)); twin != general+i {
			c.fail(at, ph.line, "the phrase %q is a step already: %s (use other words)", ph.text,
				steps.StepPattern(c.known[twin]))
		}
		for n, step := range ph.steps {
			uses[i] = append(uses[i], c.step(at, ph.lines[n], step))
		}
	}
	sizes := map[int]int{} // by phrase: 0 while it is being counted
	var size func(i int) int
	size = func(i int) int {
		if n, seen := sizes[i]; seen {
			if n == 0 {
				c.fail(at, c.pack.doc.phrases[i].line, "the phrase %q contains itself (write out its steps)",
					c.pack.doc.phrases[i].text)
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
			c.fail(at, c.pack.doc.phrases[i].line, "the phrase %q has more than %d steps, with its phrases written out",
				c.pack.doc.phrases[i].text, maxExpanded)
			n = 1 // told once
		}
		sizes[i] = n
		return n
	}
	for i := range c.pack.doc.phrases {
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
func (c *stepCheck) feature(at string, text []byte) {
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
			c.tag(at, n, tag)
		}
	}
	c.form(at, doc.Feature)
	lines, told := stepLines(doc.Feature), map[string]bool{} // a step of an outline is one of each row
	for _, pickle := range gherkin.Pickles(*doc, at, id) {
		for _, s := range pickle.Steps {
			if first := s.AstNodeIds[0]; !told[first+s.Text] {
				told[first+s.Text] = true
				c.argument(at, lines[first], s, c.step(at, lines[first], s.Text))
				c.clients(at, lines[first], s.Text, pickle)
			}
		}
	}
}

// argument checks that a step has a table below it if it needs one. found is its definition.
func (c *stepCheck) argument(at string, line int, s *messages.PickleStep, found int) {
	if found < 0 {
		return
	}
	needs := found < len(generalSteps()) && strings.HasSuffix(c.known[found], " with$")
	has := s.Argument != nil && s.Argument.DataTable != nil
	switch {
	case needs && !has:
		c.fail(at, line, "the step needs a table of members and values below it (| subject | x |)")
	case !needs && s.Argument != nil:
		c.fail(at, line, "the step has no table or text below it (a table is for: client A sends \"open\" with)")
	}
}

// ofClient matches a hole that another client fills.
var ofClient = regexp.MustCompile(`\$\{(\w+)\.[\w-]+\}`)

// clients checks that the clients exist that fill the holes of a step.
func (c *stepCheck) clients(at string, line int, text string, in *messages.Pickle) {
	for _, m := range ofClient.FindAllStringSubmatch(text, -1) {
		is := regexp.MustCompile(`\bclient ` + m[1] + `\b`).MatchString
		acts := slices.ContainsFunc(in.Steps, func(s *messages.PickleStep) bool { return is(s.Text) })
		for _, ph := range c.pack.doc.phrases {
			acts = acts || slices.ContainsFunc(ph.steps, is)
		}
		if !acts {
			c.fail(at, line, "nothing fills %s: the scenario has no client %s (Given client %[2]s is connected)", m[0], m[1])
		}
	}
}

// form checks that a feature has the tag of the protocol, and that its scenarios have steps.
func (c *stepCheck) form(at string, f *messages.Feature) {
	if f == nil {
		c.fail(at, 1, "the file has no feature (Feature: its section)")
		return
	}
	mine := "@" + c.pack.doc.id
	if !slices.ContainsFunc(f.Tags, func(t *messages.Tag) bool { return t.Name == mine }) && c.pack.Knows("protocol") {
		c.fail(at, int(f.Location.Line), "the feature lacks the tag of its protocol, by which --tags selects it (%s above "+
			"Feature:)", mine)
	}
	has := func(s *messages.Scenario) {
		if s != nil && len(s.Steps) == 0 {
			c.fail(at, int(s.Location.Line), "the scenario %q has no steps, and would not run (Given client A is connected)",
				s.Name)
		}
	}
	for _, child := range f.Children {
		if has(child.Scenario); child.Rule != nil {
			for _, in := range child.Rule.Children {
				has(in.Scenario)
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
