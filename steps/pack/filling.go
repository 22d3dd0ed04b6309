package pack

import (
	"regexp"

	wjson "parley/transport/wire/json"
)

// hole matches what is filled into a text: ${new}, ${nonce}, ${ticket}, ${B.ticket}.
var hole = regexp.MustCompile(`\$\{([\w.-]+)\}`)

// fill fills the holes of a value: in texts, members and items. A text that is one hole becomes the value itself.
// find returns the value of a name.
func fill(v any, find func(name string) (any, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, find)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			filled, err := fill(member, find)
			if err != nil {
				return nil, err
			}
			out[name] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := fill(item, find)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return v, nil
}

func fillText(text string, find func(name string) (any, error)) (any, error) {
	if m := hole.FindStringSubmatch(text); m != nil && m[0] == text {
		return find(m[1])
	}
	var failed error
	out := hole.ReplaceAllStringFunc(text, func(h string) string {
		v, err := find(hole.FindStringSubmatch(h)[1])
		if err != nil {
			failed = err
		}
		if s, ok := v.(string); ok {
			return s
		}
		return wjson.Compact(v)
	})
	return out, failed
}
