package steps

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/deadline"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Severer is an optional interface of protocols whose connections can be cut at every point of a course.
type Severer interface {
	// Courses returns the courses for targets of a role; none if the source promises nothing to a party that reconnects.
	Courses(role string) []Course
}

// Counter is an optional interface of protocols in which the records of a course are not exactly those of one
// connection: for instance, the requests that belong to an event stream count as well.
type Counter interface {
	// CountsRecord reports whether a record, which may not have been decoded, counts as a record of a party's
	// connection.
	CountsRecord(r *transcript.Record, party string) bool
}

// Course is a sequence of steps up to a cut of one party's connection, and the steps that judge once that party is
// back.
type Course struct {
	ID    string   // short, in kebab case, unique within its protocol
	Name  string   // for people
	Party string   // whose connection is cut: its first one in the scenario
	Lines []string // up to the cut, as Gherkin with keywords; they judge nothing after the cut
	Back  []string // after the cut, beginning with ComesBack
	Tags  []string // the clauses that are judged, and what the course needs
	Only  []Way    // the ways in which the connection is cut; nil: all
}

// Ways returns the ways in which the connection of the course is cut.
func (c Course) Ways() []Way {
	if c.Only != nil {
		return c.Only
	}
	return []Way{ByReset, ByClose, ByFin, ByKill}
}

// Way is how a connection is cut.
type Way string

// The ways.
const (
	ByReset Way = "reset" // the transport is reset: over TCP by RST
	ByClose Way = "close" // the party closes it, with a closing handshake if the transport has one
	ByFin   Way = "fin"   // the sending side is ended without a closing handshake: over TCP by FIN
	ByKill  Way = "kill"  // the target's process is killed and started again
)

// ComesBack is the first line after a cut. It waits until the connection is cut; a scenario whose course ends before
// the cut is not tested.
const ComesBack = "When the cut has happened"

const (
	severs    = `^the connection of ([\w ]+) is cut after its record (\d+) by (reset|close|fin|kill)$`
	comesBack = `^the cut has happened$`
)

// Severs returns the first line of a scenario in which a party's connection is cut after a record, counted from 1; 0
// cuts it at the end of the course.
func Severs(c Course, record int, by Way) string {
	return fmt.Sprintf("Given the connection of %s is cut after its record %d by %s", c.Party, record, by)
}

// CountsRecord reports whether a record counts as a record of a party's connection.
func CountsRecord(p Protocol, r *transcript.Record, party string) bool {
	if c, ok := p.(Counter); ok {
		return c.CountsRecord(r, party)
	}
	return r.Conn == party && r.Kind != transcript.Remark
}

// SeveredAt is the beginning of the remark that is recorded when a connection is cut.
const SeveredAt = "cut after record "

// NoCut is the beginning of the reason of a scenario whose connection was not cut, because its course ended first.
const NoCut = "the cut did not happen: "

var errSevered = errors.New("the connection was cut on purpose")

// pendingCut is a cut that a scenario waits for.
type pendingCut struct {
	w        *World
	protocol Protocol
	party    string
	at       int
	by       Way

	mu      sync.Mutex
	conn    driver.Conn
	seen    int  // records of the party's connection
	busy    int  // sends and openings in progress: they end before the cut, so that what was sent is known
	due     bool // the record has been seen
	firedAt bool
	fired   chan struct{} // closed when the connection is about to be cut
	done    chan struct{} // closed when it has been cut, and err is set
	err     error
	back    bool // the party is back: everything counts again; used by the steps' goroutine
}

// Severed tells the steps of a protocol that the connection of a party was cut, and how. It is called once,
// from the steps' goroutine, when nothing more can arrive on that connection.
type Severed func(party string, by Way) error

// registerSevering registers the two steps of scenarios in which a connection is cut.
func registerSevering(sc *godog.ScenarioContext, p Protocol, world func() *World) {
	Step(sc, severs, func(party string, at int, by string) error {
		w := world()
		w.severing = &pendingCut{w: w, protocol: p, party: party, at: at, by: Way(by), fired: make(chan struct{}),
			done: make(chan struct{})}
		return nil
	})
	Step(sc, comesBack, func(ctx context.Context) error { return world().comesBack(ctx) })
}

// IsSevered reports whether the connection has been cut and the party is not back yet: a running step then does nothing
// more.
func (w *World) IsSevered() bool { return w.isSevered() }

// UntilSevered returns a context that also ends with the cut, for waits that World.Await does not do, and a function
// that releases it.
func (w *World) UntilSevered(ctx context.Context) (context.Context, func()) {
	return w.untilSevered(ctx)
}

// isSevered reports whether the connection has been cut and the party is not back yet.
func (w *World) isSevered() bool {
	c := w.severing
	if c == nil || c.back {
		return false
	}
	select {
	case <-c.fired:
		return true
	default:
		return false
	}
}

