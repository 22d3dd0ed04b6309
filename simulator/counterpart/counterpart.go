// Package counterpart plays a party of a protocol for a user's program: the server for a client, the relay for an
// agent, an agent for a relay, the model for a server. A Play has one of four minds, for all messages or for those of
// some types, which may change at any time:
//
//   - Auto: the bundled target answers.
//   - Ask: the bundled target answers, but each message to the program is held until a decision is made.
//   - Script: a script answers (package simulator/script). Messages that no rule matches go to the bundled target if
//     there is one.
//   - Mutant: the bundled target answers with one of the faults of its catalogue.
//
// Instead of the bundled target, a user's server can answer (Options.Between): Ask then intercepts the messages between
// the two.
//
// A Play is a gate (package simulator/gate) between the program and the bundled target; the gate's Handler applies the
// mind. The transcript has the messages that the program sent and got. The package knows no protocol, and no bundled
// target: see Options.
package counterpart

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/script"
	"parley/simulator/fault"
	"parley/simulator/gate"
	"parley/simulator/judge"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Mind says who decides which messages the program gets.
type Mind string

// The minds.
const (
	Auto   Mind = "auto"
	Ask    Mind = "ask"
	Script Mind = "script"
	Mutant Mind = "mutant"
)

// Minds lists the minds.
func Minds() []Mind { return []Mind{Auto, Ask, Script, Mutant} }

// HoldFor is the default of Options.HoldFor.
const HoldFor = time.Minute

// MaxHeld is the maximum number of held messages. Further ones are sent on at once, with a remark.
const MaxHeld = 1000

// Peer is a bundled target that answers.
type Peer struct {
	URL  string // base URL; "" if it connects by itself
	Stop func() // may be called once
}

// Options configure a Play.
type Options struct {
	Protocol string // id of the protocol
	As       string // the party, such as "server"

	Listen  string // a party that is a server: host:port; default 127.0.0.1:0
	Connect string // a party that is a client: the base URL of the program; "": the party is a server

	// Start starts the bundled target that answers, correct for mutant "". A party that is a client connects to url,
	// which leads to the program. nil: only a script can answer.
	Start func(ctx context.Context, mutant, url string) (Peer, error)

	// Between says that Start leads to a user's server, not to a bundled target: the mind Ask then also holds the
	// program's messages.
	Between bool

	// TypeOf returns the type of a message in the protocol; "" if it has none. nil: no message has one.
	TypeOf func(body []byte) string

	Mind   Mind           // default Auto; Mutant if there is a Mutant, Script if there is a Script and no Start
	Script *script.Script // for the mind Script; may be set later
	Mutant string         // for the mind Mutant: id of the fault; may be set later

	// Steps, if not nil, is the protocol whose passive monitors judge the program's messages (package simulator/judge).
	Steps steps.Protocol

	// Faults, if not nil, decides on the messages between the program and the party, whatever the mind. The transcript
	// has the messages that the party gets and sends, and a remark for each fault that fires; the program is judged by
	// the messages that it sends and gets itself.
	Faults *fault.Faults

	// Unreachable, if not nil, is called, from any goroutine, when a party that is a client cannot reach the program,
	// with a text for people. It is called once for each text.
	Unreachable func(text string)

	HoldFor  time.Duration // a message without a decision is sent on after this time; default HoldFor
	Redactor *transcript.Redactor
}

// Play is a party that is being played. It is safe for concurrent use.
type Play struct {
	o     Options
	t     *transcript.Transcript
	gate  *gate.Gate
	front *gate.Gate             // with Options.Faults: between the program and the gate; nil: none
	own   *transcript.Transcript // with Options.Faults: the messages that the program itself sent and got
	base  string                 // base URL of a program that is a server
	path  string                 // the path of that program's URL after its base
	ctx   context.Context        // ends with the play
	end   context.CancelFunc
	work  sync.WaitGroup // of scripts
	judge *judge.Judge   // nil: not judged

	told     sync.Map   // texts of Options.Unreachable
	relaunch sync.Mutex // held while the bundled target is replaced
	ending   sync.Once

	mu      sync.Mutex
	peer    Peer
	mind    Mind
	of      map[string]Mind // by type
	mutant  string          // that answers now
	script  *script.Script
	engine  *script.Engine
	heard   map[string][]string      // by stream: the texts in the script's messages on it, see streamOf
	sent    map[string]*numbering    // by connection
	prompt  map[string]chan struct{} // by connection: closed when what answers its messages at once has gone out
	held    []*held
	serial  int
	changed chan struct{} // closed at the next change
	closed  bool
}

