package gate

// MaxLinks is the number of connections that are served at once.
const MaxLinks = maxLinks

// SetMaxHeld sets the bound of what is held, and returns what restores it.
func SetMaxHeld(n int64) (restore func()) {
	was := maxHeld
	maxHeld = n
	return func() { maxHeld = was }
}

// Held is how many bytes are held.
func Held(g *Gate) int64 { return g.held.Load() }
