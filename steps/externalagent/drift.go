package externalagent

import (
	"slices"
	"strings"
	"sync"

	"parley/steps"
	wjson "parley/wire/json"
)

// drift is what changes by itself in a target's states, such as a clock in uiSpec: it is left out of every comparison.
// It is known by what differs between two snapshots between which nobody did anything. Safe for concurrent use.
type drift struct {
	mu     sync.Mutex
	places []string // names of members of a state and JSON Pointers within them; "*" is any index of an array
}

// driftOf is what all scenarios of a run know of.
func driftOf(env *steps.Env) *drift {
	d, _ := env.Learnt.LoadOrStore(driftKey{}, &drift{})
	return d.(*drift)
}

type driftKey struct{}

// learn takes in what differs between two states, and tells whether that was new. A whole member of a state is never
// restless: that would leave nothing to compare.
func (r *drift) learn(a, b state) (news []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range [][]string{changes("uiSpec", a.ui, b.ui), changes("messageHistory", a.history, b.history), changes("toolSchema", a.tools, b.tools)} {
		for _, at := range m {
			at = general(at)
			if strings.Contains(at, "/") && !slices.Contains(r.places, at) {
				r.places, news = append(r.places, at), append(news, at)
			}
		}
	}
	return news
}

// general is a place with every index of an array replaced by "*".
func general(at string) string {
	name, pointer, _ := strings.Cut(at, "/")
	if pointer == "" {
		return at
	}
	tokens, err := wjson.ParsePointer("/" + pointer)
	if err != nil {
		return at
	}
	for i, t := range tokens {
		if t != "" && strings.Trim(t, "0123456789") == "" {
			tokens[i] = "*"
		}
	}
	return name + wjson.FormatPointer(tokens...)
}

// settled is a member of a state without what changes by itself. The order in which tools are announced means nothing.
func (r *drift) settled(name string, v any) any {
	r.mu.Lock()
	places := slices.Clone(r.places)
	r.mu.Unlock()
	copy := false
	for _, at := range places {
		if rest, ok := strings.CutPrefix(at, name+"/"); ok {
			if !copy {
				v, copy = copied(v), true
			}
			if tokens, err := wjson.ParsePointer("/" + rest); err == nil {
				remove(v, tokens)
			}
		}
	}
	if list, ok := v.([]any); ok && name == "toolSchema" {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(toolName(a), toolName(b)) })
		return list
	}
	return v
}

func toolName(item any) string {
	o, _ := item.(object)
	name, _ := o["name"].(string)
	return name
}

// remove removes what a pattern points to.
func remove(doc any, tokens []string) {
	switch d := doc.(type) {
	case object:
		if len(tokens) == 1 && tokens[0] != "*" {
			delete(d, tokens[0])
			return
		}
		for name, m := range d {
			if name == tokens[0] || tokens[0] == "*" && strings.Trim(name, "0123456789") == "" {
				if len(tokens) == 1 {
					delete(d, name)
				} else {
					remove(m, tokens[1:])
				}
			}
		}
	case []any:
		for i, m := range d {
			switch {
			case tokens[0] != "*":
			case len(tokens) == 1:
				d[i] = nil
			default:
				remove(m, tokens[1:])
			}
		}
	}
}