// untilSevered returns a context that also ends with the cut.
func (w *World) untilSevered(ctx context.Context) (context.Context, func()) {
	c := w.severing
	if c == nil || c.back {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-c.fired:
			cancel(errSevered)
		case <-over:
		}
	})
	return ctx, func() { close(over); watch.Wait(); cancel(nil) }
}

// countingSink is the sink of a party's connection, which counts its records.
func (c *pendingCut) countingSink(r transcript.Record) int {
	n := c.w.T.Append(r)
	if !CountsRecord(c.protocol, &r, c.party) || r.Late {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	if c.seen == c.at {
		c.due = true
	}
	c.cutIfDue()
	return n
}

// cutIfDue cuts the connection if the cut is due. The caller holds c.mu.
func (c *pendingCut) cutIfDue() {
	if !c.due || c.busy > 0 || c.firedAt || c.conn == nil {
		return
	}
	c.firedAt = true
	c.w.T.Remark(c.party, SeveredAt+"%d of this connection, by %s", c.seen, c.by)
	close(c.fired)
	go c.cutConnection(c.conn)
}

func (c *pendingCut) cutConnection(conn driver.Conn) {
	defer close(c.done)
	how := map[Way]driver.CloseMode{ByReset: driver.Abort, ByClose: driver.Graceful, ByFin: driver.Fin,
		ByKill: driver.Reset}[c.by]
	if c.by == ByKill {
		ctx, cancel := deadline.WithLimit(context.Background(), time.Minute)
		defer cancel()
		c.err = c.w.Target.Restart(ctx, true)
	}
	_ = conn.Close(how) // after a kill it has already ended
}

// beginSend notes that a send or an opening begins, unless the connection has been cut; leave notes its end.
func (c *pendingCut) beginSend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firedAt {
		return false
	}
	c.busy++
	return true
}

func (c *pendingCut) endSend(opened driver.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if opened != nil {
		c.conn = opened
	}
	c.cutIfDue()
}

// severableConn is the connection that will be cut.
type severableConn struct {
	driver.Conn
	c *pendingCut
}

// wrapConn returns a connection that reports its sends; nil for nil.
func (c *pendingCut) wrapConn(conn driver.Conn) driver.Conn {
	if conn == nil {
		return nil
	}
	return &severableConn{conn, c}
}

func (s *severableConn) Send(ctx context.Context, m driver.Message) (int, error) {
	if !s.c.beginSend() { // it is being cut
		return 0, driver.ErrClosed
	}
	defer s.c.endSend(nil)
	return s.Conn.Send(ctx, m)
}

// isSeverable reports whether the connection that a party is about to open is the one to cut: its first.
func (w *World) isSeverable(party string) bool {
	c := w.severing
	return c != nil && c.party == party && c.conn == nil && !c.back
}

// comesBack waits for the cut, and tells the protocol that the connection is lost.
func (w *World) comesBack(ctx context.Context) error {
	c := w.severing
	c.mu.Lock()
	if c.at == 0 {
		c.due = true
	}
	c.cutIfDue()
	if c.due && !c.firedAt && c.conn != nil { // a send is in progress: the cut comes after it
		c.mu.Unlock()
		select {
		case <-c.fired:
		case <-ctx.Done():
		}
		c.mu.Lock()
	}
	happened, seen := c.firedAt, c.seen
	if !happened {
		c.conn = nil // so that it is not cut later either
	}
	c.mu.Unlock()
	if !happened {
		c.back = true
		return NotTestedf(NoCut+"the connection of %s had %d records, and it was to be cut after %d",
			c.party, seen, c.at)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return NotTestedf("the connection of %s could not be cut: %v", c.party, context.Cause(ctx))
	}
	c.back = true
	var missing *target.NotDeclaredError
	switch {
	case errors.As(c.err, &missing):
		return NotTestedf("%v", c.err)
	case c.err != nil:
		return NotTestedf("the target could not be killed and started again: %v", c.err)
	case w.Severed == nil:
		return nil
	}
	return w.Severed(c.party, c.by)
}

// openConn opens a connection, including the one to cut.
func (w *World) openConn(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	if !w.isSeverable(o.Party) {
		return w.Env.Driver.Open(ctx, o, w.gatewaySink(w.T.Append))
	}
	c := w.severing
	_ = c.beginSend() // nothing has been cut
	conn, err := w.Env.Driver.Open(ctx, o, w.gatewaySink(c.countingSink))
	c.endSend(conn)
	return c.wrapConn(conn), err
}

// Sink returns the sink for connections that parties open to the harness. In a scenario with a cut, it counts the
// records of the connection to cut.
func (w *World) Sink() driver.Sink {
	if w.severing != nil {
		return w.severing.countingSink
	}
	return w.T.Append
}

// Accepted returns the connection that a party has opened to the harness, wrapped if it is the one to cut. It may be
// called from any goroutine.
func (w *World) Accepted(party string, conn driver.Conn) driver.Conn {
	c := w.severing
	if c == nil || c.party != party {
		return conn
	}
	if c.beginSend() {
		c.endSend(conn)
	}
	return c.wrapConn(conn)
}
