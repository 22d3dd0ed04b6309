package mutants

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"parley/reference-server/sessionchat"
)

// fileFaults keep each session in a file whose name another agent_id may share.
var fileFaults = map[string]fault{
	"file-names-with-underscores": deciding(rules{Key: func(_ connInfo, agentID string, in sessionchat.Place) string {
		if in == sessionchat.InStore {
			return punctuation.ReplaceAllString(agentID, "_")
		}
		return agentID
	}}),
	"file-names-with-hyphens":        filing(func(id string) string { return punctuation.ReplaceAllString(id, "-") }),
	"file-names-without-punctuation": filing(func(id string) string { return punctuation.ReplaceAllString(id, "") }),
	"file-names-in-lower-case":       filing(strings.ToLower),
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

func filing(name func(key string) string) fault {
	return func(o *options) { o.Store = &folder{store: o.Store, name: name, written: map[string]string{}} }
}

// folder is a store that reads only files of an earlier process. Those that it writes replace others of their name.
type folder struct {
	store
	name    func(key string) string
	mu      sync.Mutex
	written map[string]string // by name: the key that was written last
}

func (f *folder) Lookup(ctx context.Context, key string) (record, bool, error) {
	f.mu.Lock()
	by, found := f.written[f.name(key)]
	f.mu.Unlock()
	if found && by != key {
		return record{}, false, nil
	}
	return f.store.Lookup(ctx, f.name(key))
}

func (f *folder) Save(ctx context.Context, key, sessionID string, t *turn) error {
	f.mu.Lock()
	f.written[f.name(key)] = key
	f.mu.Unlock()
	return f.store.Save(ctx, f.name(key), sessionID, t)
}
