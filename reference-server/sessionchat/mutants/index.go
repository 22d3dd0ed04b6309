package mutants

import (
	"context"
	"slices"
	"sync"
)

// index is a store that knows its keys in the order of their last use, as a real server's table does. It keeps the
// index beside the sessions.
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

// use moves a key to the end.
func (x *index) use(key, sessionID string) {
	x.ids[key] = sessionID
	x.keys = append(slices.DeleteFunc(x.keys, func(k string) bool { return k == key }), key)
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
	return slices.Clone(x.keys)
}

// last returns the key used last; none if the store is empty.
func (x *index) last() []string {
	keys := x.all()
	return keys[max(0, len(keys)-1):]
}

// allIfKnown returns all keys if key is one of them.
func (x *index) allIfKnown(key string) []string {
	if keys := x.all(); slices.Contains(keys, key) {
		return keys
	}
	return nil
}

// anotherThan returns the key used last for any known key.
func anotherThan(x *index, key string) []string {
	if x.allIfKnown(key) == nil {
		return nil
	}
	return x.last()
}

// announce sends a connection messages about existing sessions.
func (x *index) announce(m manager, c connInfo, keys []string) {
	for _, key := range keys {
		x.mu.Lock()
		id := x.ids[key]
		x.mu.Unlock()
		m.Send(c.ID, announcement(key, id))
	}
}
