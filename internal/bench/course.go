package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// actKind is what an act of a course does.
type actKind byte

const (
	opens actKind = iota
	sends
	receives
	closes
)

// act is a step of a course, as the client sees it.
type act struct {
	kind actKind
	conn int // of the course, from 0
	size int // of the message in bytes
	back int // sends over HTTP: size of the answer in bytes
}

// course is what happens on the connections of a scenario, in order.
type course struct {
	acts  []act
	conns int
}

// serverScript returns what a server does on a connection: it reads what the client sends, and sends what the client
// receives.
func (c course) serverScript(conn int) []act {
	var out []act
	for _, a := range c.acts {
		if a.conn == conn && (a.kind == sends || a.kind == receives) {
			out = append(out, a)
		}
	}
	return out
}

// reader makes a course of records.
type reader struct {
	course
	open    map[string]int // party → its connection
	answers map[int]int    // number of a request → size of its answer
	pages   bool           // connections are pages; those that a page makes to its server are left out
	servers map[string]bool
}

// courseOf returns the course of a scenario over a driver. What came after the harness had closed a connection is left
// out, and so are the connections that a page makes.
func courseOf(driver string, records []transcript.Record) course {
	c := reader{open: map[string]int{}, answers: map[int]int{}, servers: map[string]bool{}, pages: driver == browser.Name}
	for _, r := range records {
		if r.Kind == transcript.Response {
			c.answers[r.Reply] = size(r)
		}
	}
	for _, r := range records {
		if !r.Late && r.Conn != "" && r.Dir != transcript.Noted {
			c.readCourse(r)
		}
	}
	return c.course
}

func size(r transcript.Record) int { return len(r.Bytes) + r.Cut }

func (c *reader) readCourse(r transcript.Record) {
	n, open := c.open[r.Conn]
	switch r.Kind {
	case transcript.Open:
		switch {
		case open || c.servers[r.Conn]:
		case c.pages && r.Dir == transcript.Received:
			c.servers[r.Conn] = true
		default:
			c.addConnection(r.Conn)
		}
	case transcript.Closed, transcript.Failure:
		if open {
			c.acts = append(c.acts, act{kind: closes, conn: n})
			delete(c.open, r.Conn)
		}
	case transcript.Request, transcript.Frame, transcript.Stream, transcript.Act, transcript.Snapshot:
		if !open && c.pages {
			return
		}
		if !open {
			n = c.addConnection(r.Conn)
		}
		a := act{kind: receives, conn: n, size: size(r)}
		if r.Dir == transcript.Sent {
			a.kind, a.back = sends, c.answers[r.N]
		}
		c.acts = append(c.acts, a)
	}
}

// addConnection adds a connection of a party, and returns its number.
func (c *reader) addConnection(party string) int {
	n := c.conns
	c.conns++
	c.open[party] = n
	c.acts = append(c.acts, act{kind: opens, conn: n})
	return n
}

// countCourses adds up what courses do.
func (row *Row) countCourses(courses []course) {
	for _, c := range courses {
		row.Connections += c.conns
		for _, a := range c.acts {
			switch {
			case a.kind == sends:
				row.Sent++
				row.Bytes += int64(a.size + a.back)
				if overHTTP(row.Driver) {
					row.Received++ // its answer
				}
			case a.kind == receives:
				row.Received++
				row.Bytes += int64(a.size)
			}
		}
	}
}

// transport is a client and a server that know nothing but their transport.
type transport interface {
	// open opens a connection on which the server follows a script. It is called concurrently.
	open(ctx context.Context, script []act) (link, error)
	closeSite() error
}

// link is the client's end of a connection, for one goroutine.
type link interface {
	send(a act) error
	receive(a act) error
	closeSite() error
}

func overHTTP(driver string) bool { return driver == sse.Name || driver == r3labs.Name }

func newTransport(driver string) (transport, error) {
	switch {
	case driver == ws.Name:
		return newSockets()
	case overHTTP(driver):
		return newStreams()
	case driver == stdio.Name:
		return pipes{}, nil
	case driver == browser.Name:
		return newPages()
	}
	return nil, fmt.Errorf("driver %s has no floor", driver)
}

// patience bounds a floor: it ends by itself, unless this package is wrong.
const patience = 5 * time.Minute

// runFloor goes through the courses, so many side by side.
func runFloor(ctx context.Context, driver string, courses []course, parallel int) error {
	t, err := newTransport(driver)
	if err != nil {
		return err
	}
	return followCourses(ctx, t, courses, parallel)
}

// followCourses goes through the courses over a transport, and closes it.
func followCourses(ctx context.Context, t transport, courses []course, parallel int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(max(parallel, 1))
	for _, c := range courses {
		all.Go(func() error { return c.followOne(ctx, t) })
	}
	err := all.Wait()
	if closed := t.closeSite(); err == nil {
		err = closed
	}
	return err
}

// followOne goes through a course. If ctx ends, its connections are closed, so that no read waits for ever.
func (c course) followOne(ctx context.Context, t transport) (err error) {
	links := make([]link, c.conns)
	defer func() {
		for _, l := range links {
			if l != nil {
				_ = l.closeSite()
			}
		}
	}()
	for _, a := range c.acts {
		switch l := links[a.conn]; {
		case a.kind == opens:
			links[a.conn], err = t.open(ctx, c.serverScript(a.conn))
		case a.kind == sends:
			err = l.send(a)
		case a.kind == receives:
			err = l.receive(a)
		case a.kind == closes:
			links[a.conn] = nil
			err = l.closeSite()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
