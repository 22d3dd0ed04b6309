package mock

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"parley/simulator/replay"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// clientAct is something that a recorded client did.
type clientAct struct {
	asked  transcript.Record
	m      replay.Message
	of     *played
	needs  []*arrival   // what has to have come
	behind []*clientAct // what has to have been done
	left   int          // of both
	then   []*clientAct // those behind it
	at     int          // place in its recording
	answer *arrival     // to a request, or to the opening of a connection; nil: none was recorded
	ends   bool         // nothing is done: the recording ends here
	done   bool
	why    string // why it cannot be done
}

// arrival is a message that a recorded client got.
type arrival struct {
	r       transcript.Record
	m       replay.Message
	of      *played
	at      int
	first   *arrival // of messages in a row whose number depends on a model; itself
	keys    []string // of ids that the server has drawn
	fresh   []string // of those that came with it for the first time
	came    bool
	answers []*clientAct // what the client did with one of its ids

	any  bool         // of a row of which it is the first: one has come
	then []*clientAct // those that need the row
}

// hasCome reports whether it has come, or one of the row of which it is.
func (h *arrival) hasCome() bool { return h.first.any }

// arrivalsOfSort are the messages of one sort on a connection.
type arrivalsOfSort struct{ fresh, came []*arrival }

// moveToArrived notes that a message has come.
func (b *arrivalsOfSort) moveToArrived(h *arrival) {
	i := slices.Index(b.fresh, h)
	b.fresh, b.came = slices.Delete(b.fresh, i, i+1), append(b.came, h)
}

// played is a recording that a Client plays.
type played struct {
	name     string
	label    string // what its connections are called: "" if there is one recording
	acts     []*clientAct
	heard    []*arrival
	ids      *replay.IDs
	byServer map[string]bool                       // ids that the server has drawn
	buckets  map[string]map[string]*arrivalsOfSort // by connection and sort
}

// bucketOf returns the messages of a sort on a connection.
func (p *played) bucketOf(conn, sort string) *arrivalsOfSort {
	if b := p.buckets[conn][sort]; b != nil {
		return b
	}
	return &arrivalsOfSort{}
}

// linkWaits links what waits with what it waits for, and returns what waits for nothing.
func (p *played) linkWaits() (ready []*clientAct) {
	for _, d := range p.acts {
		for _, h := range d.needs {
			h.first.then = append(h.first.then, d)
		}
		for _, one := range d.behind {
			one.then = append(one.then, d)
		}
		if d.left = len(d.needs) + len(d.behind); d.left == 0 {
			ready = append(ready, d)
		}
	}
	p.buckets = map[string]map[string]*arrivalsOfSort{}
	for _, h := range p.heard {
		if h.r.Reply != 0 { // it is found by what it answers
			continue
		}
		if p.buckets[h.r.Conn] == nil {
			p.buckets[h.r.Conn] = map[string]*arrivalsOfSort{}
		}
		of, sort := p.buckets[h.r.Conn], h.m.Sort()
		if of[sort] == nil {
			of[sort] = &arrivalsOfSort{}
		}
		of[sort].fresh = append(of[sort].fresh, h)
	}
	return ready
}

// course takes what a client did out of a recording, and what it did it upon.
type course struct {
	c  *Client
	p  *played
	at int // number of what is read

	drawn map[string]*arrival // id by its key → the message with which the server drew it; nil: the client did
	with  map[string]*arrival // id by its key → the last message with it
	used  map[string]bool     // ids that the client has repeated
	asked map[int]*clientAct

	lastHeard *arrival
	lastAct   *clientAct // that is no end of a connection
	arrivalOn map[string]*arrival
	actOn     map[string]*clientAct
	own       map[string]int // number of the last act of a connection that answers nothing
	conns     []string
}

// readCourse reads a recording.
func (c *Client) readCourse(in *recording.ClientView, p *played, size *int) error {
	f := &course{c: c, p: p, drawn: map[string]*arrival{}, with: map[string]*arrival{}, used: map[string]bool{},
		asked: map[int]*clientAct{}, arrivalOn: map[string]*arrival{}, actOn: map[string]*clientAct{},
		own: map[string]int{}}
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			f.addEnds()
			return nil
		}
		if err != nil {
			return err
		}
		if *size += len(r.Bytes); *size > MaxBytes {
			return fmt.Errorf("the recordings hold more than %d MiB", MaxBytes>>20)
		}
		switch {
		case r.Late:
		case replay.FromServer(r):
			f.hearMessage(r)
		case replay.FromClient(r):
			r = c.o.Secrets.Restore(r)
			if err := replay.Sendable(r); err != nil {
				return err
			}
			f.addAct(&clientAct{asked: r, m: replay.Read(c.o.Messages, r), of: p})
		}
	}
}

