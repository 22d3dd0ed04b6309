package script

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"parley/internal/yamltext"
)

// node is a value of a YAML document with its place.
type node struct {
	line, column int
	value        any // of a scalar: nil, bool, int64, uint64, float64 or string
	list         []*node
	keys         []*node // of a map: scalars with texts
	vals         []*node
	kind         kind
}

type kind int

const (
	scalar kind = iota
	list
	mapping
)

var kinds = map[kind]string{scalar: "a single value", list: "a list", mapping: "a map"}

// maxDepth bounds the nesting of values.
const maxDepth = 64

// readYAML parses a YAML document.
func readYAML(text []byte) (*node, []*Error) {
	file, err := yamltext.Parse(text)
	if err != nil {
		return nil, []*Error{syntaxError(err)}
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, []*Error{{Line: 1, Column: 1, Text: "the script is empty"}}
	}
	if len(file.Docs) > 1 {
		at := file.Docs[1].GetToken().Position
		return nil, []*Error{{Line: at.Line, Column: at.Column, Text: "a script is one document"}}
	}
	r := &reader{}
	n := r.convertNode(file.Docs[0].Body, 0)
	return n, r.errs
}

// syntaxError returns an error of the YAML parser with its place.
func syntaxError(err error) *Error {
	e := &Error{Line: 1, Column: 1, Text: "not valid YAML"}
	var line, column int
	text := err.Error()
	if n, _ := fmt.Sscanf(text, "[%d:%d]", &line, &column); n == 2 {
		e.Line, e.Column = line, column
		text = strings.TrimSpace(text[strings.Index(text, "]")+1:])
	}
	first, _, _ := strings.Cut(text, "\n")
	e.Text = "not valid YAML: " + first
	return e
}

type reader struct{ errs []*Error }

func (r *reader) failAt(t *token.Token, format string, args ...any) {
	r.errs = append(r.errs, &Error{Line: t.Position.Line, Column: t.Position.Column, Text: fmt.Sprintf(format, args...)})
}

// convertNode converts a value.
func (r *reader) convertNode(from ast.Node, depth int) *node {
	t := from.GetToken()
	n := &node{line: t.Position.Line, column: t.Position.Column}
	if depth > maxDepth {
		r.failAt(t, "it is nested deeper than %d levels", maxDepth)
		return n
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		r.convertEntries(n, v.Values, depth)
	case *ast.MappingValueNode:
		r.convertEntries(n, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range v.Values {
			n.list = append(n.list, r.convertNode(item, depth+1))
		}
	case *ast.LiteralNode:
		n.value = v.Value.Value
	case *ast.StringNode:
		n.value = v.Value
	case *ast.IntegerNode:
		n.value = v.Value
	case *ast.FloatNode:
		n.value = v.Value
	case *ast.BoolNode:
		n.value = v.Value
	case *ast.NullNode:
	default:
		r.failAt(t, "a script has no anchors, aliases, tags or merge keys, and no infinite numbers")
	}
	return n
}

// convertEntries converts the entries of a map.
func (r *reader) convertEntries(n *node, all []*ast.MappingValueNode, depth int) {
	n.kind = mapping
	if len(all) > 0 {
		at := all[0].Key.GetToken().Position
		n.line, n.column = at.Line, at.Column
	}
	for _, entry := range all {
		t := entry.Key.GetToken()
		key := &node{line: t.Position.Line, column: t.Position.Column, value: t.Value}
		if n.valueAt(t.Value) != nil {
			r.failAt(t, "%s is there twice", t.Value)
			continue
		}
		n.keys, n.vals = append(n.keys, key), append(n.vals, r.convertNode(entry.Value, depth+1))
	}
}

// valueAt returns the value of a key; nil if there is none.
func (n *node) valueAt(key string) *node {
	for i, k := range n.keys {
		if k.value == key {
			return n.vals[i]
		}
	}
	return nil
}

// scalarText returns a scalar that is a text; n may be nil.
func (n *node) scalarText() (string, bool) {
	if n == nil {
		return "", false
	}
	s, ok := n.value.(string)
	return s, ok && n.kind == scalar
}
