package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"parley/internal/deadline"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// Bounds of what is compared at a time.
const (
	maxBatch      = 1000
	maxBatchBytes = 8 << 20
)

// side is the party that a replay plays.
type side interface {
	// dir is that of the other side's records, in a recording.ClientView.
	dir() transcript.Dir
	// act plays a record of this side. The errors are those that end the replay.
	act(context.Context, transcript.Record) error
	// thread returns where what is recorded is to come.
	thread(transcript.Record) thread
	// first waits for the other side before the first record is awaited.
	first(context.Context) error
	// early plays something of this side that was recorded later, since the other side may wait for it, which has not
	// sent what is pending. some: part of what was recorded with that has come. It reports whether there was something.
	early(_ context.Context, pending []message, some bool) (bool, error)
	// thinks reports whether the other side may still send what is awaited, however long it has taken.
	thinks() bool
	// skips reports whether a record of the other side is not awaited.
	skips(transcript.Record) bool
	// paired is called for a message that was recorded and came, and surplus for one that was not recorded.
	paired(want, got message)
	surplus(message)
}

// player plays one side of a recording.
type player struct {
	o      Options
	in     *ahead
	side   side
	rules  rules
	ids    *ids
	came   *waiting
	batch  []message
	size   int // bytes of batch
	began  time.Time
	silent map[string]time.Duration // recorded connection → when its last record was made
	lately map[thread]sort          // what was recorded last in a thread, if its number depends on a model
	at     time.Duration            // when the record was made that was read last
	some   bool                     // something of the batch has come
	tired  bool                     // nothing has come for a long time
	newest int                      // number of the newest message that was paired with a recorded one
	result Result
}

// run plays a recording. The errors are those of the recording and of act, and the context's cause.
func (p *player) run(ctx context.Context, in *recording.ClientView) error {
	p.in = &ahead{in: in}
	p.silent, p.lately = map[string]time.Duration{}, map[thread]sort{}
	began := false
	for {
		r, err := p.in.next()
		if errors.Is(err, io.EOF) {
			return p.end(ctx, began)
		}
		if err != nil {
			return err
		}
		if !began && (r.Kind == transcript.Open || r.Kind == transcript.Request) && r.Dir == transcript.Sent {
			began = true
			if err := p.side.first(ctx); err != nil {
				return err
			}
			p.began = time.Now().Add(-time.Duration(float64(r.At) / max(p.o.Speed, 1e-6)))
		}
		if err := p.record(ctx, r); err != nil {
			return err
		}
	}
}

// record plays a record, or puts it among those that are to come.
func (p *player) record(ctx context.Context, r transcript.Record) error {
	p.at = r.At
	switch {
	case r.Late || r.Dir == transcript.Noted:
		return nil
	case compared(r, p.side.dir()):
		if p.side.skips(r) {
			return nil
		}
		p.silent[p.side.thread(r).conn] = r.At
		if r.Kind == transcript.Closed { // nothing can come behind it
			delete(p.silent, r.Conn)
		}
		return p.expect(ctx, r)
	case !played(r, p.side.dir()):
		return nil
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if err := p.pace(ctx, r.At); err != nil {
		return err
	}
	r = p.o.Secrets.Restore(r)
	if err := Sendable(r); err != nil {
		return err
	}
	if r.Kind == transcript.Closed {
		return p.hangUp(ctx, r)
	}
	p.silent[p.side.thread(r).conn] = r.At
	return p.side.act(ctx, r)
}

// expect puts a record among those that are to come.
func (p *player) expect(ctx context.Context, r transcript.Record) error {
	m := p.rules.read(r)
	if p.ignores(m) {
		p.result.Ignored++
		return nil
	}
	p.batch = append(p.batch, m)
	if p.size += len(r.Bytes); p.side.dir() == transcript.Sent || len(p.batch) >= maxBatch || p.size >= maxBatchBytes {
		return p.settle(ctx)
	}
	return nil
}

func (p *player) ignores(m message) bool {
	return m.name != "" && slices.ContainsFunc(p.o.Ignore, func(i Ignore) bool { return i.whole(m.name) })
}

// pace waits until a message is to be sent.
func (p *player) pace(ctx context.Context, at time.Duration) error {
	if p.o.Speed <= 0 {
		return nil
	}
	left := time.NewTimer(time.Until(p.began.Add(time.Duration(float64(at) / p.o.Speed))))
	defer left.Stop()
	select {
	case <-left.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hangUp ends a connection. If the other side had been silent for some time by then, it has to be silent now.
func (p *player) hangUp(ctx context.Context, r transcript.Record) error {
	quiet := r.At-p.silent[r.Conn] >= p.o.Quiet
	delete(p.silent, r.Conn)
	delete(p.lately, thread{conn: r.Conn})
	if quiet {
		if err := p.listen(ctx); err != nil {
			return err
		}
	}
	p.drain(r.Conn, quiet)
	if err := p.side.act(ctx, r); err != nil {
		return err
	}
	p.drain(r.Conn, false)
	return nil
}

// listen waits for what was not recorded.
func (p *player) listen(ctx context.Context) error {
	quiet, cancel := deadline.WithLimit(ctx, p.o.Quiet)
	defer cancel()
	<-quiet.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// drain removes what has come too much on a recorded connection, and says so if that is a difference.
func (p *player) drain(conn string, differs bool) {
	for _, m := range p.came.drain(conn) {
		switch {
		case p.ignores(m):
		case differs, m.N < p.newest && (m.Kind == transcript.Open || m.Kind == transcript.Request):
			p.extra(m)
		default:
			if m.Kind != transcript.Closed { // it ends with the replay
				p.result.Behind++
			}
			p.side.surplus(m)
		}
	}
}

// end compares what is left, and says what has come too much.
func (p *player) end(ctx context.Context, began bool) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	if !began {
		return ErrNothing
	}
	if err := p.listen(ctx); err != nil {
		return err
	}
	for _, conn := range p.came.conns() {
		last, heard := p.silent[conn]
		p.drain(conn, heard && p.at-last >= p.o.Quiet)
	}
	return nil
}

// extra says that a message came which was not recorded.
func (p *player) extra(m message) {
	p.side.surplus(m)
	p.differs(Difference{Message: m.title(), Extra: true, came: &m})
}

func (p *player) missing(m message) {
	p.differs(Difference{N: m.N, Message: m.title(), Missing: true, recorded: &m})
}

func (p *player) differs(d Difference) {
	p.result.Differences++
	d.ids = p.ids
	d.Diff, d.Maybe = d.render(), d.maybe()
	d.recorded, d.came, d.ids = nil, nil, nil
	p.o.Differs(d)
}
