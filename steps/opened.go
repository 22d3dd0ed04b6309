package steps

import (
	"sync"

	"parley/driver"
)

// opened is what is known of the connections of all scenarios over one driver.
type opened struct {
	mu    sync.Mutex
	first *driver.OpenOptions // of the first that was open
	now   int
	most  int // at once
}

// opens counts a connection from when it is asked for, and returns what counts it no more. Pages and processes are no
// connections of the target's.
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

// opensFirst keeps how the first connection was opened.
func (e *Env) opensFirst(o driver.OpenOptions) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil && o.Page == nil && o.Process == nil {
		e.opened.first = &o
	}
}

// counted is a connection that is counted.
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

// Opened returns how the first connection of the run was opened, and how many were open at once; 0 where none was.
func (e *Env) Opened() (first driver.OpenOptions, most int) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil {
		return driver.OpenOptions{}, 0
	}
	return *e.opened.first, e.opened.most
}
