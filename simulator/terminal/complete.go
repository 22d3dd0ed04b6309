package terminal

import (
	"regexp"
	"slices"
	"strings"
)

// slot matches what a pattern leaves open.
var slot = regexp.MustCompile(`"…"|"X"|"N"|…|\bX\b|\bN\b`)

// Complete continues a line as far as it is settled, and gives the patterns of all steps that begin like it. What a
// pattern leaves open, such as a client's name, is settled by what was typed.
func (t *Terminal) Complete(line string) (longer string, all []string) {
	if strings.HasPrefix(line, ".") {
		var names []string
		for _, c := range commands {
			if strings.HasPrefix("."+c.name, line) {
				names = append(names, "."+c.name)
			}
		}
		return common(line, names), names
	}
	var next []string
	for _, p := range t.o.Session.Patterns() {
		for _, plain := range expand(p) {
			if rest, ok := continues(plain, line); ok {
				next = append(next, line+rest)
				if !slices.Contains(all, p) {
					all = append(all, p)
				}
			}
		}
	}
	return common(line, next), all
}

// choice is the innermost choice of a pattern.
var choice = regexp.MustCompile(`\(([^()\[\]]*)\)|\[([^()\[\]]*)\]`)

// maxChoices bounds what one pattern is expanded to.
const maxChoices = 64

// expand resolves the choices of a pattern.
func expand(pattern string) []string {
	todo, out := []string{pattern}, []string(nil)
	for len(todo) > 0 && len(todo)+len(out) < maxChoices {
		p := todo[0]
		todo = todo[1:]
		at := choice.FindStringSubmatchIndex(p)
		if at == nil {
			out = append(out, p)
			continue
		}
		from, to := at[2], at[3]
		if from < 0 {
			from, to = at[4], at[5]
			todo = append(todo, p[:at[0]]+p[at[1]:])
		}
		for _, one := range strings.Split(p[from:to], "|") {
			todo = append(todo, p[:at[0]]+one+p[at[1]:])
		}
	}
	return append(out, todo...)
}

// continues reports whether a line begins like a pattern, and gives what follows up to the next thing that is open.
func continues(pattern, line string) (rest string, ok bool) {
	for {
		at := slot.FindStringIndex(pattern)
		fixed, open := pattern, ""
		if at != nil {
			fixed, open = pattern[:at[0]], pattern[at[0]:at[1]]
		}
		if len(line) <= len(fixed) {
			if !strings.HasPrefix(fixed, line) {
				return "", false
			}
			rest = fixed[len(line):]
			if strings.HasPrefix(open, `"`) {
				rest += `"`
			}
			return rest, true
		}
		if !strings.HasPrefix(line, fixed) || open == "" {
			return "", false
		}
		line, pattern = line[len(fixed):], pattern[at[1]:]
		typed := taken(open, line)
		if typed == 0 {
			return "", false
		}
		if typed == len(line) { // it may go on
			return "", true
		}
		line = line[typed:]
	}
}

// taken is how much of a line stands for what is open.
func taken(open, line string) int {
	if !strings.HasPrefix(open, `"`) {
		if n := strings.IndexByte(line, ' '); n >= 0 {
			return n
		}
		return len(line)
	}
	if line[0] != '"' {
		return 0
	}
	if n := strings.IndexByte(line[1:], '"'); n >= 0 {
		return n + 2
	}
	return len(line)
}

// common is the longest text with which all begin; line where there are none.
func common(line string, all []string) string {
	if len(all) == 0 {
		return line
	}
	first := all[0]
	for _, other := range all[1:] {
		for !strings.HasPrefix(other, first) {
			first = first[:len(first)-1]
		}
	}
	return strings.ToValidUTF8(first, "")
}
