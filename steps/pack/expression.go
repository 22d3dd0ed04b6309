package pack

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	wjson "parley/transport/wire/json"
)

// expression is a compiled expression of a protocol.yaml.
type expression struct {
	text    string
	program *vm.Program
}

// Bounds of an expression, which comes from strangers: its nodes, its length, and what it may allocate while it runs.
const (
	maxNodes  = 500
	maxLength = 4 << 10
	maxMemory = 100_000 // values that one evaluation may create
)

// scope holds the values that an expression can name.
type scope map[string]any

// compile compiles an expression that may use the given names. Functions that read a clock do not exist.
func compile(text string, names []string) (*expression, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxLength)
	}
	known := types.Map{}
	for _, name := range names {
		known[name] = types.Any
	}
	options := []expr.Option{expr.Env(known), expr.MaxNodes(maxNodes), expr.DisableBuiltin("now"),
		expr.DisableBuiltin("date"), expr.DisableBuiltin("timezone"), expr.DisableBuiltin("duration"),
		expr.DisableBuiltin("repeat")}
	tree, err := parser.Parse(text)
	if err == nil {
		cost := &costs{}
		ast.Walk(&tree.Node, cost)
		err = cost.err
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%q is not an expression: %s", text, first)
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%q is not an expression: %s", text, first)
	}
	return &expression{text, program}, nil
}

// costs finds what could take long: a loop within a loop, and a range.
type costs struct {
	loops int
	err   error
}

// Visit implements ast.Visitor.
func (c *costs) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		if c.loops++; c.loops > 1 {
			c.err = errors.New("more than one function goes through a list (write two rules)")
		}
	case *ast.BinaryNode:
		if n.Operator == ".." {
			c.err = errors.New("it has no ranges")
		}
	}
}

// value evaluates the expression. An error, such as that of a member of nothing, is the reason why there is no value.
func (e *expression) value(in scope) (any, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	v, err := machine.Run(e.program, map[string]any(in))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%s: %s", e.text, first)
	}
	return v, nil
}

// mentions reports whether the expression uses a name.
func (e *expression) mentions(name string) bool {
	return regexp.MustCompile(`(^|[^.\w])` + regexp.QuoteMeta(name) + `\b`).MatchString(e.text)
}

// holds reports whether the expression is true. nil holds; one without a value does not.
func (e *expression) holds(in scope) bool {
	if e == nil {
		return true
	}
	v, err := e.value(in)
	return err == nil && v == true
}

// plain returns a decoded JSON value as expressions compare it: integers are int, other numbers float64.
func plain(v any) any {
	switch v := v.(type) {
	case wjson.Number:
		if n, err := strconv.Atoi(string(v)); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = plain(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

// hole matches what is filled into a text: ${new}, ${nonce}, ${ticket}, ${B.ticket}.
var hole = regexp.MustCompile(`\$\{([\w.-]+)\}`)

// fill fills the holes of a value: in texts, members and items. A text that is one hole becomes the value itself.
// find returns the value of a name.
func fill(v any, find func(name string) (any, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, find)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			filled, err := fill(member, find)
			if err != nil {
				return nil, err
			}
			out[name] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := fill(item, find)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return v, nil
}

func fillText(text string, find func(name string) (any, error)) (any, error) {
	if m := hole.FindStringSubmatch(text); m != nil && m[0] == text {
		return find(m[1])
	}
	var failed error
	out := hole.ReplaceAllStringFunc(text, func(h string) string {
		v, err := find(hole.FindStringSubmatch(h)[1])
		if err != nil {
			failed = err
		}
		if s, ok := v.(string); ok {
			return s
		}
		return wjson.Compact(v)
	})
	return out, failed
}
