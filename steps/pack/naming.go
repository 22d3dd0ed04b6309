package pack

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
)

// names are names that a folder uses: those of messages, of states or of clauses. One that is not listed is told once.
type names struct {
	used    map[string]bool     // those that are listed
	strange []string            // those that are not, in the order of their first places
	places  map[string][]string // of strange ones
	says    map[string]string   // what is told at the first place
}

func newNames() *names {
	return &names{used: map[string]bool{}, places: map[string][]string{}, says: map[string]string{}}
}

// add notes a use of a name that is not listed.
func (n *names) add(name, place, format string, args ...any) {
	if n.places[name] == nil {
		n.strange, n.says[name] = append(n.strange, name), fmt.Sprintf(format, args...)
	}
	if !slices.Contains(n.places[name], place) {
		n.places[name] = append(n.places[name], place)
	}
}

// listed is a name that the folder lists, with its place.
type listed struct{ name, place string }

// tell tells each name that is not listed. If it has several places, and is like a listed one that nothing names, then
// the mistake is where that one is listed.
func (n *names) tell(in []listed) (mistakes []error) {
	idle := map[string]string{} // place by name
	for _, l := range in {
		if !n.used[l.name] {
			idle[l.name] = l.place
		}
	}
	for _, name := range n.strange {
		places := n.places[name]
		if cause := words.Near(name, sorted(idle), 1); len(cause) > 0 && len(places) > 1 {
			mistakes = append(mistakes, fmt.Errorf("%s: nothing names %q, and %q is not listed, which is named at %s "+
				"(did you mean %[3]q?)", idle[cause[0]], cause[0], name, also(places, "")))
			delete(idle, cause[0])
			continue
		}
		mistakes = append(mistakes, fmt.Errorf("%s: %s%s", places[0], n.says[name], also(places[1:], "; also at ")))
	}
	return mistakes
}

// mostPlaces bounds the places that a mistake names.
const mostPlaces = 3

// also names places behind a text that is said only if there are any.
func also(places []string, text string) string {
	switch more := len(places) - mostPlaces; {
	case len(places) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf("%s%s and %d more", text, strings.Join(places[:mostPlaces], ", "), more)
	}
	return text + strings.Join(places, ", ")
}
