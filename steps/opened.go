package steps

import (
	"sync"

	"parley/transport/driver"
)

// opened counts the connections of all scenarios over one driver.
type opened struct {
	mu    sync.Mutex
	first *driver.OpenOptions // options of the first connection that was opened
	now   int
	most  int // maximum at once
}

// opens counts a connection as soon as it is requested, and returns a function that stops counting it. Pages and
// processes are not connections to the target.
func (e *Env) opens(o driver.OpenOptions) (closed func()) {
	if o.Page != nil || o.Process != nil {
		return func() {}
	}
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	e.opened.now++
	e.opened.most = max(e.opened.most, e.opened.now)
	return func() {
		e.opened.mu.Lock()
		defer e.opened.mu.Unlock()
		e.opened.now--
	}
}

// opensFirst keeps the options of the first connection.
func (e *Env) opensFirst(o driver.OpenOptions) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil && o.Page == nil && o.Process == nil {
		e.opened.first = &o
	}
}

// counted is a connection that is counted while it is open.
type counted struct {
	driver.Conn
	once   sync.Once
	closed func()
}

// Close implements driver.Conn.
func (c *counted) Close(how driver.CloseMode) error {
	err := c.Conn.Close(how)
	c.once.Do(c.closed)
	return err
}

// Busy reports whether any connection is open.
func (e *Env) Busy() bool {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	return e.opened.now > 0
}

// Opened returns the options of the run's first connection, and the maximum open at once; 0 if there was none.
func (e *Env) Opened() (first driver.OpenOptions, most int) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil {
		return driver.OpenOptions{}, 0
	}
	return *e.opened.first, e.opened.most
}
