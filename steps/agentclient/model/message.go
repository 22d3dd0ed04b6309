package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

type (
	owed = obligation.Owed[message, duty]
	book = obligation.Book[message, duty]
)

// message is a record as a book reads it.
type message transcript.Record

// Record implements obligation.Message.
func (m message) Record() int { return m.N }

// Time implements obligation.Message.
func (m message) Time() time.Duration { return m.At }

// Title implements obligation.Message.
func (m message) Title() string {
	switch {
	case m.Event != nil:
		return m.Event.Type
	case m.Label != "":
		return m.Label
	}
	return string(m.Kind)
}

// asks reports whether it is a request of a type, as the page's server receives it.
func (m message) asks(kind string) bool {
	return m.Kind == transcript.Request && m.Dir == transcript.Received && m.Event != nil && m.Event.Type == kind
}

// duty tells the obligations of a page apart.
type duty struct {
	kind  string // of the request, or of what a person sees
	agent string // that was chosen
	state bool   // it is seen for as long as nothing changes it
}

// InVain returns the remark that a scenario has waited in vain for a request that the user's act in a record obliges
// the page to; how says for how long.
func InVain(record int, kind, how string) string {
	return fmt.Sprintf("waited in vain since record %d for %s: %s", record, kind, how)
}

var inVain = regexp.MustCompile(`^waited in vain since record (\d+) for ([^:]+): (.*)$`)

// remarks takes a remark of the harness.
func (m *Model) remarks(r *transcript.Record) {
	said := inVain.FindStringSubmatch(r.Label)
	if said == nil {
		return
	}
	act, _ := strconv.Atoi(said[1])
	for _, p := range m.pages {
		p.requests.Expire(func(o *owed) bool { return o.Cause.N == act && o.About.kind == said[2] }, said[3])
	}
}

// Fate returns what has become of the request of a kind to which the user's acts since a record oblige a page, and the
// request.
func (m *Model) Fate(page, kind string, since int) (obligation.State, transcript.Record) {
	p := m.pages[page]
	if p == nil {
		return obligation.Unknown, transcript.Record{}
	}
	state, came := p.requests.Fate(func(o *owed) bool { return o.About.kind == kind && o.Cause.N >= since })
	return state, transcript.Record(came)
}

// HasPrompted reports whether anything has obliged a page to a prompt with a text, or with one that it is the beginning
// of, or that begins it.
func (m *Model) HasPrompted(page, text string) bool {
	p := m.pages[page]
	if p == nil || p.over || len(p.prompted) == mostSights {
		return p != nil
	}
	for owed := range p.prompted {
		if strings.Contains(owed, text) || strings.HasPrefix(text, owed) {
			return true
		}
	}
	return false
}

// Fresh returns the findings on the requests of a page up to a record that it has not returned before.
func (m *Model) Fresh(page string, last int) []verdict.Finding {
	if p := m.pages[page]; p != nil {
		return p.requests.Fresh(last)
	}
	return nil
}
