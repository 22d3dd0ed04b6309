package terminal

import (
	"regexp"
	"slices"
	"strings"
)

// slot matches the open places of a pattern.
var slot = regexp.MustCompile(`"…"|"X"|"N"|…|\bX\b|\bN\b`)

// Complete completes a line as far as it is unambiguous, and returns the patterns of all steps that begin like it. The
// open places of a pattern, such as a client's name, are filled by the typed text. Within quotes, and where a party is
// named, it offers what the session knows: names and ids from the events so far, and its parties.
func (t *Terminal) Complete(line string) (longer string, all []string) {
	if strings.HasPrefix(line, ".") {
		return t.completeCommand(line)
	}
	var next, offered []string
	offer := func(with string) {
		next = append(next, with)
		if !slices.Contains(offered, with) {
			offered = append(offered, with)
		}
	}
	for _, p := range t.o.Session.Patterns() {
		for _, plain := range expandChoices(p) {
			rest, open, ok := continuesPattern(plain, line)
			if !ok {
				continue
			}
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
			fillings := t.fillOpenPlace(line, open)
			if len(fillings) == 0 {
				next = append(next, line+rest)
			}
			for _, with := range fillings {
				offer(with)
			}
		}
	}
	if len(offered) > 0 {
		return commonPrefix(line, next), offered
	}
	return commonPrefix(line, next), all
}

// fillOpenPlace returns lines in which the open place begun at the end of the line is filled with names that the
// session knows.
func (t *Terminal) fillOpenPlace(line, open string) (out []string) {
	var known []string
	from, end := len(line), ""
	switch {
	case open == `"…"` || open == `"X"`:
		known, from, end = t.o.Session.Known(), strings.LastIndexByte(line, '"')+1, `"`
	case open == "X":
		known, from = t.o.Session.Names(), strings.LastIndexByte(line, ' ')+1
	}
	for _, one := range known {
		if strings.HasPrefix(one, line[from:]) && (end != "" || one != line[from:]) {
			out = append(out, line[:from]+one+end)
		}
	}
	return out
}

// completeCommand completes a line that begins with a dot.
func (t *Terminal) completeCommand(line string) (longer string, all []string) {
	name, arg, args := strings.Cut(line, " ")
	var known []string
	switch {
	case !args:
		for _, c := range commands {
			known = append(known, "."+c.name)
		}
	case name == ".close" || name == ".cut":
		known = t.o.Session.Names()
	case name == ".explain":
		for _, row := range t.o.Session.Ledger().Rows() {
			known = append(known, row.ID)
		}
		arg = strings.ToUpper(arg)
	}
	begun, before := line, ""
	if args {
		begun, before = arg, name+" "
	}
	for _, one := range known {
		if strings.HasPrefix(one, begun) {
			all = append(all, before+one)
		}
	}
	return commonPrefix(line, all), all
}

// choice is the innermost choice of a pattern.
var choice = regexp.MustCompile(`\(([^()\[\]]*)\)|\[([^()\[\]]*)\]`)

// maxChoices bounds the number of expansions of a pattern.
const maxChoices = 64

// expandChoices resolves the choices of a pattern.
func expandChoices(pattern string) []string {
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

// continuesPattern reports whether a line begins like a pattern, and returns the text that follows up to the next open
// place, or else the open place that the end of the line has begun.
func continuesPattern(pattern, line string) (rest, begun string, ok bool) {
	for {
		at := slot.FindStringIndex(pattern)
		fixed, open := pattern, ""
		if at != nil {
			fixed, open = pattern[:at[0]], pattern[at[0]:at[1]]
		}
		if len(line) <= len(fixed) {
			if !strings.HasPrefix(fixed, line) {
				return "", "", false
			}
			rest = fixed[len(line):]
			if strings.HasPrefix(open, `"`) {
				rest += `"`
			}
			if rest == "" {
				begun = open
			}
			return rest, begun, true
		}
		if !strings.HasPrefix(line, fixed) || open == "" {
			return "", "", false
		}
		line, pattern = line[len(fixed):], pattern[at[1]:]
		typed := openPlaceLength(open, line)
		if typed == 0 {
			return "", "", false
		}
		if typed == len(line) { // the place may continue
			if fixed == "" { // any line begins like that
				return "", "", false
			}
			if len(line) > 1 && strings.HasPrefix(open, `"`) && strings.HasSuffix(line, `"`) {
				open = "" // it is complete
			}
			return "", open, true
		}
		line = line[typed:]
	}
}

// openPlaceLength returns how much of a line fills an open place.
func openPlaceLength(open, line string) int {
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

// commonPrefix returns the longest common prefix of all; line if there are none.
func commonPrefix(line string, all []string) string {
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