// Open plays a party. It returns once the party listens or, as a client, has been started. The error names a wrong
// option, or is that of Start or of the address. The play ends with ctx or by Close.
func Open(ctx context.Context, o Options) (*Play, error) {
	if err := o.completeOptions(); err != nil {
		return nil, err
	}
	records, err := transcript.NewSpilling(nil, transcript.Keep{})
	if err != nil {
		return nil, err
	}
	p := &Play{o: o, t: records, mind: o.Mind, of: map[string]Mind{}, heard: map[string][]string{},
		prompt: map[string]chan struct{}{}, sent: map[string]*numbering{},
		changed: make(chan struct{})}
	if err := p.splitURL(); err != nil {
		_ = records.Close()
		return nil, err
	}
	if err := p.makeJudge(); err != nil {
		p.closeTranscripts()
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(ctx)
	g := gate.Options{Addr: o.Listen, Sink: p.sinkInto(records), Handle: p.decideMessage, Upstream: p.upstreamURL}
	if o.Connect != "" {
		g.Addr, g.Program = "", gate.Server
	}
	if err := p.openGates(g); err != nil {
		p.end()
		p.closeTranscripts()
		return nil, err
	}
	p.makeEngine(o.Script)
	if err := p.startBundled(ctx, o.Mutant); err != nil {
		p.Close()
		return nil, err
	}
	if o.Mind == Script {
		p.performFirst()
	}
	context.AfterFunc(p.ctx, p.Close)
	return p, nil
}

// closeTranscripts closes the transcripts.
func (p *Play) closeTranscripts() {
	_ = p.t.Close()
	if p.own != nil {
		_ = p.own.Close()
	}
}

// openGates opens the gate and, with faults, another one between it and the program.
func (p *Play) openGates(g gate.Options) (err error) {
	if p.o.Faults == nil {
		p.gate, err = gate.New(g)
		return err
	}
	p.o.Faults.Notify(func(conn, text string) { p.t.Remark(conn, "%s", text) })
	front := gate.Options{Handle: p.applyFaults, Program: p.programSide()}
	if p.own != nil {
		front.Sink = p.sinkInto(p.own)
	}
	if p.o.Connect != "" {
		base := p.base
		front.Upstream = func() string { return base }
		if p.front, err = gate.New(front); err != nil {
			return err
		}
		p.base = p.front.URL()
		if p.gate, err = gate.New(g); err != nil {
			p.front.Close()
		}
		return err
	}
	front.Addr, g.Addr = g.Addr, ""
	if p.gate, err = gate.New(g); err != nil {
		return err
	}
	front.Upstream = p.gate.URL
	if p.front, err = gate.New(front); err != nil {
		p.gate.Close()
	}
	return err
}

// completeOptions checks the options and fills in their defaults.
func (o *Options) completeOptions() error {
	switch {
	case o.Mind != "":
	case o.Mutant != "":
		o.Mind = Mutant
	case o.Script != nil && o.Start == nil:
		o.Mind = Script
	default:
		o.Mind = Auto
	}
	if o.HoldFor <= 0 {
		o.HoldFor = HoldFor
	}
	if o.TypeOf == nil {
		o.TypeOf = func([]byte) string { return "" }
	}
	if o.Redactor == nil {
		o.Redactor = transcript.NewRedactor()
	}
	if o.Connect != "" && o.Listen != "" {
		return fmt.Errorf("%s connects to the program and does not listen: give --connect or --listen, not both", o.As)
	}
	if o.Script != nil {
		if err := o.Script.Plays(o.Protocol, o.As); err != nil {
			return err
		}
	}
	if o.Mutant != "" && o.Mind != Mutant {
		return fmt.Errorf("the mutant %s answers with the mind mutant only, and this is %s", o.Mutant, o.Mind)
	}
	return o.checkMind(o.Mind, o.Script, o.Mutant)
}

// splitURL splits the program's URL.
func (p *Play) splitURL() error {
	if p.o.Connect == "" {
		return nil
	}
	u, err := url.Parse(p.o.Connect)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return fmt.Errorf("%q is not the URL of a server (write it like http://localhost:3000)", p.o.Connect)
	}
	p.base, p.path = u.Scheme+"://"+u.Host, u.RequestURI()
	if p.path == "/" {
		p.path = ""
	}
	return nil
}

