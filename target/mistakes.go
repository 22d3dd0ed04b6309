package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mistakes are the mistakes of a profile that has several, in the order of the file. Each is a *ProfileError, which
// errors.As finds.
type Mistakes []*ProfileError

// mostMistakes is how many mistakes a message shows.
const mostMistakes = 20

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, e := range m[:min(len(m), mostMistakes)] {
		lines = append(lines, e.Error())
	}
	if more := len(m) - mostMistakes; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", m[0].File, more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (m Mistakes) Unwrap() []error {
	var all []error
	for _, e := range m {
		all = append(all, e)
	}
	return all
}

// mistakesIn lists the mistakes that an error consists of; nil, false if it is of another kind.
func mistakesIn(err error) (Mistakes, bool) {
	var several Mistakes
	var one *ProfileError
	switch {
	case errors.As(err, &several):
		return several, true
	case errors.As(err, &one):
		return Mistakes{one}, true
	}
	return nil, false
}

// Together combines errors: nil for none, the error itself for one, Mistakes for several. An error that is no mistake
// of the profile takes precedence.
func Together(errs ...error) error {
	var all Mistakes
	for _, err := range errs {
		if err == nil {
			continue
		}
		list, ok := mistakesIn(err)
		if !ok {
			return err
		}
		for _, e := range list {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *ProfileError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// follows reports whether a mistake may be but the consequence of others: it is about the same key, or about one that
// contains it or lies within it. From a profile that is no mapping all others follow.
func (m Mistakes) follows(e *ProfileError) bool {
	return slices.ContainsFunc(m, func(o *ProfileError) bool {
		return o.whole || o.about != "" && encloses(o.about, e.about) ||
			e.about != "" && encloses(e.about, o.about)
	})
}

// encloses reports whether a path is another one, or contains it.
func encloses(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
