package target

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	bareName   = regexp.MustCompile(`\A[\w$@-]+\z`)
	badEscape  = regexp.MustCompile(`~([^01]|\z)`)
	arrayIndex = regexp.MustCompile(`\A(0|[1-9][0-9]{0,8})\z`)
	unescaper  = strings.NewReplacer("~1", "/", "~0", "~")
)

// ParsePointer parses a JSON Pointer or a bare name, which points to the member of that name.
func ParsePointer(s string) (Pointer, error) {
	switch {
	case bareName.MatchString(s):
		return Pointer("/" + s), nil
	case s != "" && s[0] != '/':
		return "", fmt.Errorf("%q is neither a name nor a JSON Pointer", s)
	case badEscape.MatchString(s):
		return "", fmt.Errorf("%q is not a JSON Pointer: ~ must be written ~0, and / within a name ~1", s)
	}
	return Pointer(s), nil
}

// Get returns what the pointer points to in a decoded JSON value (map[string]any, []any, scalars), and whether it
// exists.
func (p Pointer) Get(doc any) (any, bool) {
	if p == "" {
		return doc, true
	}
	_, rest, _ := strings.Cut(string(p), "/")
	for more := true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if strings.Contains(name, "~") {
			name = unescaper.Replace(name)
		}
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[name]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || !arrayIndex.MatchString(name) || i >= len(d) {
				return nil, false
			}
			doc = d[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// Put sets what the pointer points to in doc, and creates the objects on the way. It replaces members on the way that
// are not objects. It panics for the pointer "", since the whole document cannot be set.
func (p Pointer) Put(doc map[string]any, value any) {
	if err := p.put(doc, value, true); err != nil {
		panic("target: Put: " + err.Error())
	}
}

// Set is Put without loss: a member on the way that is neither an object nor null, or the pointer "", is an error and
// leaves doc unchanged.
func (p Pointer) Set(doc map[string]any, value any) error { return p.put(doc, value, false) }

func (p Pointer) put(doc map[string]any, value any, replace bool) error {
	names := p.names()
	if len(names) == 0 {
		return errors.New("the whole document is not a field")
	}
	last := len(names) - 1
	for _, name := range names[:last] {
		next, ok := doc[name].(map[string]any)
		if !ok {
			if doc[name] != nil && !replace {
				return fmt.Errorf("field %s: %q is not an object", p, name)
			}
			next = map[string]any{}
			doc[name] = next
		}
		doc = next
	}
	doc[names[last]] = value
	return nil
}

// names returns the unescaped reference tokens.
func (p Pointer) names() []string {
	if p == "" {
		return nil
	}
	names := strings.Split(string(p), "/")[1:]
	for i, name := range names {
		names[i] = unescaper.Replace(name)
	}
	return names
}
