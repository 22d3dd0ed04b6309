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
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/stdio"
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

// interpreter matches programs that run another one, which their arguments name.
var interpreter = regexp.MustCompile(
	`^(java|dotnet|(python|pypy)[0-9.]*|node|deno|bun|ruby|perl|php|(ba|da|z)?sh|go|uv)(\.exe)?$`)

// Flags of interpreters: those whose value is the next argument, and those whose value is the program's text.
var (
	valued = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "-W", "-X", "-r", "--require",
		"--import"}
	inline = []string{"-c", "-e", "--eval"}
)

// programOf returns the name of the program that a command runs, without folder and extension. For an interpreter it
// is that of the script, module or class.
func programOf(command []string) string {
	plain := func(path string) string {
		base := filepath.Base(path)
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	if !interpreter.MatchString(filepath.Base(command[0])) {
		return plain(command[0])
	}
	class := func(before, arg string) bool { // or a module: its dots are no extension
		java := strings.HasPrefix(filepath.Base(command[0]), "java")
		return before == "-m" || java && before != "-jar" && filepath.Ext(arg) != ".java" ||
			!strings.ContainsAny(arg, `/\`) && filepath.Ext(arg) == ""
	}
	for i := 1; i < len(command); i++ {
		switch arg := command[i]; {
		case slices.Contains(inline, arg):
			return plain(command[0])
		case slices.Contains(valued, arg):
			i++
		case arg == "run" || strings.HasPrefix(arg, "-"):
		case class(command[i-1], arg):
			return arg
		case plain(arg) != "" && plain(arg) != string(filepath.Separator):
			return plain(arg)
		}
	}
	return plain(command[0])
}

// Driver is a driver that holds resources until it is closed, as all drivers of servers do.
type Driver interface {
	driver.Driver
	Close() error
}

// Line is one connection of a probe.
type Line struct {
	Conn       driver.Conn
	Transcript *transcript.Transcript
	ctx        context.Context
}

// NewLine returns a line for an open connection that records in t.
func NewLine(ctx context.Context, conn driver.Conn, t *transcript.Transcript) *Line {
	return &Line{Conn: conn, Transcript: t, ctx: ctx}
}

// Open opens a connection to the target within limits.open: to a path below its base URL or, with the stdio driver,
// to its process. decode, which may be nil, adds events to the records. The context applies to the line too.
func (s *Session) Open(
	ctx context.Context, d driver.Driver, path string, decode func(*transcript.Record),
) (*Line, error) {
	limit, cancel := deadline.WithLimit(ctx, s.Profile.Limits.Open.Duration)
	defer cancel()
	o := driver.OpenOptions{Party: "probe", MaxEvent: int(s.Profile.Limits.MaxEvent)}
	if d.Name() == stdio.Name {
		o.Process = target.Starter(s.Target)
	} else {
		o.URL, o.Header = s.Target.BaseURL()+path, http.Header{}
		for k, v := range s.Profile.Headers {
			o.Header.Set(k, v)
		}
	}
	t := transcript.New(decode)
	conn, err := d.Open(limit, o, t.Append)
	if err != nil {
		return nil, err
	}
	return NewLine(ctx, conn, t), nil
}

// Close drops the connection.
func (l *Line) Close() { _ = l.Conn.Close(driver.Reset) }

// Send sends a document as JSON in one message and returns the mark for what follows.
func (l *Line) Send(doc any) (mark int, err error) {
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return 0, err
	}
	return l.Conn.Send(l.ctx, driver.Message{Body: b})
}

// Record waits for a matching record after a mark. It returns an error if none arrives in time.
func (l *Line) Record(mark int, limit time.Duration, match func(*transcript.Record) bool) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimit(l.ctx, limit)
	defer cancel()
	return l.Transcript.Await(ctx, mark, match)
}

// Await waits for a frame after a mark that is a matching JSON object, and returns the mark for what follows. It
// returns nil if none arrives in time or before the connection ends.
func (l *Line) Await(mark int, limit time.Duration, match func(map[string]any) bool) (found map[string]any, at int) {
	r, _ := l.Record(mark, limit, func(r *transcript.Record) bool {
		if r.Dir != transcript.Received {
			return false
		}
		if msg := Object(r.Bytes); r.Kind == transcript.Frame && msg != nil && match(msg) {
			found = msg
		}
		return found != nil || r.Kind == transcript.Closed || r.Kind == transcript.Failure
	})
	return found, r.N
}
