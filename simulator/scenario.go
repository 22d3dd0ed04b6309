package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/features/verdict"
	"parley/steps"
)

// Scenario writes the steps of the session as the only scenario of a feature, which `parley run --features` runs. It is
// tagged with the clauses that its steps have judged. It contains raw steps for the effects of Send and Hang.
func (s *Session) Scenario(name string) string {
	var tags []string
	var body strings.Builder
	all := s.Steps()
	for i, d := range all {
		for _, j := range d.Judged.Outcomes {
			if (j.Outcome == verdict.Passed || j.Outcome == verdict.Failed) && !slices.Contains(tags, "@"+j.Clause) {
				tags = append(tags, "@"+j.Clause)
			}
		}
		body.WriteString(StepLines(stepKeyword(all, i), d.Text, d.Arg))
	}
	slices.Sort(tags)
	var b strings.Builder
	fmt.Fprintf(&b, "Feature: %s\n\n", name)
	if len(tags) > 0 {
		fmt.Fprintf(&b, "  %s\n", strings.Join(tags, " "))
	}
	fmt.Fprintf(&b, "  Scenario: %s\n%s", name, body.String())
	return b.String()
}

// stepKeyword returns the keyword of a step: Then for a step that judges, When for the step right before it.
func stepKeyword(all []DoneStep, i int) string {
	judges := func(i int) bool { return i >= 0 && i < len(all) && len(all[i].Judged.Outcomes) > 0 }
	switch {
	case judges(i) && judges(i-1):
		return "And"
	case judges(i):
		return "Then"
	case judges(i + 1):
		return "When"
	case i == 0 || judges(i-1):
		return "Given"
	}
	return "And"
}

// inCell escapes what ends a cell of a table.
var inCell = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", `\n`)

// StepLines writes a step of a scenario, with what stands below it.
func StepLines(keyword, text string, arg steps.StepArg) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    %s %s\n", keyword, text)
	writeArg(&b, arg)
	return b.String()
}

// writeArg writes the argument below a step.
func writeArg(b *strings.Builder, arg steps.StepArg) {
	if arg.Text != nil {
		fmt.Fprintf(b, "      \"\"\"\n")
		for line := range strings.SplitSeq(*arg.Text, "\n") {
			fmt.Fprintf(b, "      %s\n", strings.ReplaceAll(line, `"""`, `\"\"\"`))
		}
		fmt.Fprintf(b, "      \"\"\"\n")
	}
	for _, row := range arg.Table {
		b.WriteString("      |")
		for _, cell := range row {
			fmt.Fprintf(b, " %s |", inCell.Replace(cell))
		}
		b.WriteString("\n")
	}
}

// Bounds of what is remembered.
const (
	maxKnown   = 1000 // values, and parties; those not seen for the longest time are forgotten
	maxWord    = 80   // bytes of a value
	maxMembers = 2000 // of one event that are visited
)

// known holds the names and ids that a session has seen and that its next steps may need.
type known struct {
	mu      sync.Mutex
	mark    int            // the last record that was read
	values  map[string]int // each with the last record that had it
	parties map[string]int
}

// Known returns the names and ids that occurred in events of the session, sorted: strings in members whose name is or
// ends with id, name, tool, agent or session, such as agentId or tool_name, and in lists of them. It keeps the most
// recent thousand.
func (s *Session) Known() []string {
	return s.rememberedValues(func(k *known) map[string]int { return k.values })
}

// Names returns the names of the parties that occurred in the transcript, sorted. Unlike Parties, it does not wait for
// a running step.
func (s *Session) Names() []string {
	return s.rememberedValues(func(k *known) map[string]int { return k.parties })
}

func (s *Session) rememberedValues(what func(*known) map[string]int) []string {
	s.learnFromRecords()
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	return slices.Sorted(maps.Keys(what(&s.known)))
}

// learnFromRecords reads the records since the last call.
func (s *Session) learnFromRecords() {
	k := &s.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values, k.parties = map[string]int{}, map[string]int{}
	}
	for r := range s.Transcript().From(k.mark) {
		k.mark = r.N
		if r.Conn != "" {
			rememberValue(k.parties, r.Conn, r.N)
		}
		if r.Event != nil {
			left := maxMembers
			k.visitValue("", r.Event.Data, r.N, &left)
		}
	}
}

// visitValue visits a value of an event in a member of the given name.
func (k *known) visitValue(name string, v any, n int, left *int) {
	if *left--; *left < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		if holdsNames(name) && fitsInQuotes(v) {
			rememberValue(k.values, v, n)
		}
	case []any:
		for _, one := range v {
			k.visitValue(strings.TrimSuffix(name, "s"), one, n, left)
		}
	case map[string]any:
		for member, one := range v {
			k.visitValue(member, one, n, left)
		}
	}
}

// holdsNames reports whether the values of a member are names or ids that a step may contain.
func holdsNames(member string) bool {
	words := strings.FieldsFunc(splitWords(member), func(c rune) bool { return c == '_' || c == '-' || c == ' ' })
	if len(words) == 0 || slices.Contains([]string{"connection", "request", "message", "event"}, words[0]) {
		return false // each has a new one
	}
	switch words[len(words)-1] {
	case "id", "name", "tool", "agent", "session":
		return true
	}
	return false
}

// splitWords separates the words of a member's name: agentId is agent id.
func splitWords(member string) string {
	var b strings.Builder
	for i, c := range member {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// fitsInQuotes reports whether a value can stand between the quotes of a step.
func fitsInQuotes(v string) bool {
	return v != "" && len(v) <= maxWord && utf8.ValidString(v) &&
		!strings.ContainsFunc(v, func(c rune) bool { return c == '"' || !unicode.IsPrint(c) })
}

// rememberValue notes that a record contains a value. If there are too many values, it forgets the older half.
func rememberValue(in map[string]int, value string, n int) {
	in[value] = n
	if len(in) <= maxKnown {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(in), func(a, b string) int { return cmp.Or(in[a]-in[b], strings.Compare(a, b)) })
	for _, old := range oldest[:len(oldest)/2] {
		delete(in, old)
	}
}
