// Package probe writes the profile of a target by asking it what it is: parley init.
//
// The package knows no protocol. One that is to have an init is a Probing beside its steps.Protocol: by its guide it
// asks the target, notes what it saw under the keys of the profile, and writes the profile by a Draft. Profile starts
// the target or reaches it, and follows the guide. What a probe tries need not be there, so nothing here judges: a
// probe that found nothing still writes defaults.
//
// A probe should infer what would make verdicts wrong if it was left at the default unnoticed. What a user sees fail at
// once, and can say in one line, is better a comment in the draft.
package probe

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"parley/driver"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// Probing is what a steps.Protocol offers beyond whose targets can be probed. It is found by assertion.
type Probing interface {
	// Init is the guide by which parley init probes a target of the protocol.
	Init() Guide
}

// Guide is how targets of a protocol are probed.
type Guide struct {
	// Profile asks the target of a session what it is, and gives the text of its profile. It calls Notebook.Welcome once
	// the target has shown that it speaks the protocol. An error is one of starting or reaching the target.
	Profile func(ctx context.Context, s *Session) (string, error)

	// Text is what the help of parley init says of the protocol: one paragraph or more, in lines that are broken, about
	// what is tried, and what traces that leaves.
	Text string

	// Examples are command lines for the help.
	Examples []string
}

// Session is one probe of a target.
type Session struct {
	Notebook

	// Protocol is what the target speaks.
	Protocol steps.Protocol

	// Profile is that of the target at the defaults of its protocol, and of the role that was asked for. What is found out
	// goes into it.
	Profile *target.Profile

	// Target is running: what answers at the profile's URL, or what its command starts. Nil where there is neither, as of
	// a target that connects to the harness by itself.
	Target target.Running

	// Counterpart is what a target that connects to the harness meets; nil: nothing.
	Counterpart target.Launcher

	// Exact says that the user gave the URL of a socket, and not that of a server.
	Exact bool

	// File is the path of the profile that will be written, and Dir the folder in which its command was given; both are
	// absolute. "": unknown.
	File, Dir string
}

// NewSession is a session with a target, which may be nil, and an empty notebook, which says nothing to anybody.
func NewSession(protocol steps.Protocol, p *target.Profile, running target.Running) *Session {
	return &Session{Notebook: Notebook{Seen: map[string][]string{}}, Protocol: protocol, Profile: p, Target: running}
}

// Decoder is what gives the records of a driver their events, by the profile as far as it is known now.
func (s *Session) Decoder(d driver.Driver) func(*transcript.Record) {
	return s.Protocol.Bind(&steps.Env{Profile: s.Profile, Driver: d}, s.Target)
}

// Relative is a path as the profile has it: relative to its file, where that can be.
func (s *Session) Relative(path string) string {
	if !filepath.IsAbs(path) || s.File == "" {
		return path
	}
	rel, err := filepath.Rel(filepath.Dir(s.File), path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// Paths are where to look for a socket: where the URL says that it is, or else the usual places, the likeliest and
// default one first.
func (s *Session) Paths(own string, usual ...string) []string {
	if s.Exact && own != usual[0] {
		return []string{own}
	}
	return usual
}

// Another is how long an answer may take at one more path, where one opened and was silent.
const Another = 2 * time.Second

// Notebook keeps what a probe saw, by the key of the profile that it is about. The key "unseen" is of what could not be
// seen.
type Notebook struct {
	// Seen is what was noted.
	Seen map[string][]string

	say     func(text string) // nil: nobody listens
	waiting bool              // the target has not shown yet that it speaks the protocol
	held    []string          // what waits to be said
}

// Note keeps what was seen, and says it.
func (n *Notebook) Note(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.Seen[key] = append(n.Seen[key], text)
	n.Say("%s", text)
}

// Unseen notes what could not be seen, or was not recognised.
func (n *Notebook) Unseen(format string, args ...any) { n.Note(unseen, format, args...) }

const unseen = "unseen"

// Forget drops what was noted under some keys: it turned out to be otherwise.
func (n *Notebook) Forget(keys ...string) {
	for _, key := range keys {
		delete(n.Seen, key)
	}
}

// Say tells the user how it goes: a line. Until the target has shown that it speaks the protocol nothing is told: of
// one that does not, what was tried is of no use.
func (n *Notebook) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n.waiting {
		n.held = append(n.held, text)
		return
	}
	if n.say != nil {
		n.say(text)
	}
}

// Welcome says that the target speaks the protocol, and what was held back.
func (n *Notebook) Welcome() {
	n.waiting = false
	held := n.held
	n.held = nil
	for _, text := range held {
		n.Say("%s", text)
	}
}
