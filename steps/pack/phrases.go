package pack

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/cucumber/godog"

	"parley/internal/script"
	"parley/steps"
)

// phrase is a step in words of the protocol's own: a list of general steps.
type phrase struct {
	line  int
	text  string // with {name} for what the words vary in
	steps []string
	lines []int // of the steps
}

// vary matches what the words of a phrase vary in, {name}, and also the holes of messages, ${name}, which stay.
var vary = regexp.MustCompile(`\$?\{\w+\}`)

// isHole reports whether a match of vary is a hole of a message.
func isHole(match string) bool { return strings.HasPrefix(match, "$") }

func (rd *reader) readPhrase(v script.Value) {
	keys := v.Keys()
	if len(keys) != 1 {
		rd.Fail(v, `a phrase is a step with its list of steps (- client {c} has a ticket: [client {c} sends open])`)
		return
	}
	p := phrase{line: v.Line(), text: keys[0], steps: rd.Texts(v.At(keys[0]), "a phrase")}
	items, _ := v.At(keys[0]).Items()
	for i, step := range p.steps {
		at := v.At(keys[0])
		if i < len(items) {
			at = items[i]
		}
		p.lines = append(p.lines, at.Line())
		for _, m := range vary.FindAllString(step, -1) {
			if !isHole(m) && !strings.Contains(p.text, m) {
				rd.Fail(at, "%s is not in the words of the phrase %q", m, p.text)
			}
		}
	}
	rd.doc.phrases = append(rd.doc.phrases, p)
}

// definition is a step that phrases may consist of.
type definition struct {
	expr *regexp.Regexp
	do   any
}

// step registers a step, also for phrases.
func (s *suite) step(sc *godog.ScenarioContext, expr string, do any) {
	steps.Step(sc, expr, do)
	s.known = append(s.known, definition{steps.Expression(expr), do})
}

// expression returns the expression of a phrase: {name} stands for a word, or a text in quotes.
func (p phrase) expression() string {
	out, rest := "^", p.text
	for {
		at := vary.FindStringIndex(rest)
		if at == nil {
			return out + regexp.QuoteMeta(rest) + "$"
		}
		out += regexp.QuoteMeta(rest[:at[0]])
		if strings.HasSuffix(rest[:at[0]], `"`) {
			out += `([^"]*)`
		} else {
			out += `(\w+)`
		}
		rest = rest[at[1]:]
	}
}

// handler returns a function with as many texts as the expression has groups, behind the context.
func (s *suite) handler(p phrase) any {
	in := []reflect.Type{reflect.TypeFor[context.Context]()}
	for range vary.FindAllString(p.text, -1) {
		in = append(in, reflect.TypeFor[string]())
	}
	of := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)
	return reflect.MakeFunc(of, func(args []reflect.Value) []reflect.Value {
		var texts []string
		for _, a := range args[1:] {
			texts = append(texts, a.String())
		}
		out := reflect.Zero(reflect.TypeFor[error]())
		if err := s.runAll(args[0].Interface().(context.Context), p.expand(texts)); err != nil {
			out = reflect.ValueOf(&err).Elem()
		}
		return []reflect.Value{out}
	}).Interface()
}

// runAll runs the steps of a phrase.
func (s *suite) runAll(ctx context.Context, lines []string) error {
	if s.nested++; s.nested > maxExpanded {
		return errors.New("with these words a phrase contains itself")
	}
	defer func() { s.nested-- }()
	for _, line := range lines {
		if err := s.run(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// run runs a step of a phrase, which has neither a table nor a text below it.
func (s *suite) run(ctx context.Context, line string) error {
	for _, d := range s.known {
		groups := d.expr.FindStringSubmatch(line)
		if groups == nil {
			continue
		}
		args, err := argumentsOf(ctx, reflect.TypeOf(d.do), groups[1:])
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		out := reflect.ValueOf(d.do).Call(args)
		err, _ = out[len(out)-1].Interface().(error)
		return err
	}
	return fmt.Errorf("%q is no step that a phrase can have", line)
}

// argumentsOf converts the groups of an expression to the arguments of a handler.
func argumentsOf(ctx context.Context, of reflect.Type, groups []string) (args []reflect.Value, err error) {
	for i := range of.NumIn() {
		switch in := of.In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
		case len(groups) == 0 || in.Kind() != reflect.String && in.Kind() != reflect.Int:
			return nil, errors.New("it needs a table, which a step of a phrase cannot have")
		case in.Kind() == reflect.Int:
			n, err := strconv.Atoi(groups[0])
			if err != nil {
				return nil, err
			}
			args, groups = append(args, reflect.ValueOf(n)), groups[1:]
		default:
			args, groups = append(args, reflect.ValueOf(groups[0])), groups[1:]
		}
	}
	return args, nil
}

// expand returns the steps of a phrase for its words.
func (p phrase) expand(words []string) (out []string) {
	values := map[string]string{}
	for i, m := range vary.FindAllString(p.text, -1) {
		values[m] = words[i]
	}
	for _, step := range p.steps {
		out = append(out, vary.ReplaceAllStringFunc(step, func(name string) string {
			if isHole(name) {
				return name
			}
			return values[name]
		}))
	}
	return out
}
