package agent

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// generator makes values that a schema may allow. It need not be exact, because the values are validated later.
type generator struct {
	source
	root   object // the target of references
	budget *int   // schemas left to visit: a few schemas can refer to each other very often
}

// Name patterns that give the purpose of a parameter.
var (
	itemNames      = regexp.MustCompile(`(?i)id$|ids$|item|seat|movie|theater|ticket|option|choice`)
	textNames      = regexp.MustCompile(`(?i)text|message|comment|note|content|query`)
	attributeNames = regexp.MustCompile(`(?i)attribute|field|column|^by$`)
)

const mostValues = 256

// values returns values for one parameter, best first.
func (g generator) values(name string, schema any, depth int) (found []any) {
	o, _ := schema.(object)
	o = g.deref(o)
	if *g.budget--; *g.budget < 0 || depth > mostNesting {
		return nil
	}
	if v, present := o["const"]; present {
		return []any{v}
	}
	if enum, isArray := o["enum"].([]any); isArray {
		return g.ordered(enum)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := o[word].([]any)
		for _, b := range branches {
			found = append(found, g.values(name, b, depth+1)...)
		}
	}
	for _, kind := range typesOf(o) {
		found = append(found, g.ofType(kind, name, o, depth)...)
	}
	return found[:min(len(found), mostValues)]
}

// typesOf lists the types that a schema allows; without any, the likely ones.
func typesOf(o object) []string {
	switch kind := o["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		var kinds []string
		for _, v := range kind {
			if k, isText := v.(string); isText {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	if o["properties"] != nil {
		return []string{"object"}
	}
	return []string{"string", "number"}
}

func (g generator) ofType(kind, name string, o object, depth int) []any {
	switch kind {
	case "string":
		return g.strings(name, o)
	case "number", "integer":
		return g.numbers(name, o)
	case "boolean":
		return []any{true, false}
	case "array":
		return g.arrays(name, o, depth)
	case "object":
		found := g.objects(o, depth, func(_ string, required bool) bool { return required })
		return found[:min(len(found), mostValues)]
	case "null":
		return []any{nil}
	}
	return nil
}

// said returns the values given in the schema itself.
func said(o object) (found []any) {
	if v, present := o["default"]; present {
		found = append(found, v)
	}
	examples, _ := o["examples"].([]any)
	return append(found, examples...)
}

// ids returns the ids of the available choices.
func (g generator) ids() (found []any) {
	for _, i := range g.items {
		found = append(found, i.value)
	}
	return found
}

func (g generator) strings(name string, o object) (found []any) {
	switch {
	case textNames.MatchString(name):
		found = append(found, "I am going on with the booking.")
	case attributeNames.MatchString(name):
		found = append(found, said(o)...)
	case itemNames.MatchString(name):
		found = append(g.ids(), said(o)...)
	case name == "value" && g.screen.filtered: // clears the filter
		found = append(found, "")
	default:
		found = append(append(found, said(o)...), g.ids()...)
	}
	found = append(found, "yes")
	least, _ := o["minLength"].(float64)
	most, limited := o["maxLength"].(float64)
	for n, v := range found {
		text, isText := v.(string)
		if !isText {
			continue
		}
		if short := int(least) - len([]rune(text)); short > 0 && short < 10_000 && textNames.MatchString(name) {
			text += strings.Repeat(".", short)
		}
		if runes := []rune(text); limited && len(runes) > int(most) && most >= 0 && textNames.MatchString(name) {
			text = string(runes[:int(most)])
		}
		found[n] = text
	}
	return found
}

func (g generator) numbers(name string, o object) (found []any) {
	if itemNames.MatchString(name) {
		found = append(found, g.ids()...)
	}
	if g.quantity != nil && !itemNames.MatchString(name) {
		return append(found, *g.quantity)
	}
	found = append(found, said(o)...)
	for _, word := range []string{"minimum", "maximum"} {
		if v, isNumber := o[word].(float64); isNumber {
			found = append(found, v)
		}
	}
	if v, isNumber := o["exclusiveMinimum"].(float64); isNumber {
		found = append(found, v+1)
	}
	if v, isNumber := o["multipleOf"].(float64); isNumber {
		found = append(found, v)
	}
	return append(found, 1.0, 0.0)
}

// arrays returns arrays with as few elements as possible, preferably at least one.
func (g generator) arrays(name string, o object, depth int) (found []any) {
	least, _ := o["minItems"].(float64)
	n := max(1, min(int(least), mostValues))
	values := g.values(strings.TrimSuffix(name, "s"), o["items"], depth+1)
	for len(values) >= n {
		found = append(found, slices.Clone(values[:n]))
		values = values[1:]
	}
	if least == 0 {
		found = append(found, []any{})
	}
	return found
}

// ordered moves the available choices to the front and other items to the end.
func (g generator) ordered(enum []any) []any {
	ranks := map[string]int{}
	for _, i := range g.screen.items {
		ranks[i.id] = 1
	}
	for n, i := range g.items {
		ranks[i.id] = n - len(g.items)
	}
	sorted := slices.Clone(enum)
	slices.SortStableFunc(sorted, func(a, b any) int { return ranks[idOf(a)] - ranks[idOf(b)] })
	return sorted[:min(len(sorted), mostValues)]
}

// deref follows a reference within the schema. Members beside it also apply, and take precedence.
func (g generator) deref(o object) object {
	for range mostNesting {
		ref, isRef := o["$ref"].(string)
		if !isRef || !strings.HasPrefix(ref, "#") {
			return o
		}
		merged := object{}
		maps.Copy(merged, g.find(ref))
		for member, v := range o {
			if member != "$ref" {
				merged[member] = v
			}
		}
		o = merged
	}
	return nil
}

// find resolves a local reference, a JSON Pointer; nil if it has no target.
func (g generator) find(ref string) object {
	found := g.root
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		found, _ = found[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(object)
	}
	return found
}
