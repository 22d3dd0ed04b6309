package fault

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// change is the change of one member of a JSON message.
type change struct {
	at   string // JSON Pointer
	set  []byte // JSON; nil: the member is removed, or its value is drawn at random
	draw bool
}

// drawable are the values that can be drawn for a member, as JSON.
var drawable = []string{"null", "true", "-1", "1e300", `""`, `"\u0000"`, "[]", "{}", `[[[[{"a":null}]]]]`}

// drawn returns the change with its value drawn.
func (c change) drawn(r *rand.Rand) change {
	if c.draw {
		c.set = []byte(drawable[r.IntN(len(drawable))])
	}
	return c
}

// apply returns the message with the member changed, its members in the order of their names; ok is false if the
// message is not JSON, lacks the member or does not change; then it passes unchanged.
func (c change) apply(body []byte) (out []byte, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil || d.More() {
		return nil, false
	}
	before, _ := json.Marshal(root)
	if root, ok = c.in(root, slices.Collect(jsontext.Pointer(c.at).Tokens())); !ok {
		return nil, false
	}
	out, err := json.Marshal(root)
	return out, err == nil && !bytes.Equal(before, out)
}

func (c change) in(v any, parts []string) (any, bool) {
	name, last := parts[0], len(parts) == 1
	var changed any
	ok := true
	next := func(was any) any {
		switch {
		case !last:
			changed, ok = c.in(was, parts[1:])
		default:
			changed = json.RawMessage(c.set)
		}
		return changed
	}
	switch v := v.(type) {
	case map[string]any:
		was, there := v[name]
		if !there {
			return nil, false
		}
		if last && c.set == nil {
			delete(v, name)
		} else {
			v[name] = next(was)
		}
		return v, ok
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		if last && c.set == nil {
			return append(v[:i], v[i+1:]...), true
		}
		v[i] = next(v[i])
		return v, ok
	}
	return nil, false
}
