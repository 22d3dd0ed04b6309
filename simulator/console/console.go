// Package console serves live sessions over HTTP: the API that openapi.yaml describes, and the page that uses it. There
// are three kinds of session: a test plays the parties that talk to a target (package simulator), a play plays the
// other side for a user's program (Player), and a replay shows a recording. The package knows no protocol and starts
// nothing by itself: it calls functions of Options for that.
package console

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"sync"

	"parley/reports"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/fault"
	"parley/steps"
	"parley/transport/transcript"
)

//go:embed all:page
var page embed.FS

//go:embed openapi.yaml
var openAPI []byte

// Bounds of a console.
const (
	MaxSessions = 64       // open and ended ones; DELETE makes room
	MaxBody     = 8 << 20  // bytes of a request
	MaxUpload   = 64 << 20 // bytes of one that begins a session, which may have a recording
)

// Options configure a console. Functions are called concurrently. Their errors are answered with status 400, or with
// the status of an *Error. If a function is nil, the console does not offer its feature.
type Options struct {
	// Hosts are the names by which the console may be called, besides localhost and IP addresses.
	Hosts []string
	// AnyHost admits every name, for a console that requires a token: a page that rebinds a name does not have the token.
	AnyHost bool
	// Exposed allows plays that other machines can reach.
	Exposed bool

	// Open opens a session with a target. It lasts until ctx ends or it is closed.
	Open func(ctx context.Context, o TestOptions) (*simulator.Session, error)
	// Run runs the suite against a target, and reports to the observer, which is never nil.
	Run func(ctx context.Context, o TestOptions, out string, tell runner.Observer) (*reports.Results, error)
	// Play plays a party. It lasts until ctx ends or it is closed.
	Play func(ctx context.Context, o PlayOptions) (Player, error)
	// TypeOf returns the type of a message of a protocol; "" if it has none. It is used for messages that no binding has
	// decoded.
	TypeOf func(protocol string, body []byte) string

	// Program is the name of the program and its version, for the files that it writes.
	Program string

	// Endpoints returns the URLs, with their paths, at which a program connects to a party whose base URL is given, the
	// one that most programs use first. Nil: none is known.
	Endpoints func(protocol, as, base string) []string
	// Again returns the command line that judges a clause again as in a session; "" if there is none. strict is that of
	// a test.
	Again func(s Session, strict bool, clause string) string

	// Warn is PlayOptions.Warn of all plays.
	Warn func(text string)

	Protocols func() []Protocol
	Clauses   func(protocol string) ([]Clause, error)
	Mutants   func(protocol, role, q string) ([]Mutant, error)
	Scripts   func(protocol string) ([]Script, error)
	Schemas   func(protocol string) ([]Schema, error)
}

// TestOptions say which target a test session talks to.
type TestOptions struct {
	Protocol string // "": that of the profile, or the first
	Target   string // a URL, the file of a profile, or "" for the bundled target
	Role     string // of the target; "": the default one
	Driver   string // "": the first that the target declares
	Strict   bool
}

// PlayOptions say which party is played.
type PlayOptions struct {
	Protocol string
	As       string // the party, such as "server"
	Mind     string // auto, ask, script or mutant; "": the default one
	Mutant   string // id of the fault
	Script   string // name of a ready script, or the text of one
	Listen   string // address of a party that is a server; "": a free port of the loopback interface
	Connect  string // base URL of the program, for a party that is a client
	Faults   string // text of a file of faults, for the messages between the program and the party; "": none
	To       string // base URL of a user's server that answers instead of the bundled one; "": none

	// Warn, if not nil, is called, from any goroutine, with what the user of the program should know, such as that a
	// party cannot reach the program.
	Warn func(text string)

	// Found is called, from any goroutine, with each finding of monitors in the messages between the program and To, and
	// with the record that shows it.
	Found func(f steps.Failure, at transcript.Record)
}

// Protocol is a protocol whose parties can be played.
type Protocol struct {
	ID      string   `json:"id"`
	Roles   []string `json:"roles"`   // of targets, the default one first
	As      []string `json:"as"`      // parties that a play can be
	Clients []string `json:"clients"` // those of As that connect to the program
	Scripts []string `json:"scripts"` // those of As that no bundled target plays, but a script
	Drivers []string `json:"drivers"` // transports
}

// Clause is a clause of a protocol.
type Clause struct {
	ID      string `json:"id"`
	Level   string `json:"level"`
	Section string `json:"section"`
	Text    string `json:"text"`   // in English
	Source  string `json:"source"` // the sentence of the source, in its language
	Status  string `json:"status"` // tested or excluded
	Reason  string `json:"reason,omitempty"`
}

// Mutant is a fault that a bundled target can have.
type Mutant struct {
	ID      string   `json:"id"`
	Role    string   `json:"role"`
	Why     string   `json:"why"`
	Clauses []string `json:"clauses"` // that it breaks
}

// Script is a ready script.
type Script struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	As       string `json:"as"`
	Title    string `json:"title"`
	Source   string `json:"source"` // its YAML
}

// Schema is the JSON Schema of a message.
type Schema struct {
	Type   string `json:"type"`   // of the message
	From   string `json:"from"`   // the party that sends it; "" for any
	Schema any    `json:"schema"` // JSON Schema, draft 2020-12
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
}

// Console is an http.Handler. It is safe for concurrent use.
type Console struct {
	o    Options
	mux  *http.ServeMux
	ctx  context.Context // ends with the console
	end  context.CancelFunc
	page fs.FS

	mu       sync.Mutex
	sessions []*session // in the order of their beginning
	starting int        // sessions that are being opened
	serial   int
	closed   bool
	work     sync.WaitGroup
}

// New makes a console without sessions.
func New(o Options) (*Console, error) {
	if o.Open == nil {
		return nil, errors.New("console: Options.Open is missing")
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	c := &Console{o: o, mux: http.NewServeMux(), page: files}
	c.ctx, c.end = context.WithCancel(context.Background())
	for _, r := range c.listRoutes() {
		c.mux.Handle(r.method+" "+prefix+r.path, r)
	}
	c.mux.HandleFunc(prefix+"/", c.notFound)
	c.mux.HandleFunc("/", c.servePage)
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	if err := c.admitOrigin(r); err != nil {
		answerError(w, err)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// PlayReport says what a play has found, and what its faults have done.
type PlayReport struct {
	Session  Session
	Findings []Failure
	Faults   []fault.Fired
}

// Plays reports about all plays, also after Close.
func (c *Console) Plays() (out []PlayReport) {
	c.mu.Lock()
	all := slices.Clone(c.sessions)
	c.mu.Unlock()
	for _, s := range all {
		if s.kind == kindPlay {
			out = append(out, PlayReport{s.sessionView(), s.allFindings(), s.player.Faults()})
		}
	}
	return out
}

// Close ends all sessions and streams, and waits for the sessions. It may be called again.
func (c *Console) Close() {
	c.mu.Lock()
	c.closed = true
	all := slices.Clone(c.sessions)
	c.mu.Unlock()
	c.end()
	for _, s := range all {
		c.work.Go(s.closeSession)
	}
	c.work.Wait()
}
