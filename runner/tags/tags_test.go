package tags

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMatch(t *testing.T) {
	rows := []struct{ reason, expr, yes, no string }{ // yes and no: sets of tags, separated by "|"; "-" is the empty set
		{"nothing selects everything", "", "-|@a", ""},
		{"blanks are nothing", " \t\r\n", "-|@a", ""},
		{"a tag", "@a", "@a|@a @b", "-|@b|@aa|@A"},
		{"a clause", "@AS-042", "@AS-042", "@AS-042a|@AS-04"},
		{"and", "@a and @b", "@a @b|@c @b @a", "-|@a|@b"},
		{"or", "@a or @b", "@a|@b|@a @b", "-|@c"},
		{"not", "not @a", "-|@b", "@a|@a @b"},
		{"not of not", "not not @a", "@a", "-|@b"},
		{"and binds closer than or, on the left", "@a and @b or @c", "@c|@a @b", "@a|@b"},
		{"and binds closer than or, on the right", "@a or @b and @c", "@a|@b @c", "@b|@c"},
		{"not binds closer than and", "not @a and @b", "@b", "-|@a|@a @b"},
		{"not binds closer than or", "not @a or @b", "-|@b|@a @b", "@a"},
		{"parentheses bind closest", "@a and (@b or @c)", "@a @b|@a @c", "@a|@b @c"},
		{"not of parentheses", "not (@a or @b)", "-|@c", "@a|@b"},
		{"parentheses need no spaces", "@a and(@b or(not(@c)))", "@a|@a @b", "@a @c|@b"},
		{"chains", "@a or @b or @c and @d and not @e", "@a|@b|@c @d", "@c|@c @d @e"},
		{"any white space will do", "@a\n\tand\r\n@b", "@a @b", "@a"},
		{"a tag may hold any other character", "@1.2_x-y/ä", "@1.2_x-y/ä", "@1"},
		{"operators are lower case, and a tag may have such a name", "@and or @or or @not", "@and|@or|@not", "-"},
		{"the example of the documentation", "@AS-042 and not (@exclusive or @model)", "@AS-042",
			"@AS-042 @model|@AS-042 @exclusive|@model"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			e, err := Parse(r.expr)
			if err != nil {
				t.Fatal(err)
			}
			if e.String() != r.expr {
				t.Errorf("String is %q", e)
			}
			for want, sets := range map[bool]string{true: r.yes, false: r.no} {
				for set := range strings.SplitSeq(sets, "|") {
					if set == "" {
						continue
					}
					if got := e.Match(strings.Fields(strings.Trim(set, "-"))); got != want {
						t.Errorf("%q of %q is %v", r.expr, set, got)
					}
				}
			}
		})
	}
	if !(Expr{}).Match(nil) {
		t.Error("the zero Expr does not match everything")
	}
}

