// Package probe writes a target's profile by asking the target: it implements parley init.
//
// The package knows no protocol. A protocol with an init implements Probing beside steps.Protocol. Its guide asks the
// target, notes what it saw under the keys of the profile, and writes the profile with a Draft. Profile starts or
// reaches the target and calls the guide. A target need not have what a probe tries, so nothing here judges: a probe
// that finds nothing still writes the defaults.
//
// A probe should infer what would silently cause wrong verdicts if left at the default. What visibly fails at once
// and takes one line to declare is better left as a comment in the draft.
package probe

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Probing is a steps.Protocol whose targets can be probed. It is found by type assertion.
type Probing interface {
	// Init returns the guide by which parley init probes a target of the protocol.
	Init() Guide
}

// Guide describes how targets of a protocol are probed.
type Guide struct {
	// Profile asks the target of a session and returns the text of its profile. It calls Notebook.Welcome once the target
	// has shown that it speaks the protocol. An error means that the target could not be started or reached.
	Profile func(ctx context.Context, s *Session) (string, error)

	// Text is the protocol's part of the help of parley init: wrapped paragraphs on what the probe tries and which traces
	// that leaves.
	Text string

	// Examples are command lines for the help.
	Examples []string
}

// Session is one probe of a target.
type Session struct {
	Notebook

	// Protocol is what the target speaks.
	Protocol steps.Protocol

	// Profile is the target's profile, with the defaults of its protocol and the requested role. The probe adds what it
	// finds.
	Profile *target.Profile

	// Target is the running target at the profile's URL or started by its command. It is nil if there is neither, as for
	// a target that connects to the harness by itself.
	Target target.Running

	// Counterpart launches the peer of a target that connects to the harness; it may be nil.
	Counterpart target.Launcher

	// Exact says that the user gave the URL of a WebSocket, not of a server.
	Exact bool

	// File is the path of the profile to be written, and Dir the folder in which its command was given. Both are
	// absolute, or "" if unknown.
	File, Dir string

	head []string // lines of the profile that say how the target is reached
}

// NewSession returns a session with a target, which may be nil, and an empty notebook that prints nothing.
func NewSession(protocol steps.Protocol, p *target.Profile, running target.Running) *Session {
	return &Session{Notebook: Notebook{Seen: map[string][]string{}}, Protocol: protocol, Profile: p, Target: running}
}

// Decoder returns the function that adds events to a driver's records, by the profile as far as it is known.
func (s *Session) Decoder(d driver.Driver) func(*transcript.Record) {
	return s.Protocol.Bind(&steps.Env{Profile: s.Profile, Driver: d}, s.Target)
}

// Relative returns a path as the profile has it: relative to its file if possible.
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

// Paths returns the paths to try for a socket: the URL's own if the user gave it, otherwise the usual ones, starting
// with the likeliest, which is the default.
func (s *Session) Paths(own string, usual ...string) []string {
	if s.Exact && own != usual[0] {
		return []string{own}
	}
	return usual
}

// Another is how long an answer may take on a further path after an earlier path opened but stayed silent.
const Another = 2 * time.Second

// Notebook keeps what a probe saw, by profile key. The key "unseen" is for what could not be seen.
type Notebook struct {
	// Seen has the notes by key.
	Seen map[string][]string

	say     func(text string) // may be nil
	waiting bool              // the target has not yet shown that it speaks the protocol
	held    []string          // lines held back until Welcome
}

// Note records a note and prints it.
func (n *Notebook) Note(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.Seen[key] = append(n.Seen[key], text)
	n.Say("%s", text)
}

// Unseen notes what could not be seen or was not recognised.
func (n *Notebook) Unseen(format string, args ...any) { n.Note(unseen, format, args...) }

const unseen = "unseen"

// Forget drops the notes under some keys because they turned out to be wrong.
func (n *Notebook) Forget(keys ...string) {
	for _, key := range keys {
		delete(n.Seen, key)
	}
}

// Say prints a line for the user. Lines are held back until the target has shown that it speaks the protocol: if it
// does not, they are of no use.
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

// Welcome records that the target speaks the protocol, and prints what was held back.
func (n *Notebook) Welcome() {
	n.waiting = false
	held := n.held
	n.held = nil
	for _, text := range held {
		n.Say("%s", text)
	}
}
