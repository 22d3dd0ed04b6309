package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// screen is the agent's reading of a uiSpec. The source says only that a uiSpec is an object, so the agent
// understands the terms of the default host and those that other hosts are likely to use.
type screen struct {
	stage      string // identifies the stage
	name       string // its display name; "" if it has none
	items      []item
	shows      bool               // the uiSpec shows what is chosen
	chosen     []string           // ids of the chosen items
	quantities map[string]float64 // nil if there are none
	filtered   bool
	seats      int // number of seats in the summary; 0 if not listed
}

// item is one possible choice.
type item struct {
	id        string
	value     any // the id as it was sent
	label     string
	available bool
	words     []string // words of its label and attributes
}

const (
	mostItems   = 2000
	mostNesting = 16
)

// readScreen reads a uiSpec.
func readScreen(spec object) screen {
	var s screen
	if spec == nil {
		return s
	}
	for _, name := range []string{"stage", "step", "title"} {
		if s.name, _ = spec[name].(string); s.name != "" {
			break
		}
	}
	if list, isArray := spec["items"].([]any); isArray {
		s.addItems(list, 0)
	} else {
		s.findItems(spec, 0)
	}
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if isChoice(name) {
			s.shows = true
			s.recordChosen(spec[name])
		}
	}
	if quantities, isObject := spec["quantities"].(object); isObject {
		s.quantities = map[string]float64{}
		for id, n := range quantities {
			s.quantities[id], _ = n.(float64)
		}
	}
	s.filtered = spec["filter"] != nil
	s.seats = seatsOf(spec["summary"])
	if s.stage = s.name; s.stage == "" { // without a name, the possible choices identify the stage
		for _, i := range s.items {
			s.stage += i.id + "\n"
		}
	}
	return s
}

// isChoice reports whether a member name stands for the chosen items.
func isChoice(name string) bool {
	return strings.HasPrefix(name, "selected") || strings.HasPrefix(name, "chosen") || name == "selection"
}

// findItems finds items at any depth.
func (s *screen) findItems(v any, depth int) {
	if depth > mostNesting {
		return
	}
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !isChoice(name) {
				s.findItems(v[name], depth+1)
			}
		}
	case []any:
		s.addItems(v, depth)
	}
}

// addItems adds the objects that have an id and searches the others.
func (s *screen) addItems(list []any, depth int) {
	for _, v := range list {
		o, _ := v.(object)
		id := idOf(o["id"])
		if id == "" {
			s.findItems(v, depth+1)
			continue
		}
		if len(s.items) == mostItems || slices.ContainsFunc(s.items, func(i item) bool { return i.id == id }) {
			continue
		}
		s.items = append(s.items, readItem(id, o))
		for _, name := range []string{"selected", "chosen", "checked"} {
			if is, isBool := o[name].(bool); isBool {
				s.shows = true
				if is {
					s.chosen = append(s.chosen, id)
				}
			}
		}
	}
}

func readItem(id string, o object) item {
	i := item{id: id, value: o["id"], label: id, available: o["available"] != false}
	for _, name := range []string{"label", "title", "name", "text"} {
		if label, isText := o[name].(string); isText && label != "" {
			i.label = label
			break
		}
	}
	for _, name := range []string{"disabled", "soldOut", "sold", "unavailable"} {
		i.available = i.available && o[name] != true
	}
	i.words = wordsOf(i.label)
	attributes, isObject := o["attributes"].(object)
	if !isObject {
		attributes = o
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch v := attributes[name].(type) {
		case string:
			i.words = append(i.words, wordsOf(v)...)
		case bool:
			if v {
				i.words = append(i.words, wordsOf(name)...)
			}
		}
	}
	return i
}

// idOf returns an id as text; "" for any other value.
func idOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprint(v)
	}
	return ""
}

// recordChosen records what is chosen: an id, an object with an id, or a list of these.
func (s *screen) recordChosen(v any) {
	if list, isArray := v.([]any); isArray {
		for _, v := range list {
			s.recordChosen(v)
		}
		return
	}
	if o, isObject := v.(object); isObject {
		v = o["id"]
	}
	if id := idOf(v); id != "" && !slices.Contains(s.chosen, id) {
		s.chosen = append(s.chosen, id)
	}
}

// seatsOf counts the seats listed in a summary.
func seatsOf(summary any) int {
	lines, _ := summary.([]any)
	for _, v := range lines {
		line, _ := v.(object)
		label, _ := line["label"].(string)
		value, _ := line["value"].(string)
		if value = strings.ToLower(value); !strings.Contains(strings.ToLower(label), "seat") {
			continue
		}
		if n := strings.Count(value, "seat"); n > 0 {
			return n
		}
		return len(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ';' }))
	}
	return 0
}

// sumQuantities returns the sum of the quantities.
func (s screen) sumQuantities() (sum float64) {
	for _, n := range s.quantities {
		sum += n
	}
	return sum
}
