package visit

import (
	"reflect"
	"slices"
	"strings"

	"parley/steps/agentclient/binding"
	server "parley/steps/agentselect/binding"
)

// AsksFor reports whether a request, in the form of Asked, is for an endpoint.
func AsksFor(label string, e server.Endpoint) bool {
	path, _, _ := strings.Cut(label, "?")
	return path == e.Method+" "+e.Path
}

// Keys returns the keys of the hooks that are on a page from the start, in profile order. The others describe how to
// read later content.
func Keys() []string {
	later := []string{"log-row", "level-info", "level-error", "loading", "dismiss", "session"}
	var out []string
	for f := range reflect.TypeFor[binding.PageHooks]().Fields() {
		if key := f.Tag.Get("yaml"); !slices.Contains(later, key) {
			out = append(out, key)
		}
	}
	return out
}

// Hooks returns the hooks of a profile by key.
func Hooks(h binding.PageHooks) map[string]string {
	out := map[string]string{}
	for f, v := range reflect.ValueOf(h).Fields() {
		out[f.Tag.Get("yaml")] = v.String()
	}
	return out
}
