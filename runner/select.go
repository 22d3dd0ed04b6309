package runner

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"parley/runner/tags"
	"parley/steps"
)

// Plan returns the scenarios that a run selects, over any of its drivers, in the order of the suite, without running
// anything. Preflight scenarios outside the selection are left out, although they run. It returns a *UsageError if the
// run is impossible.
func Plan(o Options) ([]Planned, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	sel, err := tags.Parse(o.Tags)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	var all []Planned
	for _, d := range r.drivers {
		for _, pl := range d.plan {
			known := slices.ContainsFunc(all, func(p Planned) bool { return p.ID == pl.ID })
			if !known && sel.Match(pl.Marks()) {
				all = append(all, pl)
			}
		}
	}
	return all, nil
}

// Only returns the tag expression that selects those of the scenarios that an expression selects; "" selects all.
func Only(expr string, scenarios []Planned) string {
	var ids []string
	for _, pl := range scenarios {
		ids = append(ids, "@"+pl.ID)
	}
	only := strings.Join(ids, " or ")
	if strings.TrimSpace(expr) == "" {
		return only
	}
	return "(" + expr + ") and (" + only + ")"
}

// Places returns where each step of a scenario of the suite is written, in order: features/<protocol>/<file>:<line>.
// The steps of a Background come first.
func Places(p steps.Protocol, pl Planned) ([]string, error) {
	file := pl.path()
	if file == "" {
		return nil, nil
	}
	found, err := retrieve(p.Features(), "", file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var out []string
	for _, f := range found {
		lines := stepLines(f)
		for _, pickle := range f.pickles {
			if pickleKey(pickle) != pl.key {
				continue
			}
			for _, st := range pickle.Steps {
				out = append(out, fmt.Sprintf("features/%s:%d", file, lines[st.AstNodeIds[0]]))
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("read %s: %w", file, fs.ErrNotExist)
}
