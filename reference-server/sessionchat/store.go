package sessionchat

import (
	"context"
	"errors"
)

// Store is the database of the source: it keeps, by key, the session id and the history of each session (SC-007,
// SC-023). What Save has returned for is there after a crash. It is safe for concurrent use.
type Store interface {
	// Lookup returns what is kept under a key, and whether there is anything. An error is no answer: the session may
	// exist.
	Lookup(ctx context.Context, key string) (Record, bool, error)

	// Save binds the key to the session id and, unless it is nil, writes the turn, in place of an earlier one of that
	// number: both or neither. The error wraps ErrFull when there is no room left.
	Save(ctx context.Context, key, sessionID string, t *Turn) error

	// Close ends the use of the store. The server calls it once, after everything else.
	Close() error
}

// ErrFull is the error of a store that has no room for what it is to save.
var ErrFull = errors.New("the store is full")

// Record is what a store knows of a session.
type Record struct {
	SessionID string
	Turns     []Turn // oldest first: the last ones, within Limits.History and Limits.HistoryBytes
}

// Turn is one exchange of a session.
type Turn struct {
	N       int    // from 1, without gaps
	Content string // what the user said
	Answer  string // what the model said, up to where it ended
	Outcome string // proto.Success, Interrupted or Failed; "" while the turn runs, and after a crash in it
}

// OpenStore opens the store that a server with these options would open, so that a caller can wrap it: Options.Store.
// It fails if the file is no database of this server, or one of a newer one; if its folder does not exist; and if it
// can't be read and written.
func OpenStore(o Options) (Store, error) {
	o = o.withDefaults()
	return openSQLite(o.DB, o.Unsynced, o.Limits)
}
