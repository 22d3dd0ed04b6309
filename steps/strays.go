package steps

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Stray is a message or effect that reaches one scenario because of another. It shows that parallel scenarios disturb
// each other.
type Stray struct {
	Clauses []string // that this breaks
	What    string   // what happens, in the plural: "answers arrive on the connections of other clients"
	Seen    string   // where it was seen, and what it was
	Advice  string   // what to change in the profile; "": nothing
}

// strayRecorder records the strays of one run over one driver.
type strayRecorder struct {
	mu    sync.Mutex
	kinds []Stray // the first of each kind, told apart by What
	times []int   // how often each was seen
}

// Strayed records a stray. The first of the kind that is most frequent is reported, with the clauses that any of them
// breaks: one cause may show in several ways.
func (w *World) Strayed(one Stray) {
	s := &w.Env.strays
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.kinds, func(k Stray) bool { return k.What == one.What })
	if at < 0 {
		at = len(s.kinds)
		s.kinds, s.times = append(s.kinds, one), append(s.times, 0)
	}
	s.times[at]++
}

// Beside reports whether other scenarios run at the same time.
func (w *World) Beside() bool { return w.beside }

// Strays returns the number of strays, and the first of the most frequent kind, with the clauses of all. If clauses are
// given, that kind breaks one of them: of what one cause does, that tells what was found broken.
func (e *Env) Strays(breaks ...string) (count int, first Stray) {
	e.strays.mu.Lock()
	defer e.strays.mu.Unlock()
	most := 0
	for i, k := range e.strays.kinds {
		count += e.strays.times[i]
		breaking := func(id string) bool { return slices.Contains(breaks, id) }
		told := len(breaks) == 0 || slices.ContainsFunc(k.Clauses, breaking)
		if told && e.strays.times[i] > most {
			most, first = e.strays.times[i], k
		}
	}
	first.Clauses = slices.Clone(first.Clauses)
	for _, k := range e.strays.kinds {
		for _, id := range k.Clauses {
			if !slices.Contains(first.Clauses, id) {
				first.Clauses = append(first.Clauses, id)
			}
		}
	}
	return count, first
}

// isDisturbed reports whether another scenario running beside this one may be the cause of missing messages.
func (w *World) isDisturbed() bool {
	if !w.beside {
		return false
	}
	count, _ := w.Env.Strays()
	return count > 0
}

// NoncesLike returns a function that finds the first nonce of a scenario of the same run and driver in a text: such
// nonces have the same ending, and begin with a prefix and numbers. It returns nil for a nonce of another form.
func NoncesLike(nonce string) (find func([]byte) string) {
	parts := strings.Split(nonce, "-")
	if len(parts) < 3 {
		return nil
	}
	ending := strings.Join(parts[len(parts)-2:], "-")
	re := regexp.MustCompile(`[a-z]{2}(?:-[0-9]+)+-` + regexp.QuoteMeta(ending))
	return func(text []byte) string {
		if !bytes.Contains(text, []byte(ending)) { // a regular expression takes half a second for 16 MB
			return ""
		}
		return string(re.Find(text))
	}
}

// eventCounter counts unsolicited events of a target that break no clause.
type eventCounter struct {
	mu    sync.Mutex
	kinds []string
	first string
	count int
}

func (h *eventCounter) addRecord(kind, seen string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count++; h.count == 1 {
		h.first = seen
	}
	if !slices.Contains(h.kinds, kind) {
		h.kinds = append(h.kinds, kind)
		slices.Sort(h.kinds)
	}
}

func (h *eventCounter) allRecords() (count int, kinds []string, first string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count, slices.Clone(h.kinds), h.first
}

// CameAgain records an event of a kind that came a second time without breaking a clause.
func (e *Env) CameAgain(kind, seen string) { e.again.addRecord(kind, seen) }

// Again returns how many events came a second time, their kinds, and the first of them; 0 for none.
func (e *Env) Again() (count int, kinds []string, first string) { return e.again.allRecords() }

// CameAstray records an event of a kind that belongs to another connection, where no clause forbids that.
func (e *Env) CameAstray(kind, seen string) { e.astray.addRecord(kind, seen) }

// Astray returns how many events of other connections came, their kinds, and the first of them; 0 for none.
func (e *Env) Astray() (count int, kinds []string, first string) { return e.astray.allRecords() }
