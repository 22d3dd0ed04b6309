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
)

// transport is a client and a server that know nothing but their transport.
type transport interface {
	// open opens a connection on which the server follows a script. It is called concurrently.
	open(ctx context.Context, script []act) (link, error)
	close() error
}

// link is the client's end of a connection, for one goroutine.
type link interface {
	send(a act) error
	receive(a act) error
	close() error
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
	return follow(ctx, t, courses, parallel)
}

// follow goes through the courses over a transport, and closes it.
func follow(ctx context.Context, t transport, courses []course, parallel int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(max(parallel, 1))
	for _, c := range courses {
		all.Go(func() error { return c.follow(ctx, t) })
	}
	err := all.Wait()
	if closed := t.close(); err == nil {
		err = closed
	}
	return err
}

// follow goes through a course. If ctx ends, its connections are closed, so that no read waits for ever.
func (c course) follow(ctx context.Context, t transport) (err error) {
	links := make([]link, c.conns)
	defer func() {
		for _, l := range links {
			if l != nil {
				_ = l.close()
			}
		}
	}()
	for _, a := range c.acts {
		switch l := links[a.conn]; {
		case a.deed == opens:
			links[a.conn], err = t.open(ctx, c.script(a.conn))
		case a.deed == sends:
			err = l.send(a)
		case a.deed == receives:
			err = l.receive(a)
		case a.deed == closes:
			links[a.conn] = nil
			err = l.close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