// checkMind returns an error that says what a mind lacks.
func (o *Options) checkMind(m Mind, s *script.Script, mutant string) error {
	switch {
	case !slices.Contains(Minds(), m):
		return fmt.Errorf("there is no mind %q (there are auto, ask, script and mutant)", m)
	case m != Script && o.Start == nil:
		return fmt.Errorf("there is no bundled %s that answers: play it by a script (mind script)", o.As)
	case m == Script && s == nil:
		return errors.New("the mind script needs a script")
	case m == Mutant && mutant == "":
		return errors.New("the mind mutant needs the name of a mutant")
	}
	return nil
}

// upstreamURL is where the gate connects to: the bundled target, or the program.
func (p *Play) upstreamURL() string {
	if p.o.Connect != "" {
		return p.base
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mind == Script {
		return ""
	}
	return p.peer.URL
}

// startBundled starts the bundled target, with a fault or without.
func (p *Play) startBundled(ctx context.Context, mutant string) error {
	if p.o.Start == nil {
		return nil
	}
	if p.o.Connect != "" && p.o.Mind == Script { // the script connects
		return nil
	}
	peer, err := p.o.Start(ctx, mutant, p.gate.URL()+p.path)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.peer, p.mutant = peer, mutant
	p.mu.Unlock()
	return nil
}

// Protocol returns the id of the protocol.
func (p *Play) Protocol() string { return p.o.Protocol }

// As returns the party that is played.
func (p *Play) As() string { return p.o.As }

// URL returns where the program reaches the party or, for a party that is a client, the program's URL.
func (p *Play) URL() string {
	if p.o.Connect != "" {
		return p.o.Connect
	}
	if p.front != nil {
		return p.front.URL()
	}
	return p.gate.URL()
}

// Transcript returns the transcript of the messages that the program sent and got, which keeps growing. Older records
// are in a temporary file until Close, which keeps only the newest.
func (p *Play) Transcript() *transcript.Transcript { return p.t }

// Redact removes secrets from a text that leaves the process.
func (p *Play) Redact(text string) string { return p.o.Redactor.String(text) }

// Faults reports what each of Options.Faults has done, in the order of the file.
func (p *Play) Faults() []fault.Fired {
	if p.o.Faults == nil {
		return nil
	}
	return p.o.Faults.Fired()
}

// Parties returns the names of the open connections, oldest first.
func (p *Play) Parties() []string {
	var out []string
	for _, c := range p.gate.Connections() {
		out = append(out, c.Name)
	}
	return out
}

// Close ends all connections and the bundled target, and waits for their end. It may be called again.
func (p *Play) Close() { p.ending.Do(p.close) }

func (p *Play) close() {
	p.mu.Lock()
	p.closed = true
	peer := p.peer
	p.wakeWaiters()
	p.mu.Unlock()
	p.end()
	p.dropHeld()
	p.gate.Shutdown(gate.Message{Status: int(websocket.StatusGoingAway), Body: []byte(p.o.As + " closes")})
	p.gate.Close()
	if p.front != nil {
		p.front.Close()
	}
	p.work.Wait()
	if peer.Stop != nil {
		peer.Stop()
	}
	if p.judge != nil {
		p.judge.Check() // while all records are available
	}
	p.closeTranscripts()
}

// Changed returns a channel that closes when a message is held or no longer held, or the mind changes.
func (p *Play) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// wakeWaiters wakes the goroutines that wait for a change. The caller holds p.mu.
func (p *Play) wakeWaiters() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Send sends a message to the program on an open connection, whatever the mind.
func (p *Play) Send(ctx context.Context, party string, body []byte) error {
	return p.gate.Send(ctx, party, p.programSide(), gate.Message{Body: body})
}

// Hang ends an open connection.
func (p *Play) Hang(party string, how driver.CloseMode) error { return p.gate.End(party, how) }

// programSide returns the side of the program.
func (p *Play) programSide() gate.Side {
	if p.o.Connect != "" {
		return gate.Server
	}
	return gate.Client
}

// Follow reports each record after mark as it comes, until ctx ends, and returns the number of the last one. It calls
// tell from one goroutine; records queue up meanwhile.
func (p *Play) Follow(ctx context.Context, mark int, tell func(transcript.Record)) int {
	for {
		_, err := p.t.Await(ctx, mark, func(r *transcript.Record) bool { return r.N > mark })
		for _, r := range p.t.After(mark) {
			mark = r.N
			tell(r)
		}
		if err != nil {
			return mark
		}
	}
}
