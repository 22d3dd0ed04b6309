package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/reference-server/externalagent/wire"
)

// Run runs the agent until it has ended its session or can't continue.
//
// It returns an error for an invalid URL, when ctx ends (it then closes with 1001), and after too long without a
// connection (ErrNoConnection). The Outcome is valid in each case. A run without a booking is not an error. Run
// leaves no goroutine behind.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if err := o.check(); err != nil {
		return Outcome{}, err
	}
	o = o.withDefaults()
	l := &loop{o: o, machine: NewMachine(o), reports: make(chan report), deadlines: map[Timer]time.Time{}}
	defer l.tasks.Wait()
	return l.run(ctx)
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

func (l *loop) run(ctx context.Context) (Outcome, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	l.handle(ctx, Started{})
	for l.finished == nil {
		name, at, armed := l.first()
		if armed {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			l.leave(websocket.StatusGoingAway, "the agent was stopped")
			return l.machine.Outcome(), fmt.Errorf("agent stopped: %w", context.Cause(ctx))
		case r := <-l.reports:
			if r.from != l.link {
				continue
			}
			if r.socket != nil {
				l.link.socket = r.socket
			}
			l.handle(ctx, r.event)
		case <-timer.C:
			delete(l.deadlines, name)
			l.handle(ctx, Fired{name})
		}
	}
	return l.finished.Outcome, l.finished.Err
}

// first returns the timer that fires first.
func (l *loop) first() (name Timer, at time.Time, armed bool) {
	for _, n := range slices.Sorted(maps.Keys(l.deadlines)) {
		if t := l.deadlines[n]; !armed || t.Before(at) {
			name, at, armed = n, t, true
		}
	}
	return name, at, armed
}

func (l *loop) handle(ctx context.Context, e Event) {
	if _, ended := e.(Disconnected); ended {
		l.drop()
	}
	for _, a := range l.machine.OnEvent(e) {
		l.do(ctx, a)
	}
}

func (l *loop) do(ctx context.Context, a Action) {
	switch a := a.(type) {
	case Dial:
		l.dial(ctx)
	case Send:
		l.send(a.Message)
	case Drop:
		l.leave(websocket.StatusGoingAway, "")
	case Arm:
		l.deadlines[a.Timer] = time.Now().Add(a.After)
	case Disarm:
		delete(l.deadlines, a.Timer)
	case Note:
		l.o.Log.Info(a.Text, a.Args...)
	case Finish:
		l.leave(websocket.StatusNormalClosure, "")
		l.finished = &a
	}
}

// dial opens a connection. Its context does not end with ctx, so that a stopped agent can still close it politely.
func (l *loop) dial(ctx context.Context) {
	l.drop()
	k := &link{left: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.link = k
	l.tasks.Go(func() { l.connect(k) })
}

// connect dials a link and reads from it, in the link's goroutine.
func (l *loop) connect(k *link) {
	defer k.cancel()
	ctx, cancel := context.WithTimeout(k.ctx, l.o.Limits.Dial)
	socket, err := l.o.Dial(ctx, l.o.URL)
	cancel()
	if err != nil {
		l.report(report{from: k, event: Disconnected{err}})
		return
	}
	defer func() { _ = socket.CloseNow() }()
	if !l.report(report{from: k, socket: socket, event: Connected{}}) {
		return
	}
	for {
		kind, data, err := socket.Read(k.ctx)
		if err != nil {
			l.report(report{from: k, event: Disconnected{err}})
			return
		}
		// after the link is left, reading continues for the relay's half of the closing handshake
		l.report(report{from: k, event: eventOf(kind, data)})
	}
}

// report sends a report, unless the link has been left.
func (l *loop) report(r report) bool {
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
	msg, err := decode(data)
	if err != nil {
		return Junk{Oddity{Kind: NoObject, Why: err.Error(), Data: data}}
	}
	return Received{msg}
}

// send writes a message. If that fails it ends the connection, and the link's goroutine reports that.
func (l *loop) send(msg Message) {
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

// leave closes the connection with a handshake, within the limit.
func (l *loop) leave(code websocket.StatusCode, reason string) {
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

// drop forgets a connection that has ended.
func (l *loop) drop() {
	if k := l.link; k != nil {
		close(k.left)
		k.cancel()
		l.link = nil
	}
}
