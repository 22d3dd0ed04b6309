package script

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// test is a condition on a value.
type test struct {
	is     *node          // it equals this, with variables filled in; nil: no condition
	in     []*node        // it equals one of these
	match  *regexp.Regexp // it is a text, or a number, that matches
	exists *bool          // it is present, or absent
	not    *test
}

// test reads a condition: a value, a list of values, or a map with one of match, exists, in and not.
func (p *parsing) test(n *node) test {
	switch n.kind {
	case scalar:
		p.template(n)
		return test{is: n}
	case list:
		for _, item := range n.list {
			p.template(item)
		}
		return test{in: n.list}
	}
	var t test
	if !p.keys(n, "a condition", "match", "exists", "in", "not", "is") {
		return t
	}
	if len(n.keys) != 1 {
		p.fail(n, "a condition has one of is, in, match, exists and not, and this has %d", len(n.keys))
		return t
	}
	v := n.vals[0]
	switch n.keys[0].value {
	case "is":
		p.template(v)
		t.is = v
	case "in":
		if p.is(v, list, "in") {
			t.in = v.list
		}
	case "match":
		t.match = p.regexp(v, "match")
	case "exists":
		b, ok := v.value.(bool)
		if !ok {
			p.fail(v, "exists is true or false")
		}
		t.exists = &b
	case "not":
		inner := p.test(v)
		t.not = &inner
	}
	return t
}

// holds reports whether a value meets a condition; there says that the value is present.
func (t test) holds(v any, there bool, f *filling) bool {
	switch {
	case t.exists != nil:
		return *t.exists == there
	case t.not != nil:
		return !t.not.holds(v, there, f)
	case !there:
		return false
	case t.match != nil:
		text, ok := plain(v)
		return ok && t.match.MatchString(text)
	case t.is != nil:
		want, err := f.value(t.is)
		return err == nil && equal(v, want)
	}
	return slices.ContainsFunc(t.in, func(n *node) bool {
		want, err := f.value(n)
		return err == nil && equal(v, want)
	})
}

// plain returns a text, a number or a bool as a text.
func plain(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// equal compares decoded JSON values: numbers by their values.
func equal(a, b any) bool {
	x, err := json.Marshal(canonical(a))
	if err != nil {
		return false
	}
	y, err := json.Marshal(canonical(b))
	return err == nil && bytes.Equal(x, y)
}

// canonical returns a value with all numbers as float64 where these are exact enough.
func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			if f == float64(int64(f)) {
				return int64(f)
			}
			return f
		}
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = canonical(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = canonical(item)
		}
		return out
	}
	return v
}

// whole returns a YAML number as float64.
func whole(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, v == float64(int64(v))
	}
	return 0, false
}

// decode decodes JSON with exact numbers; nil if it is not JSON.
func decode(body []byte) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}

// at follows a JSON Pointer (RFC 6901).
func at(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, v != nil
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}
