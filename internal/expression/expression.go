// Package expression evaluates the expressions of the files that strangers write: those of a folder's protocol and of
// scripts. They are written in Expr (github.com/expr-lang/expr), bounded in length, time and memory, and read no clock.
package expression

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"parley/internal/jsonform"
)

// Expression is a compiled expression. It does not change, and may be evaluated concurrently.
type Expression struct {
	Text    string // as written
	program *vm.Program
}

// Bounds of an expression, which comes from strangers: its nodes, its length, and what it may allocate while it runs.
const (
	maxNodes  = 500
	maxLength = 4 << 10
	maxMemory = 100_000 // values that one evaluation may create
)

// Scope holds the values that an expression can name, each as of Plain.
type Scope map[string]any

// Compile compiles an expression that may use the given names. Functions that read a clock do not exist. members has
// the names of the members of those values that have no others; nil: nothing is known of any.
func Compile(text string, names []string, members map[string][]string) (*Expression, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxLength)
	}
	known := types.Map{}
	for _, name := range names {
		known[name] = types.Any
	}
	for name, all := range members {
		of := types.Map{}
		for _, member := range all {
			of[member] = types.Any
		}
		known[name] = of
	}
	options := []expr.Option{expr.Env(known), expr.MaxNodes(maxNodes), expr.DisableBuiltin("now"),
		expr.DisableBuiltin("date"), expr.DisableBuiltin("timezone"), expr.DisableBuiltin("duration"),
		expr.DisableBuiltin("repeat"),
		expr.Function("patched", patched, new(func(any, any) any))}
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
	return &Expression{text, program}, nil
}

// IsFunction reports whether expressions have a function of a name, which a value of that name would hide.
func IsFunction(name string) bool {
	_, is := builtin.Index[name]
	return is || name == "patched"
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

// Value evaluates the expression. An error, such as that of a member of nothing, is the reason why there is no value.
func (e *Expression) Value(in Scope) (any, error) {
	machine := vm.VM{MemoryBudget: maxMemory}
	v, err := machine.Run(e.program, map[string]any(in))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%s: %s", e.Text, first)
	}
	return v, nil
}

// Mentions reports whether the expression uses a name, and not as that of a member.
func (e *Expression) Mentions(name string) bool {
	for at := 0; ; at++ {
		i := strings.Index(e.Text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		before, behind := e.Text[:at], e.Text[at+len(name):]
		if (before == "" || !isWord(before[at-1]) && before[at-1] != '.') && (behind == "" || !isWord(behind[0])) {
			return true
		}
	}
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// Holds reports whether the expression is true. nil holds; one without a value does not.
func (e *Expression) Holds(in Scope) bool {
	if e == nil {
		return true
	}
	v, err := e.Value(in)
	return err == nil && v == true
}

// Plain returns a decoded JSON value as expressions compare it: integers are int, other numbers float64.
func Plain(v any) any {
	switch v := v.(type) {
	case jsonform.Number:
		if n, err := strconv.Atoi(string(v)); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = Plain(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Plain(item)
		}
		return out
	}
	return v
}
