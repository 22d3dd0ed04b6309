// Package recent has a map that forgets what was not used lately, for traffic that lasts.
package recent

// Map keeps the entries that were used last: at least Most of them, and at most twice as many. The zero value of its
// other members is an empty map.
type Map[K comparable, V any] struct {
	Most int

	now, before map[K]V
}

// Get returns an entry, which is used by that.
func (m *Map[K, V]) Get(k K) (v V, found bool) {
	if v, found = m.now[k]; found {
		return v, true
	}
	if v, found = m.before[k]; found {
		delete(m.before, k)
		m.Set(k, v)
	}
	return v, found
}

// Set sets an entry.
func (m *Map[K, V]) Set(k K, v V) {
	if _, has := m.now[k]; !has && len(m.now) >= m.Most || m.now == nil {
		m.now, m.before = map[K]V{}, m.now
	}
	m.now[k] = v
	delete(m.before, k)
}

// Delete deletes an entry.
func (m *Map[K, V]) Delete(k K) {
	delete(m.now, k)
	delete(m.before, k)
}

// Len counts the entries.
func (m *Map[K, V]) Len() int { return len(m.now) + len(m.before) }

// Conns has what is known of connections by their names: of all that are open, and of those that have ended lately, for
// what may still be read from one. The zero value is empty.
type Conns[V any] struct {
	open  map[string]V
	ended Map[string, V]
}

// endedKept is how many connections that have ended are known at least: more than a scenario has.
const endedKept = 256

// Get returns what is known of a connection.
func (c *Conns[V]) Get(name string) (v V, found bool) {
	if v, found = c.open[name]; found {
		return v, true
	}
	return c.ended.Get(name)
}

// Set sets what is known of an open connection.
func (c *Conns[V]) Set(name string, v V) {
	if c.open == nil {
		c.open = map[string]V{}
	}
	c.open[name] = v
	c.ended.Delete(name)
}

// End notes that a connection has ended.
func (c *Conns[V]) End(name string) {
	if v, open := c.open[name]; open {
		delete(c.open, name)
		c.ended.Most = endedKept
		c.ended.Set(name, v)
	}
}

// Len counts the connections.
func (c *Conns[V]) Len() int { return len(c.open) + c.ended.Len() }