// noteConn notes a connection.
func (f *course) noteConn(conn string) {
	if !slices.Contains(f.conns, conn) {
		f.conns = append(f.conns, conn)
	}
}

func (f *course) hearMessage(r transcript.Record) {
	f.at++
	f.noteConn(r.Conn)
	h := &arrival{r: r, m: replay.ReadServer(f.c.o.Messages, r), of: f.p, at: f.at}
	h.first = h
	if last := f.arrivalOn[r.Conn]; last != nil && h.m.Repeats() && last.m.SameSort(h.m) &&
		!f.hasActedSince(last, r.Conn) {
		h.first = last.first
	}
	h.m.EachKey(func(key string) {
		by, known := f.drawn[key]
		switch {
		case !known && len(f.drawn) < maxDrawn:
			f.drawn[key] = h
			h.fresh, f.p.byServer[key] = append(h.fresh, key), true
		case known && by == nil || !known || slices.Contains(h.keys, key):
			return
		}
		h.keys = append(h.keys, key)
		f.with[key] = h
	})
	if d := f.asked[r.Reply]; d != nil && r.Reply != 0 && d.answer == nil && r.Kind != transcript.Frame &&
		r.Kind != transcript.Stream {
		d.answer = h
	}
	f.p.heard = append(f.p.heard, h)
	f.lastHeard, f.arrivalOn[r.Conn] = h, h
}

// hasActedSince reports whether the client has done something on a connection behind a message.
func (f *course) hasActedSince(h *arrival, conn string) bool {
	d := f.actOn[conn]
	return d != nil && d.at > h.at
}

// addAct adds an act.
func (f *course) addAct(d *clientAct) {
	f.at++
	conn := d.asked.Conn
	f.noteConn(conn)
	if by := f.findAnswered(d); by == nil || f.own[conn] > by.at {
		f.findPreceding(d, conn) // it has done something of its own before it answered
	}
	d.m.EachKey(func(key string) {
		by, known := f.drawn[key]
		switch {
		case !known && len(f.drawn) < maxDrawn:
			f.drawn[key] = nil
		case by != nil:
			f.used[key] = true
			if !slices.Contains(d.needs, by) {
				d.needs = append(d.needs, by)
			}
		}
	})
	closes := d.ends || d.asked.Kind == transcript.Closed
	if closes {
		for _, one := range f.p.acts {
			if one.asked.Conn == conn && !slices.Contains(d.behind, one) {
				d.behind = append(d.behind, one)
			}
		}
	} else {
		f.lastAct = d
	}
	f.p.acts = append(f.p.acts, d)
	d.at, f.asked[d.asked.N], f.actOn[conn] = f.at, d, d
}

// findAnswered finds the message that an act answers: the last one with an id that the client repeats for the first
// time. Of several such ids that which was drawn last counts. It returns nil if the act answers nothing.
func (f *course) findAnswered(d *clientAct) (by *arrival) {
	var newest *arrival
	d.m.EachKey(func(key string) {
		if drew := f.drawn[key]; drew != nil && !f.used[key] && (newest == nil || drew.at > newest.at) {
			newest, by = drew, f.with[key]
		}
	})
	if by == nil {
		f.own[d.asked.Conn] = f.at
		return nil
	}
	by.answers, d.needs = append(by.answers, d), []*arrival{by}
	return by
}

// findPreceding says what an act waits for that answers nothing: the last message on its connection, if the client has
// done nothing on it since; and what anybody did or got later, where that may be the reason.
func (f *course) findPreceding(d *clientAct, conn string) {
	own, prev := f.arrivalOn[conn], f.actOn[conn]
	base := 0
	switch {
	case own != nil && (prev == nil || own.at > prev.at):
		base = own.at
		d.needs = append(d.needs, own)
	case prev != nil:
		base = prev.at
		d.behind = append(d.behind, prev)
	}
	acted := f.lastAct != nil && f.lastAct.at > base
	switch {
	case f.lastHeard != nil && f.lastHeard.at > base && (prev == nil || base == prev.at || acted) &&
		(!acted || f.lastHeard.at > f.lastAct.at):
		d.needs = append(d.needs, f.lastHeard)
	case acted:
		d.behind = append(d.behind, f.lastAct)
	}
}

// addEnds adds the ends of connections that were open where the recording ends.
func (f *course) addEnds() {
	for _, conn := range f.conns {
		last := f.actOn[conn]
		if last != nil && last.asked.Kind == transcript.Closed {
			continue
		}
		if h := f.arrivalOn[conn]; h != nil && (last == nil || h.at > last.at) {
			d := &clientAct{asked: transcript.Record{Conn: conn}, of: f.p, ends: true, needs: []*arrival{h}, at: f.at + 1}
			for _, one := range f.p.acts {
				if one.asked.Conn == conn {
					d.behind = append(d.behind, one)
				}
			}
			f.p.acts = append(f.p.acts, d)
		}
	}
}
