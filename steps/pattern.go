package steps

import (
	"regexp/syntax"
	"strings"
)

// StepPattern renders a step's expression for people: "…" in quotes is text, … stands for anything, X for a word, N
// for a number, (a|b) for one of them, and brackets enclose optional parts.
func StepPattern(expression string) string {
	re, err := syntax.Parse(StepWords(expression), syntax.Perl)
	if err != nil {
		return expression
	}
	return pattern(re)
}

func pattern(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCapture:
		return group(choices(re.Sub[0]))
	case syntax.OpAlternate:
		return group(choices(re))
	case syntax.OpConcat:
		return sequence(re.Sub)
	case syntax.OpQuest:
		text := group(choices(bare(re.Sub[0])))
		return "[" + strings.TrimSuffix(strings.TrimPrefix(text, "("), ")") + "]"
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return repeated(re.Sub[0])
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return repeated(re)
	}
	return ""
}

// sequence concatenates parts. The parser factors common prefixes out of alternatives, even within words, so a
// partial word before alternatives goes back into each of them.
func sequence(parts []*syntax.Regexp) string {
	var out string
	for _, part := range parts {
		if part.Op != syntax.OpAlternate {
			out += pattern(part)
			continue
		}
		at := strings.LastIndexAny(out, ` "`) + 1
		begun, all := out[at:], choices(part)
		for i := range all {
			all[i] = begun + all[i]
		}
		out = out[:at] + group(all)
	}
	return out
}

// choices returns the alternatives of an expression, in full.
func choices(re *syntax.Regexp) []string {
	switch {
	case re.Op == syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, choices(sub)...)
		}
		return all
	case re.Op == syntax.OpConcat && len(re.Sub) > 1 && re.Sub[len(re.Sub)-1].Op == syntax.OpAlternate:
		before := sequence(re.Sub[:len(re.Sub)-1])
		var all []string
		for _, choice := range choices(re.Sub[len(re.Sub)-1]) {
			all = append(all, before+choice)
		}
		return all
	}
	return []string{pattern(re)}
}

// group renders alternatives.
func group(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return "(" + strings.Join(all, "|") + ")"
}

// bare renders the content of a group that has no meaning of its own.
func bare(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re.Sub[0]
	}
	return re
}

// repeated names what a character class stands for.
func repeated(re *syntax.Regexp) string {
	switch re.String() {
	case `\d`, `[0-9]`:
		return "N"
	case `\w`, `[0-9A-Z_a-z]`, `[\-0-9A-Z_a-z]`, `[A-Z]`:
		return "X"
	}
	return "…"
}
