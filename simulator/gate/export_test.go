package gate

// MaxLinks is the number of connections that are served at once.
const MaxLinks = maxLinks

// SetMaxHeld sets the bound of the held bytes, and returns a function that
// restores it.
func SetMaxHeld(n int64) (restore func()) {
	was := maxHeld
	maxHeld = n
	return func() { maxHeld = was }
}

// Held returns the number of bytes that are held.
func Held(g *Gate) int64 { return g.held.Load() }
