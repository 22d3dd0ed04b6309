package chat

import (
	"context"
	"errors"
	"sync"

	"parley/reference-server/sessionchat"
)

// storageFaults lose or mistake what outlives a process.
var storageFaults = map[string]fault{
	"saves-nothing":            saving(func(turnView) sessionchat.Saving { return sessionchat.Saving{} }),
	"saves-no-history":         saving(func(turnView) sessionchat.Saving { return sessionchat.Saving{Session: true} }),
	"saves-the-first-turn":     saving(func(v turnView) sessionchat.Saving { return sessionchat.Saving{Session: true, Turn: v.Turn == 1} }),
	"saves-when-it-stops":      func(o *options) { o.Store = &late{store: o.Store, kept: map[string]record{}} },
	"saves-no-more-once-back":  deciding(savesNoMore),
	"resumes-the-latest":       resuming(func(x *index, _ string) []string { return x.last() }),
	"resumes-another":          resuming(anotherThan),
	"resumes-all-as-one":       resuming(func(x *index, key string) []string { return x.allIfKnown(key) }),
	"resume-fails":             func(o *options) { o.Store = unreadable{o.Store} },
	"resumes-no-broken-turn":   deciding(forgetting(func(r record) bool { return r.Turns[len(r.Turns)-1].Outcome == "" })),
	"registers-id-second-turn": deciding(forgetting(func(r record) bool { return len(r.Turns) < 2 })),
	"resumes-on-connect":       resumesOnConnect,
}

func saving(what func(v turnView) sessionchat.Saving) fault {
	return deciding(func() rules {
		return rules{persist: func(v turnView, _ sessionchat.Moment) sessionchat.Saving { return what(v) }}
	})
}

// savesNoMore keeps the history of a session up to where it was resumed: later turns meet an INSERT OR IGNORE.
func savesNoMore() rules {
	resumed := map[string]bool{}
	return rules{persist: func(v turnView, _ sessionchat.Moment) sessionchat.Saving {
		resumed[v.Key] = resumed[v.Key] || v.Resumed
		return sessionchat.Saving{Session: true, Turn: !resumed[v.Key]}
	}}
}

// forgetting takes some stored sessions for none.
func forgetting(which func(r record) bool) func() rules {
	return func() rules {
		return rules{known: func(_ string, stored record, found bool) (record, bool) {
			if !found || len(stored.Turns) == 0 || which(stored) {
				return record{}, false
			}
			return stored, true
		}}
	}
}

// unreadable has sessions, and fails to read them.
type unreadable struct{ store }

func (u unreadable) Lookup(ctx context.Context, key string) (record, bool, error) {
	r, found, err := u.store.Lookup(ctx, key)
	if found && err == nil {
		return record{}, false, errors.New("session_info: no such column: resume")
	}
	return r, found, err
}

// late keeps everything in memory, and writes it when it is closed.
type late struct {
	store
	mu   sync.Mutex
	kept map[string]record
}

func (l *late) Lookup(ctx context.Context, key string) (record, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, found := l.kept[key]; found {
		r.Turns = append([]turn(nil), r.Turns...)
		return r, true, nil
	}
	return l.store.Lookup(ctx, key)
}

func (l *late) Save(ctx context.Context, key, sessionID string, t *turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, found := l.kept[key]
	if !found {
		var err error
		if r, _, err = l.store.Lookup(ctx, key); err != nil {
			return err
		}
	}
	r.SessionID = sessionID
	if n := len(r.Turns); t != nil && n > 0 && r.Turns[n-1].N == t.N {
		r.Turns[n-1] = *t
	} else if t != nil {
		r.Turns = append(r.Turns, *t)
	}
	l.kept[key] = r
	return nil
}

func (l *late) Close() error {
	var failed []error
	for key, r := range l.kept {
		for i := range r.Turns {
			failed = append(failed, l.store.Save(context.Background(), key, r.SessionID, &r.Turns[i]))
		}
	}
	return errors.Join(append(failed, l.store.Close())...)
}

// index is a store that knows its keys, in the order of their latest use. It keeps them with the sessions: a table of a
// real server has them anyway.
type index struct {
	store
	mu   sync.Mutex
	n    int
	keys []string
	ids  map[string]string // session_ids by key
}

const indexKey = "\x00index"

func newIndex(inner store) *index {
	x := &index{store: inner, ids: map[string]string{}}
	r, _, _ := inner.Lookup(context.Background(), indexKey)
	for _, t := range r.Turns {
		x.use(t.Content, t.Answer)
		x.n = t.N
	}
	return x
}

// use puts a key last.
func (x *index) use(key, sessionID string) {
	x.ids[key] = sessionID
	kept := x.keys[:0:0]
	for _, k := range x.keys {
		if k != key {
			kept = append(kept, k)
		}
	}
	x.keys = append(kept, key)
}

func (x *index) Save(ctx context.Context, key, sessionID string, t *turn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.keys) == 0 || x.keys[len(x.keys)-1] != key {
		x.n++
		if err := x.store.Save(ctx, indexKey, "index", &turn{N: x.n, Content: key, Answer: sessionID}); err != nil {
			return err
		}
		x.use(key, sessionID)
	}
	return x.store.Save(ctx, key, sessionID, t)
}

func (x *index) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.keys...)
}

// last is the key that was used last; none of an empty store.
func (x *index) last() []string {
	keys := x.all()
	return keys[max(0, len(keys)-1):]
}

// allIfKnown are all keys, if a key is one of them.
func (x *index) allIfKnown(key string) []string {
	keys := x.all()
	for _, k := range keys {
		if k == key {
			return keys
		}
	}
	return nil
}

// anotherThan is the key that was used last, for any that is known.
func anotherThan(x *index, key string) []string {
	if x.allIfKnown(key) == nil {
		return nil
	}
	return x.last()
}

// resuming reads the sessions of other keys than the one that was asked for, as one: their turns in a row, under the
// session_id of the last.
func resuming(instead func(x *index, key string) []string) fault {
	return func(o *options) { o.Store = misled{newIndex(o.Store), instead} }
}

type misled struct {
	*index
	instead func(x *index, key string) []string
}

func (m misled) Lookup(ctx context.Context, key string) (all record, found bool, err error) {
	for _, k := range m.instead(m.index, key) {
		r, is, err := m.store.Lookup(ctx, k)
		if err != nil {
			return record{}, false, err
		}
		if !is {
			continue
		}
		if k == key || !found {
			all.SessionID = r.SessionID
		}
		all.Turns, found = append(all.Turns, r.Turns...), true
	}
	for i := range all.Turns {
		all.Turns[i].N = i + 1
	}
	return all, found, nil
}

// announce tells a connection of sessions that exist.
func (x *index) announce(m manager, c connInfo, keys []string) {
	for _, key := range keys {
		x.mu.Lock()
		id := x.ids[key]
		x.mu.Unlock()
		m.Send(c.ID, announcement(key, id))
	}
}

// resumesOnConnect takes up what the store had when the server started, as soon as somebody is there.
func resumesOnConnect(o *options) {
	x := newIndex(o.Store)
	o.Store = x
	stored := x.all()
	o.Policy = rules{onConnect: func(m manager, c connInfo) []message {
		x.announce(m, c, stored)
		return nil
	}}
}
