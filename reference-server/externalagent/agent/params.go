package agent

import (
	"maps"
	"slices"

	proto "parley/protocol/externalagent"
)

// source is where parameter values come from.
type source struct {
	screen   screen
	items    []item   // choices, best first
	quantity *float64 // to set; nil if none
}

const (
	mostParams = 64   // parameter sets tried for one tool in one state
	mostTries  = 1000 // combinations of values

	mostSchemas = 10_000 // schemas visited to make them
)

// params returns parameters that the tool's schema allows, best first. It first tries the required members plus those
// for an item or a quantity.
func (c schemas) params(t proto.Tool, src source) (found []object) {
	schema := toSchema(t.Parameters)
	compiled := c.compile(schema)
	budget := mostSchemas
	g := generator{source: src, root: schema, budget: &budget}
	seen := map[string]bool{}
	for _, choose := range []func(name string, required bool) bool{
		func(name string, required bool) bool { return required || g.meant(name) },
		func(_ string, required bool) bool { return required },
		func(string, bool) bool { return true },
	} {
		for _, v := range g.objects(schema, 0, choose) {
			if len(found) == mostParams {
				return found
			}
			params := v.(object)
			text := canonical(params)
			if seen[text] {
				continue
			}
			seen[text] = true
			if compiled == nil || compiled.Validate(params) == nil {
				found = append(found, params)
			}
		}
	}
	return found
}

// meant reports whether a parameter selects an item, when there is one to choose, or sets the wanted quantity.
func (g generator) meant(name string) bool {
	return len(g.items) > 0 && itemNames.MatchString(name) || g.quantity != nil && counting.MatchString(name)
}

// objects returns objects with the chosen members in all combinations; the last name varies fastest.
func (g generator) objects(schema object, depth int, choose func(name string, required bool) bool) (found []any) {
	schema = g.deref(schema)
	properties, _ := schema["properties"].(object)
	requiredNames, _ := schema["required"].([]any)
	var names []string
	var values [][]any
	for _, name := range membersOf(properties, requiredNames) {
		if choose(name, slices.Contains(requiredNames, any(name))) {
			names = append(names, name)
			values = append(values, g.values(name, properties[name], depth+1))
		}
	}
	at := make([]int, len(names))
	for range mostTries {
		o := object{}
		for n, name := range names {
			if len(values[n]) == 0 {
				return nil // no value for it
			}
			o[name] = values[n][at[n]]
		}
		found = append(found, o)
		n := len(names) - 1
		for ; n >= 0; n-- {
			if at[n]++; at[n] < len(values[n]) {
				break
			}
			at[n] = 0
		}
		if n < 0 {
			break
		}
	}
	return found
}

// membersOf lists the properties, then the required members that are not properties.
func membersOf(properties object, required []any) []string {
	names := slices.Sorted(maps.Keys(properties))
	for _, v := range required {
		if name, isText := v.(string); isText && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
