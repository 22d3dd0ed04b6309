package pages

import (
	"bytes"
	"fmt"
	"slices"
)

// Mutant is a faulty page.
type Mutant struct {
	ID      string   // named after what the page does wrong
	Clauses []string // those that it breaks; another may suffer, but need not
	Why     string   // why a real page would have this fault
	Control string   // tag expression of scenarios that must still pass
	Patches []Patch
}

// Patch is a change of one file of the page.
type Patch struct {
	File string // its name, such as "agents.js"
	Old  string // what is replaced; it stands there once. "": New is appended
	New  string
}

// All returns the catalogue, in its order. It is the caller's to keep.
func All() []Mutant {
	all := slices.Concat(listFaults, placeFaults, emptyFaults, staleFaults, switchFaults, endFaults, requestFaults, uncalledFaults,
		preselectionFaults, switchedFaults, messageFaults, promptFaults, notFoundFaults, abortFaults, logFaults, lossFaults, overlookedFaults)
	for i := range all {
		all[i].Clauses, all[i].Patches = slices.Clone(all[i].Clauses), slices.Clone(all[i].Patches)
	}
	return all
}

// Patch returns what is served in place of a file of the bundled page, which it may change. It panics where what a patch
// replaces does not stand there once: the catalogue is then behind the page.
func (m Mutant) Patch(name string, body []byte) []byte {
	for _, p := range m.Patches {
		if p.File != name {
			continue
		}
		var err error
		if body, err = p.apply(body); err != nil {
			panic(fmt.Sprintf("mutant %s: %s: %v", m.ID, name, err))
		}
	}
	return body
}

func (p Patch) apply(body []byte) ([]byte, error) {
	if p.Old == "" {
		return append(body, "\n"+p.New+"\n"...), nil
	}
	if n := bytes.Count(body, []byte(p.Old)); n != 1 {
		return body, fmt.Errorf("%q stands there %d times", p.Old, n)
	}
	return bytes.Replace(body, []byte(p.Old), []byte(p.New), 1), nil
}

// Files of the page.
const (
	agents     = "agents.js"
	app        = "app.js"
	chat       = "chat.js"
	connection = "connection.js"
	index      = "index.html"
	logs       = "log.js"
	prompts    = "prompts.js"
	sessions   = "sessions.js"
	style      = "style.css"
	words      = "i18n.js"
)

// Scenarios that must still pass, one each.
const (
	begins     = "@connect"     // before the connection
	lists      = "@AC-098"      // a list is shown
	asks       = "@preflight-3" // a switch is asked for
	switches   = "@AC-065"      // it succeeds, and is told
	refuses    = "@AC-048"      // it fails, and is told
	preselects = "@AC-095"      // an agent is chosen for the session to come

	or = " or "
)
