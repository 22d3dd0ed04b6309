package sessionchat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
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

const (
	schemaVersion = 1
	pageSize      = 4096 // SQLite's default

	setUpTime = time.Minute // wait on opening for a database that another program has locked, or for a busy disk
	retryTime = 10 * time.Millisecond
)

// schema compares keys byte for byte: TEXT uses memcmp, NUL included.
const schema = `
CREATE TABLE sessions (
	id         INTEGER PRIMARY KEY,
	agent_id   TEXT NOT NULL UNIQUE,
	session_id TEXT NOT NULL CHECK (session_id <> ''),
	created_at TEXT NOT NULL,
	used_at    TEXT NOT NULL
) STRICT;
CREATE TABLE turns (
	session INTEGER NOT NULL REFERENCES sessions (id),
	n       INTEGER NOT NULL,
	content TEXT NOT NULL,
	answer  TEXT NOT NULL,
	outcome TEXT NOT NULL,
	PRIMARY KEY (session, n)
) STRICT;
PRAGMA user_version = 1;
`

const (
	selectSession = `SELECT id, session_id FROM sessions WHERE agent_id = ?`
	selectTurns   = `SELECT n, content, answer, outcome FROM turns WHERE session = ? ORDER BY n DESC LIMIT ?`
	upsertSession = `INSERT INTO sessions (agent_id, session_id, created_at, used_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (agent_id) DO UPDATE SET session_id = excluded.session_id, used_at = excluded.used_at RETURNING id`
	upsertTurn = `INSERT INTO turns (session, n, content, answer, outcome) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (session, n)
		DO UPDATE SET content = excluded.content, answer = excluded.answer, outcome = excluded.outcome`
	deleteTurns = `DELETE FROM turns WHERE session = ? AND n <= ?`
)

// sqliteStore is a Store in one SQLite database: WAL, and synchronous=FULL unless Options.Unsynced, so that committed
// data also survives a loss of power. It has one connection: an in-memory database requires that, and a single writer
// can't use more.
type sqliteStore struct {
	db           *sql.DB
	history      int
	historyBytes int

	// prepared once, as parsing them took more time than what they do
	selectSession, selectTurns, upsertSession, upsertTurn, deleteTurns *sql.Stmt
}

func openSQLite(file string, unsynced bool, l Limits) (Store, error) {
	name, where := ":memory:", "the database in memory"
	if file != "" {
		where = "the database " + file
		var err error
		if name, err = prepareFile(file); err != nil {
			return nil, fmt.Errorf("open %s: %w", where, err)
		}
	}
	synchronous := "FULL"
	if unsynced {
		synchronous = "OFF"
	}
	pragmas := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", l.Store.Milliseconds()), "synchronous(" + synchronous + ")", "foreign_keys(ON)",
		fmt.Sprintf("max_page_count(%d)", max(l.Database/pageSize, 1)),
	}}
	db, err := sql.Open("sqlite", name+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	db.SetMaxOpenConns(1)
	if err := retrySetUp(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", where, err), db.Close())
	}
	s := &sqliteStore{db: db, history: l.History, historyBytes: l.HistoryBytes}
	if err := s.prepareTables(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", where, err), db.Close())
	}
	return s, nil
}

func (s *sqliteStore) prepareTables() error {
	for query, stmt := range map[string]**sql.Stmt{
		selectSession: &s.selectSession, selectTurns: &s.selectTurns, upsertSession: &s.upsertSession,
		upsertTurn: &s.upsertTurn, deleteTurns: &s.deleteTurns,
	} {
		var err error
		if *stmt, err = s.db.Prepare(query); err != nil {
			return err
		}
	}
	return nil
}