func TestSyntaxErrors(t *testing.T) {
	rows := []struct {
		reason, expr string
		column       int
		msg          string
	}{
		{"no tag", "exclusive", 1, `expected a tag such as @AS-042, found "exclusive"`},
		{"an @ alone", "@a and @", 8, `expected a tag such as @AS-042, found "@"`},
		{"two tags without an operator", "@a @b", 4, `expected "and", "or" or the end, found "@b"`},
		{"a tag before a parenthesis", "@a (@b)", 4, `expected "and", "or" or the end, found "("`},
		{"nothing after and", "@a and", 7, "expected a tag, found the end"},
		{"nothing after or, with spaces", "@a or  ", 8, "expected a tag, found the end"},
		{"nothing after not", "not", 4, "expected a tag, found the end"},
		{"and at the start", "and @a", 1, `expected a tag such as @AS-042, found "and"`},
		{"two operators", "@a and or @b", 8, `expected a tag such as @AS-042, found "or"`},
		{"not after a tag", "@a not @b", 4, `expected "and", "or" or the end, found "not"`},
		{"an operator in another case", "@a AND @b", 4, `expected "and", "or" or the end, found "AND"`},
		{"an unclosed parenthesis", "(@a or @b", 10, `expected ")"`},
		{"a surplus closing parenthesis", "(@a))", 5, `expected "and", "or" or the end, found ")"`},
		{"a closing parenthesis alone", ")", 1, `expected a tag such as @AS-042, found ")"`},
		{"empty parentheses", "@a or ()", 8, `expected a tag such as @AS-042, found ")"`},
		{"something else before the end of parentheses", "(@a @b)", 5, `expected ")"`},
		{"godog's own dialect", "@a && ~@b", 4, `expected "and", "or" or the end, found "&&"`},
		{"columns count bytes", "@ä or ö", 8, `expected a tag such as @AS-042, found "ö"`},
		{"excessive nesting", strings.Repeat("(", 200) + "@a" + strings.Repeat(")", 200), 102, "nested too deep"},
		{"also of nots", strings.Repeat("not ", 200) + "@a", 405, "nested too deep"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			_, err := Parse(r.expr)
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(&SyntaxError{Text: r.expr, Column: r.column, Msg: r.msg}, se); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
	err := &SyntaxError{Text: "@a @b", Column: 4, Msg: "expected the end"}
	if got, want := err.Error(), `tag expression "@a @b", column 4: expected the end`; got != want {
		t.Errorf("Error is %q, want %q", got, want)
	}
}

func TestTags(t *testing.T) {
	rows := []struct {
		reason, expr string
		want         []string
	}{
		{"none", "", nil},
		{"in order, with repetitions", "@b and (@a or not @b)", []string{"@b", "@a", "@b"}},
		{"also of an invalid expression", "@a @b )", []string{"@a", "@b"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := cmp.Diff(r.want, Tags(r.expr), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestLongExpression: people write expressions that list every clause.
func TestLongExpression(t *testing.T) {
	terms := make([]string, 20_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("@AS-%d", i)
	}
	e, err := Parse(strings.Join(terms, " or "))
	if err != nil || !e.Match([]string{"@AS-0"}) || !e.Match([]string{"@AS-19999"}) || e.Match([]string{"@AS-20000"}) {
		t.Errorf("a long expression: %v", err)
	}
}

// FuzzParse builds an expression from arbitrary bytes and compares its value with that of Go's own operators. It also
// feeds the parser invalid expressions.
func FuzzParse(f *testing.F) {
	f.Add("@a and not (@b or @c)", []byte{0, 3, 1, 2, 4}, uint8(5))
	f.Add("((", []byte{2, 2, 0, 1, 4, 4}, uint8(0))
	f.Fuzz(func(t *testing.T, text string, program []byte, world uint8) {
		if _, err := Parse(text); err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.Column < 1 || se.Column > len(text)+1 || se.Text != text {
				t.Errorf("Parse(%q): %#v", text, err)
			}
		}
		var set []string
		for i := range 8 {
			if world>>i&1 != 0 {
				set = append(set, fmt.Sprintf("@t%d", i))
			}
		}
		if len(program) > 60 {
			program = program[:60]
		}
		expr, want := build(&program, world, 0)
		e, err := Parse(expr)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		if got := e.Match(set); got != want {
			t.Errorf("%q of %v is %v", expr, set, got)
		}
	})
}

// build writes a fully parenthesised expression, and returns its value.
func build(program *[]byte, world uint8, depth int) (string, bool) {
	if len(*program) == 0 || depth > 20 {
		return "@t0", world&1 != 0
	}
	op := (*program)[0]
	*program = (*program)[1:]
	switch op % 4 {
	case 1:
		s, v := build(program, world, depth+1)
		return "not (" + s + ")", !v
	case 2:
		l, a := build(program, world, depth+1)
		r, b := build(program, world, depth+1)
		return "(" + l + ") and (" + r + ")", a && b
	case 3:
		l, a := build(program, world, depth+1)
		r, b := build(program, world, depth+1)
		return "(" + l + ") or (" + r + ")", a || b
	}
	n := op / 4 % 8
	return fmt.Sprintf("@t%d", n), world>>n&1 != 0
}

func TestIDs(t *testing.T) {
	for text, want := range map[string]bool{"AS-042": true, "AS-4.1-06": true, "not AS-042": false, "@x and AS-042": true,
		"EA-G09": false, "AS-04": false} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := e.Match([]string{"@x", "@AS-042", "@AS-4.1-06"}); got != want {
			t.Errorf("%q matches: %v", text, got)
		}
	}
	for _, text := range []string{"AS042", "as-042", "042", "AS-", "MUST"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is taken for an id", text)
		}
	}
}
