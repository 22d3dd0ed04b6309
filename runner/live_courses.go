package runner

import (
	"slices"
	"strings"

	"parley/steps"
)

// Courses returns the steps of each scenario of the suite that can run against the session's target, up to the first
// step with an argument below it.
func (l *Live) Courses() ([][]string, error) {
	fsys := l.Protocol.Features()
	planned, err := Scenarios(fsys, l.Protocol)
	if err != nil {
		return nil, err
	}
	texts, err := Steps(fsys, l.Protocol)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, p := range planned {
		if p.Exclusive() || l.Protocol.NotRunnable(l.env, p.Tags) != "" {
			continue
		}
		course := texts[p.ID]
		if i := slices.IndexFunc(course, func(text string) bool { return strings.HasSuffix(text, ":") }); i >= 0 {
			course = course[:i]
		}
		out = append(out, course)
	}
	return out, nil
}

// Judges returns the clauses that a step can judge, sorted, as runs against the bundled targets show it.
func (l *Live) Judges(step string) []string {
	l.judgesOnce.Do(func() {
		l.judges, _ = steps.JudgesOf(l.Protocol) // the protocol's own file, which a test reads: nothing depends on it here
	})
	expr := steps.ExpressionOf(l.Expressions(), steps.Current(l.Protocol, step))
	var out []string
	for clause, all := range l.judges {
		if expr != "" && slices.Contains(all, expr) {
			out = append(out, clause)
		}
	}
	slices.Sort(out)
	return out
}
