package simulator

import (
	"slices"
	"sync"

	"parley/steps"
)

// Progress returns what the session does at the moment, and a channel that closes when that changes.
func (s *Session) Progress() (steps.Progress, <-chan struct{}) { return s.live.Progress() }

// Judges returns the clauses that a step can judge, sorted, as runs against the bundled targets show it.
func (s *Session) Judges(step string) []string { return s.live.Judges(withoutKeyword(step)) }

// courses are the steps of the suite's scenarios, read once.
type courses struct {
	once sync.Once
	all  [][]string
	err  error
}

// latestSteps is how many of the latest steps decide on the next one.
const latestSteps = 20

// Next returns a step that the suite takes after the steps so far: where a scenario has begun with all of them, or with
// the last ones, or else with those before the last ones. Of several it is the most frequent one. "" if there is none.
func (s *Session) Next() (string, error) {
	s.courses.once.Do(func() { s.courses.all, s.courses.err = s.live.Courses() })
	if s.courses.err != nil {
		return "", s.courses.err
	}
	var done []string
	for _, d := range s.Steps() {
		if !d.Raw {
			done = append(done, d.Judged.Text)
		}
	}
	done = done[max(0, len(done)-latestSteps):]
	for end := len(done); end >= 0; end-- {
		for from := range max(end, 1) {
			if next := mostFrequentNext(s.courses.all, done[from:end], done[end:]); next != "" {
				return next, nil
			}
		}
	}
	return "", nil
}

// mostFrequentNext returns the step, other than some, that follows a beginning in most of the courses, the first one of
// equally many; "" if none does.
func mostFrequentNext(all [][]string, begun, others []string) (next string) {
	count := map[string]int{}
	for _, course := range all {
		if n := len(begun); len(course) > n && slices.Equal(course[:n], begun) && !slices.Contains(others, course[n]) {
			count[course[n]]++
			if count[course[n]] > count[next] {
				next = course[n]
			}
		}
	}
	return next
}
