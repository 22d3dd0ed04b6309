// Package tags evaluates Cucumber tag expressions: "@AS-042 and not (@exclusive or @model)".
package tags

import (
	"fmt"
	"regexp"
	"strings"
)

// Expr is a parsed expression. The zero Expr matches everything.
type Expr struct {
	text  string
	match func(map[string]bool) bool
}

// String returns the expression as it was given.
func (e Expr) String() string { return e.text }

// Match reports whether a scenario with these tags ("@" included) is selected.
func (e Expr) Match(tags []string) bool {
	if e.match == nil {
		return true
	}
	set := make(map[string]bool, len(tags))
	for _, t := range tags {
		set[t] = true
	}
	return e.match(set)
}

// Tags lists the tags that an expression names, in order of appearance.
func Tags(text string) []string {
	var out []string
	for _, w := range splitWords(text) {
		if strings.HasPrefix(w.text, "@") {
			out = append(out, w.text)
		}
	}
	return out
}

// SyntaxError says where an expression is malformed. Column counts bytes from 1.
type SyntaxError struct {
	Text   string
	Column int
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("tag expression %q, column %d: %s", e.Text, e.Column, e.Msg)
}

// Parse reads an expression: tags, ids, and, or, not, parentheses; not binds closest, then and, then or. The empty text
// selects everything.
func Parse(text string) (Expr, error) {
	p := &parser{text: text, words: splitWords(text)}
	if len(p.words) == 0 {
		return Expr{text: text}, nil
	}
	m, err := p.parseOr(0)
	if err != nil {
		return Expr{}, err
	}
	if w, more := p.peekWord(); more {
		return Expr{}, p.failAt(w.at, "expected \"and\", \"or\" or the end, found %q", w.text)
	}
	return Expr{text: text, match: m}, nil
}

type matcher = func(map[string]bool) bool

type word struct {
	text string
	at   int
}

// splitWords splits an expression at spaces and around parentheses.
func splitWords(text string) []word {
	var out []word
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, word{text[start:end], start + 1})
			start = -1
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			flush(i)
		case c == '(' || c == ')':
			flush(i)
			out = append(out, word{string(c), i + 1})
		case start < 0:
			start = i
		}
	}
	flush(len(text))
	return out
}

// maxDepth bounds nesting, so that no expression can exhaust the stack.
const maxDepth = 100

type parser struct {
	text  string
	words []word
	next  int
}

func (p *parser) peekWord() (word, bool) {
	if p.next == len(p.words) {
		return word{at: len(p.text) + 1}, false
	}
	return p.words[p.next], true
}

func (p *parser) takeWord(text string) bool {
	if w, ok := p.peekWord(); ok && w.text == text {
		p.next++
		return true
	}
	return false
}

func (p *parser) failAt(at int, format string, args ...any) error {
	return &SyntaxError{Text: p.text, Column: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) parseOr(depth int) (matcher, error) {
	left, err := p.parseAnd(depth)
	for err == nil && p.takeWord("or") {
		var right matcher
		if right, err = p.parseAnd(depth); err == nil {
			l, r := left, right
			left = func(s map[string]bool) bool { return l(s) || r(s) }
		}
	}
	return left, err
}

func (p *parser) parseAnd(depth int) (matcher, error) {
	left, err := p.parseNot(depth)
	for err == nil && p.takeWord("and") {
		var right matcher
		if right, err = p.parseNot(depth); err == nil {
			l, r := left, right
			left = func(s map[string]bool) bool { return l(s) && r(s) }
		}
	}
	return left, err
}

func (p *parser) parseNot(depth int) (matcher, error) {
	w, ok := p.peekWord()
	switch {
	case depth > maxDepth:
		return nil, p.failAt(w.at, "nested too deep")
	case !ok:
		return nil, p.failAt(w.at, "expected a tag, found the end")
	case p.takeWord("not"):
		m, err := p.parseNot(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(s map[string]bool) bool { return !m(s) }, nil
	case p.takeWord("("):
		m, err := p.parseOr(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.takeWord(")") {
			w, _ := p.peekWord()
			return nil, p.failAt(w.at, "expected \")\"")
		}
		return m, nil
	case IsID(w.text):
		w.text = "@" + w.text
	case !strings.HasPrefix(w.text, "@") || len(w.text) < 2:
		return nil, p.failAt(w.at, "expected a tag such as @AS-042, found %q", w.text)
	}
	p.next++
	return func(s map[string]bool) bool { return s[w.text] }, nil
}

var id = regexp.MustCompile(`\A[A-Z]{2,3}-[A-Z]?\d[\w.]*(?:-[\w.]+)*\z`)

// IsID reports whether a word is the id of a clause or of a scenario, such as AS-042 or AS-4.1-06. An expression may
// name it without "@".
func IsID(word string) bool { return id.MatchString(word) }
