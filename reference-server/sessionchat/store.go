package sessionchat

import (
	"context"
	"errors"
)

// Store is the database of the source: it keeps the session id and history of each session by key (SC-007, SC-023).
// Data survives a crash once Save has returned. It is safe for concurrent use.
type Store interface {
	// Lookup returns the record of a key, and whether there is one. After an error the session may still exist.
	Lookup(ctx context.Context, key string) (Record, bool, error)

	// Save binds the key to the session id and, if t is not nil, writes the turn, replacing any with that number. Both
	// happen or neither. The error wraps ErrFull when there is no room left.
	Save(ctx context.Context, key, sessionID string, t *Turn) error

	// Close ends the use of the store. The server calls it once, after everything else.
	Close() error
}

// ErrFull is the error of a store without room for the data.
var ErrFull = errors.New("the store is full")

// Record is a store's data about a session.
type Record struct {
	SessionID string
	Turns     []Turn // oldest first: the last ones, within Limits.History and Limits.HistoryBytes
}

// Turn is one exchange of a session.
type Turn struct {
	N       int    // numbered from 1, without gaps
	Content string // what the user said
	Answer  string // what the model said, possibly cut off
	Outcome string // proto.Success, Interrupted or Failed; "" while the turn runs, and after a crash during it
}

// OpenStore opens the store that a server with these options would open, so that a caller can wrap it in
// Options.Store. It fails if the file is not a database of this server or comes from a newer one, if its folder does
// not exist, and if it can't be read and written.
func OpenStore(o Options) (Store, error) {
	o = o.withDefaults()
	return openSQLite(o.DB, o.Unsynced, o.Limits)
}
