// Package agent is the bundled agent of the external-agent protocol: it books a ticket by following
// external-agent.zh.md as the project's rulings interpret it.
//
// Run joins the relay session, starts a study session, reads the state, and calls one tool after another until the
// host shows that the booking is done. Then it ends the session and closes the connection:
//
//	relay.join → relay.joined → session.start → session.started → snapshot.get → snapshot.state
//	tool.call → tool.result → state.updated                          again and again
//	session.end → session.ended → close 1000
//
// It acts only on the last authoritative state, that of the last state.updated or snapshot.state (EA-072), and never
// on a tool.result. It asks for a snapshot after a call that did not change the state and on every new connection
// (EA-076, EA-077).
//
// A Machine decides and does no I/O: OnEvent takes an event and returns actions. The loop around it owns the socket and
// the clock. The parts of the machine:
//
//   - machine, connection, session, call: the conversation, in the words of the source
//   - plan, screen, wish: the next step, from what the host shows and what the user said
//   - params, values, schema: parameters that the announced schema allows
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change envelopes, Options.Dial changes
// frames and connections. Mutants are built from these hooks, so this code contains no faults.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/defaults"
	"parley/reference-server/externalagent/wire"
)

// Options configures a Run. Only URL is required.
type Options struct {
	URL           string // of the relay's endpoint, path included; ws, wss, http or https
	Session       string // the relay session; default: proto.DefaultSession
	StudyID       string // default: "default"
	ParticipantID string // default: "default"

	MaxCalls int // maximum number of tool.calls; then the session is ended; default: 200
	// maximum wait for the state after a confirmed call before the agent asks for one; default: 1 s
	Patience time.Duration
	Backoff  Backoff       // between connections; zero fields are those of DefaultBackoff
	GiveUp   time.Duration // maximum time without a connection; default: 10 s
	Limits   Limits        // zero fields are those of DefaultLimits

	Policy   Policy       // makes a faulty agent
	Inbound  Inbound      // sees envelopes before the agent does; may be nil
	Outbound Outbound     // sees envelopes before the connection does; may be nil
	Dial     Dialer       // opens connections; default: WebSockets
	Log      *slog.Logger // one line per agent action; default: none
}

// Backoff is the delay before a new connection, and before a refused request is repeated: First, then doubled each
// time, up to Max.
type Backoff struct{ First, Max time.Duration }

// DefaultBackoff is the default Backoff of an agent.
var DefaultBackoff = Backoff{First: 5 * time.Millisecond, Max: 500 * time.Millisecond}

// Limits bounds message size and waits.
type Limits struct {
	Frame int64 // maximum bytes of a message; a longer one ends the connection with 1009

	Dial   time.Duration // opening handshake
	Join   time.Duration // wait for relay.joined; then the agent reconnects
	Answer time.Duration // wait for any other reply; then the state counts as stale
	Write  time.Duration // one write
	Close  time.Duration // the relay's half of a closing handshake
}

// DefaultLimits are the default limits of an agent.
var DefaultLimits = Limits{
	Frame:  16 << 20,
	Dial:   5 * time.Second,
	Join:   5 * time.Second,
	Answer: 5 * time.Second,
	Write:  10 * time.Second,
	Close:  time.Second,
}

// Inbound sees a decoded envelope and returns the envelopes to handle instead; an empty result drops it. The envelope
// may be changed in place. Inbound also sees objects that are not envelopes, but no other frames.
type Inbound func(v View, msg Message) []Message

// Outbound sees an outgoing envelope and sends its replacements: send may be called any number of times during the
// call.
type Outbound func(v View, msg Message, send func(msg Message))

// Outcome is the result of a Run.
type Outcome struct {
	Booked      bool   // a call was confirmed and nothing was left to do
	Ended       bool   // session.ended arrived, or the host later reported no active session
	Reason      string // as in session.end; "" if the run was cut short
	Calls       int    // tool.calls sent
	Failed      int    // tool.calls answered by an error or ok:false
	Connections int    // connections opened
	Session     string // the study session's id; "" if the host gave none
	LogFile     string // as in session.ended
}

// ErrNoConnection is wrapped by the error of a Run that was without a connection for Options.GiveUp.
var ErrNoConnection = errors.New("no connection")

func (o Options) withDefaults() Options {
	defaults.Fill(&o, Options{
		Session: proto.DefaultSession, StudyID: "default", ParticipantID: "default",
		MaxCalls: 200, Patience: time.Second, Backoff: DefaultBackoff, GiveUp: 10 * time.Second, Limits: DefaultLimits,
		Policy:   right,
		Inbound:  func(_ View, msg Message) []Message { return []Message{msg} },
		Outbound: func(_ View, msg Message, send func(Message)) { send(msg) },
		Log:      slog.New(slog.DiscardHandler),
	})
	if o.Dial == nil {
		o.Dial = dialer(o.Limits)
	}
	return o
}

// checkOptions rejects options that no retry can fix.
func (o Options) checkOptions() error {
	u, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("url of the relay: %w", err)
	}
	if !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) {
		return fmt.Errorf("url of the relay: %q is not ws, wss, http or https", o.URL)
	}
	if u.Host == "" {
		return fmt.Errorf("url of the relay: %q has no host", o.URL)
	}
	return nil
}

// Run runs the agent until it has ended its session or can't continue.
//
// It returns an error for an invalid URL, when ctx ends (it then closes with 1001), and after too long without a
// connection (ErrNoConnection). The Outcome is valid in each case. A run without a booking is not an error. Run
// leaves no goroutine behind.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if err := o.checkOptions(); err != nil {
		return Outcome{}, err
	}
	o = o.withDefaults()
	l := &loop{o: o, machine: NewMachine(o), reports: make(chan report), deadlines: map[Timer]time.Time{}}
	defer l.tasks.Wait()
	return l.runLoop(ctx)
}

