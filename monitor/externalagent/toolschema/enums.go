package toolschema

import wjson "parley/wire/json"

// has tells whether a list has a value.
func has(list []any, v any) bool {
	for _, other := range list {
		if wjson.Equal(other, v) {
			return true
		}
	}
	return false
}

// Enums adds the values of every enum of the tool's params to those that are known by the names of the params, up to eight of each.
func (t *Tool) Enums(into map[string][]any) {
	all, of := t.properties()
	for _, name := range all {
		s, _ := of[name].(object)
		list, _ := s["enum"].([]any)
		for _, v := range list {
			if len(into[name]) < 8 && !has(into[name], v) {
				into[name] = append(into[name], v)
			}
		}
	}
}