// prepareFile returns the URI of a file that can be opened. Only the owner may read a new file and those that SQLite
// puts beside it.
func prepareFile(file string) (uri string, err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if folder := filepath.Dir(path); !isFolder(folder) {
		return "", fmt.Errorf("there is no folder %s: make it first", folder)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), f.Close()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// retrySetUp retries while another program briefly blocks the database: a change to WAL fails at once if another
// connection reads or closes, without waiting for busy_timeout.
func retrySetUp(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	for {
		err := setUp(ctx, db)
		if err == nil || !failedWith(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-time.After(retryTime):
		case <-ctx.Done():
			return err
		}
	}
}

// failedWith reports whether an error is an SQLite error with a primary code.
func failedWith(err error, code int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == code
}

// setUp creates the schema in an empty database. It refuses a database of another program or a newer server and
// leaves it unchanged.
func setUp(ctx context.Context, db *sql.DB) error {
	err := inTransaction(ctx, db, func(tx *sql.Tx) error {
		var version, tables int
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
			return err
		}
		switch {
		case version == schemaVersion:
			return nil
		case version > schemaVersion:
			return fmt.Errorf("it has schema %d, and this server knows schema %d: use a newer server", version, schemaVersion)
		case tables > 0 || version != 0:
			return errors.New("it belongs to another program: name another file")
		}
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `PRAGMA journal_mode = WAL`) // stays "memory" without a file
	return err
}

// inTransaction runs f in a transaction and commits all of it or nothing.
func inTransaction(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Lookup implements Store.
func (s *sqliteStore) Lookup(ctx context.Context, key string) (r Record, found bool, err error) {
	err = inTransaction(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		if err := tx.StmtContext(ctx, s.selectSession).QueryRowContext(ctx, key).Scan(&id, &r.SessionID); err != nil {
			return err
		}
		rows, err := tx.StmtContext(ctx, s.selectTurns).QueryContext(ctx, id, s.history)
		if err != nil {
			return err
		}
		defer rows.Close()
		r.Turns, err = s.readTurns(rows)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("look up a session: %w", err)
	}
	return r, true, nil
}

// readTurns returns the last turns that fit, oldest first.
func (s *sqliteStore) readTurns(rows *sql.Rows) ([]Turn, error) {
	var turns []Turn
	for bytes := 0; rows.Next(); {
		var t Turn
		if err := rows.Scan(&t.N, &t.Content, &t.Answer, &t.Outcome); err != nil {
			return nil, err
		}
		if bytes += t.textSize(); bytes > s.historyBytes && len(turns) > 0 {
			break
		}
		turns = append(turns, t)
	}
	slices.Reverse(turns)
	return turns, rows.Err()
}

// Save implements Store. Turns beyond the limit of the history are deleted.
func (s *sqliteStore) Save(ctx context.Context, key, sessionID string, t *Turn) error {
	err := inTransaction(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		now := time.Now().UTC().Format(rfc3339Millis)
		err := tx.StmtContext(ctx, s.upsertSession).QueryRowContext(ctx, key, sessionID, now).Scan(&id)
		if err != nil || t == nil {
			return err
		}
		_, err = tx.StmtContext(ctx, s.upsertTurn).ExecContext(ctx, id, t.N, t.Content, t.Answer, t.Outcome)
		if err != nil {
			return err
		}
		if t.N <= s.history {
			return nil
		}
		_, err = tx.StmtContext(ctx, s.deleteTurns).ExecContext(ctx, id, t.N-s.history)
		return err
	})
	if failedWith(err, sqlite3.SQLITE_FULL) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err != nil {
		return fmt.Errorf("save a session: %w", err)
	}
	return nil
}

// Close implements Store. SQLite moves the WAL's contents to the file.
func (s *sqliteStore) Close() error { return s.db.Close() }

// textSize returns the size of a turn's text in bytes, plus an allowance for the rest of it.
func (t *Turn) textSize() int { return 64 + len(t.Content) + len(t.Answer) }

// conversationSoFar returns the conversation up to the last turn, whose answer is wanted. The roles alternate, as
// models require: for a turn without an answer, a note takes its place.
func conversationSoFar(turns []*Turn) []llm.Message {
	var all []llm.Message
	for i, t := range turns {
		all = append(all, llm.Message{Role: llm.RoleUser, Text: t.Content})
		if i < len(turns)-1 {
			all = append(all, llm.Message{Role: llm.RoleAssistant, Text: t.answerText()})
		}
	}
	return all
}

// answerText returns the answer of an earlier turn, or a note on why there is none.
func (t *Turn) answerText() string {
	switch {
	case t.Answer != "":
		return t.Answer
	case t.Outcome == proto.Success:
		return "[empty answer]"
	case t.Outcome == proto.Failed:
		return "[no answer: failed]"
	}
	return "[no answer: interrupted]"
}

// dropOldest drops the oldest turns until the limits hold, but never the last one.
func dropOldest(turns []*Turn, l Limits) []*Turn {
	bytes, first := 0, len(turns)
	for first > 0 {
		bytes += turns[first-1].textSize()
		if n := len(turns) - first; n > 0 && (n >= l.History || bytes > l.HistoryBytes) {
			break
		}
		first--
	}
	return slices.Clone(turns[first:])
}