// loop executes the actions of a Machine. Only the goroutine of run uses it, except where link says otherwise.
type loop struct {
	o         Options
	machine   *Machine
	reports   chan report
	deadlines map[Timer]time.Time
	link      *link // the last dialled connection; nil if there is none
	tasks     sync.WaitGroup
	finished  *Finish
}

// link is one connection, including its dialling. Its goroutine dials and then reads.
type link struct {
	ctx    context.Context
	cancel context.CancelFunc
	left   chan struct{} // closed when run ignores further reports
	socket Socket        // nil until run has received it in a report
}

// report is an event that a link's goroutine sends to run.
type report struct {
	from   *link
	socket Socket // set with Connected
	event  Event
}

func (l *loop) runLoop(ctx context.Context) (Outcome, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	l.handleReport(ctx, Started{})
	for l.finished == nil {
		name, at, armed := l.firstTimer()
		if armed {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			l.closeGracefully(websocket.StatusGoingAway, "the agent was stopped")
			return l.machine.Outcome(), fmt.Errorf("agent stopped: %w", context.Cause(ctx))
		case r := <-l.reports:
			if r.from != l.link {
				continue
			}
			if r.socket != nil {
				l.link.socket = r.socket
			}
			l.handleReport(ctx, r.event)
		case <-timer.C:
			delete(l.deadlines, name)
			l.handleReport(ctx, Fired{name})
		}
	}
	return l.finished.Outcome, l.finished.Err
}

// firstTimer returns the timer that fires first.
func (l *loop) firstTimer() (name Timer, at time.Time, armed bool) {
	for _, n := range slices.Sorted(maps.Keys(l.deadlines)) {
		if t := l.deadlines[n]; !armed || t.Before(at) {
			name, at, armed = n, t, true
		}
	}
	return name, at, armed
}

func (l *loop) handleReport(ctx context.Context, e Event) {
	if _, ended := e.(Disconnected); ended {
		l.dropConnection()
	}
	for _, a := range l.machine.OnEvent(e) {
		l.doActions(ctx, a)
	}
}

func (l *loop) doActions(ctx context.Context, a Action) {
	switch a := a.(type) {
	case Dial:
		l.dialOnce(ctx)
	case Send:
		l.writeMessage(a.Message)
	case Drop:
		l.closeGracefully(websocket.StatusGoingAway, "")
	case Arm:
		l.deadlines[a.Timer] = time.Now().Add(a.After)
	case Disarm:
		delete(l.deadlines, a.Timer)
	case Note:
		l.o.Log.Info(a.Text, a.Args...)
	case Finish:
		l.closeGracefully(websocket.StatusNormalClosure, "")
		l.finished = &a
	}
}

// dialOnce opens a connection. Its context does not end with ctx, so that a stopped agent can still close it politely.
func (l *loop) dialOnce(ctx context.Context) {
	l.dropConnection()
	k := &link{left: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.link = k
	l.tasks.Go(func() { l.connectLink(k) })
}

// connectLink dials a link and reads from it, in the link's goroutine.
func (l *loop) connectLink(k *link) {
	defer k.cancel()
	ctx, cancel := context.WithTimeout(k.ctx, l.o.Limits.Dial)
	socket, err := l.o.Dial(ctx, l.o.URL)
	cancel()
	if err != nil {
		l.sendReport(report{from: k, event: Disconnected{err}})
		return
	}
	defer func() { _ = socket.CloseNow() }()
	if !l.sendReport(report{from: k, socket: socket, event: Connected{}}) {
		return
	}
	for {
		kind, data, err := socket.Read(k.ctx)
		if err != nil {
			l.sendReport(report{from: k, event: Disconnected{err}})
			return
		}
		// after the link is left, reading continues for the relay's half of the closing handshake
		l.sendReport(report{from: k, event: eventOf(kind, data)})
	}
}

// sendReport sends a report, unless the link has been left.
func (l *loop) sendReport(r report) bool {
	select {
	case l.reports <- r:
		return true
	case <-r.from.left:
		return false
	}
}

// eventOf converts a frame into an event.
func eventOf(kind websocket.MessageType, data []byte) Event {
	if kind != websocket.MessageText {
		return Junk{Oddity{Kind: NoText, Why: fmt.Sprintf("%d bytes", len(data)), Data: data}}
	}
	msg, err := decodeObject(data)
	if err != nil {
		return Junk{Oddity{Kind: NoObject, Why: err.Error(), Data: data}}
	}
	return Received{msg}
}

// writeMessage writes a message. If that fails it ends the connection, and the link's goroutine reports that.
func (l *loop) writeMessage(msg Message) {
	k := l.link
	if k == nil || k.socket == nil {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, l.o.Limits.Write)
	defer cancel()
	if err := k.socket.Write(ctx, websocket.MessageText, wire.Encode(msg)); err != nil {
		l.o.Log.Info("not written", "type", msg.Type(), "err", err)
		k.cancel()
	}
}

// closeGracefully closes the connection with a handshake, within the limit.
func (l *loop) closeGracefully(code websocket.StatusCode, reason string) {
	k := l.link
	if k == nil {
		return
	}
	close(k.left)
	if k.socket != nil {
		late := time.AfterFunc(l.o.Limits.Close, k.cancel)
		_ = k.socket.Close(code, reason)
		late.Stop()
	}
	k.cancel()
	l.link = nil
}

// dropConnection forgets a connection that has ended.
func (l *loop) dropConnection() {
	if k := l.link; k != nil {
		close(k.left)
		k.cancel()
		l.link = nil
	}
}
