package target

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxProfile bounds what is parsed: nested YAML is read recursively.
const maxProfile = 64 << 10

// decoder puts a YAML document into a struct. The library parses; the walk over its nodes is ours, because every mistake
// gets a place, words of this domain and a mend, and the checks that follow need the places too.
type decoder struct {
	file string
	at   map[string]place // by path, such as "limits.open" or "drivers[1]"; "" is the document
}

// place is a line and a column, from 1.
type place struct{ line, col int }

// custom is a type that reads its own node.
type custom interface {
	fromYAML(d *decoder, n ast.Node, path string) error
}

// document reads YAML down to the mapping that is the profile, which decode then puts into a struct that holds the
// defaults.
func (d *decoder) document(b []byte) (body ast.Node, err error) {
	d.at = map[string]place{"": {1, 1}}
	switch {
	case len(b) > maxProfile:
		return nil, d.fail("", fmt.Sprintf("a profile of %d bytes is too large", len(b)), fmt.Sprintf("at most %d", maxProfile))
	case !utf8.Valid(b):
		return nil, d.fail("", "the profile is not UTF-8", "")
	}
	body, err = d.parse(bytes.TrimPrefix(b, []byte("\ufeff")))
	if err == nil && body == nil {
		err = d.fail("", "the profile is empty", "give at least a url or a command")
	}
	return body, err
}

// parse gives the body of the only document; nil when there is none.
func (d *decoder) parse(b []byte) (body ast.Node, err error) {
	defer func() { // the parser's own slips are not to end a run
		if r := recover(); r != nil {
			body, err = nil, d.fail("", fmt.Sprintf("the profile is not valid YAML: %v", r), "")
		}
	}()
	f, err := parser.ParseBytes(b, 0)
	var at yaml.Error
	switch {
	case errors.As(err, &at):
		if tok := at.GetToken(); tok != nil {
			d.at[""] = placeOf(tok)
		}
		return nil, d.fail("", "not valid YAML: "+at.GetMessage(), "")
	case err != nil:
		return nil, d.fail("", "not valid YAML: "+err.Error(), "")
	}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.at[""] = d.placeAt(doc.Body)
			return nil, d.fail("", "a second document", "a profile is one YAML document")
		}
		body = doc.Body
	}
	return body, nil
}

// fail is the error at a path, or at what encloses it.
func (d *decoder) fail(path, msg, mend string) error {
	if path != "" {
		msg = path + ": " + msg
	}
	at, ok := d.at[path]
	for !ok {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
		at, ok = d.at[path]
	}
	return &ProfileError{File: d.file, Line: at.line, Col: at.col, Msg: msg, Mend: mend}
}

// decode puts n into v.
func (d *decoder) decode(n ast.Node, v reflect.Value, path string) error {
	if path != "" {
		d.at[path] = d.placeAt(n)
	}
	if err := d.refuse(n, v, path); err != nil {
		return err
	}
	if c, ok := v.Addr().Interface().(custom); ok {
		return c.fromYAML(d, n, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if c, ok := v.Interface().(interface{ defaults() }); ok {
			c.defaults()
		}
		return d.decode(n, v.Elem(), path)
	case reflect.Struct:
		return d.structure(n, v, path)
	case reflect.Map:
		return d.mapping(n, v, path)
	case reflect.Slice:
		return d.list(n, v, path)
	case reflect.Interface:
		value, err := d.any(n, path)
		if err == nil && value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.wrong(n, path, "true or false")
		}
		v.SetBool(b.Value)
		return nil
	case reflect.Int:
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			return d.wrong(n, path, "a whole number")
		}
		value, ok := i.Value.(uint64) // negative ones are int64
		if !ok || value > math.MaxInt32 {
			return d.fail(path, i.Token.Value+" is out of range", "")
		}
		v.SetInt(int64(value))
		return nil
	}
	s, err := d.text(n, path)
	if err == nil {
		v.SetString(s)
	}
	return err
}

// refuse turns down what a profile has no use for, so that what is read is what is written.
func (d *decoder) refuse(n ast.Node, v reflect.Value, path string) error {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return d.fail(path, "anchors and aliases are not read", "write the value out")
	case *ast.TagNode:
		return d.fail(path, "tags are not read", "write the plain value")
	case *ast.NullNode:
		if v.Kind() != reflect.Interface && v.Type() != reflect.TypeFor[Value]() { // a JSON value may be null
			mend := "give it one, or delete the line"
			if strings.HasPrefix(path, "agent-client.hooks.") {
				mend += "; what starts with # is to be quoted"
			}
			return d.fail(path, "has no value", mend)
		}
	}
	return nil
}

// member is one entry of a mapping.
type member struct {
	key   string
	at    place
	value ast.Node
}

// members lists a mapping's entries in order, and refuses duplicates and keys that are no text.
func (d *decoder) members(n ast.Node, path string) ([]member, error) {
	entries, ok := pairs(n)
	if !ok {
		return nil, d.wrong(n, path, "a mapping")
	}
	seen := map[string]bool{}
	var list []member
	for _, e := range entries {
		at := placeOf(e.Key.GetToken())
		key, ok := e.Key.(*ast.StringNode)
		switch {
		case !ok:
			return nil, d.failAt(at, path, fmt.Sprintf("the key %s is not text", e.Key), "quote it")
		case seen[key.Value]:
			return nil, d.failAt(at, path, fmt.Sprintf("the key %q is given twice", key.Value), "")
		}
		seen[key.Value] = true
		d.at[within(path, key.Value)] = at
		value := e.Value
		if isNull(value) { // it has no token of its own
			value = ast.Null(e.Key.GetToken())
		}
		list = append(list, member{key.Value, at, value})
	}
	return list, nil
}

func (d *decoder) structure(n ast.Node, v reflect.Value, path string) error {
	members, err := d.members(n, path)
	if err != nil {
		return err
	}
	fields := map[string]reflect.Value{}
	var known []string
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "-" {
			fields[key] = v.Field(i)
			known = append(known, key)
		}
	}
	for _, m := range members {
		field, ok := fields[m.key]
		if !ok {
			return d.failAt(m.at, path, fmt.Sprintf("unknown key %q", m.key), suggest(m.key, known))
		}
		if err := d.decode(m.value, field, within(path, m.key)); err != nil {
			return err
		}
	}
	return nil
}

// into decodes a mapping into the struct that v points to.
func (d *decoder) into(n ast.Node, v any, path string) error {
	return d.structure(n, reflect.ValueOf(v).Elem(), path)
}

// mapping adds to what v holds already, the defaults.
func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) error {
	members, err := d.members(n, path)
	if err != nil {
		return err
	}
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(members)))
	}
	for _, m := range members {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(m.value, value, within(path, m.key)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(m.key), value)
	}
	return nil
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.wrong(n, path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, value := range seq.Values {
		if value == nil {
			value = ast.Null(seq.GetToken())
		}
		if err := d.decode(value, v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// any is a JSON value: nil, bool, int64, uint64, float64, string, []any or map[string]any.
func (d *decoder) any(n ast.Node, path string) (any, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.IntegerNode:
		if n.Value != nil {
			return n.Value, nil
		}
	case *ast.StringNode, *ast.LiteralNode:
		return d.text(n, path)
	case *ast.SequenceNode:
		var list []any
		err := d.list(n, reflect.ValueOf(&list).Elem(), path)
		return list, err
	case *ast.MappingNode, *ast.MappingValueNode:
		var m map[string]any
		err := d.mapping(n, reflect.ValueOf(&m).Elem(), path)
		return m, err
	}
	return nil, d.wrong(n, path, "a JSON value")
}

func (d *decoder) text(n ast.Node, path string) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		if n.Value != nil {
			return n.Value.Value, nil
		}
	}
	return "", d.wrong(n, path, "text")
}

// wrong is the error about a value of the wrong kind.
func (d *decoder) wrong(n ast.Node, path, want string) error {
	found, mend := "a value", ""
	switch n := n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		found = "text"
		if want == "a list" {
			mend = "write it in brackets: [...]"
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		found = "the number " + n.GetToken().Value
	case *ast.BoolNode:
		found = n.GetToken().Value
	case *ast.NullNode:
		found = "nothing"
	case *ast.SequenceNode:
		found = "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		found = "a mapping"
		if entries, _ := pairs(n); want == "text" && len(entries) == 1 && isNull(entries[0].Value) {
			return d.fail(path, "expected text, found a mapping",
				fmt.Sprintf("a value that starts with { is to be quoted: \"{%s}\"", entries[0].Key))
		}
	}
	if _, scalar := n.(ast.ScalarNode); scalar && want == "text" {
		mend = fmt.Sprintf("quote it: %q", n.GetToken().Value)
	}
	return d.fail(path, fmt.Sprintf("expected %s, found %s", want, found), mend)
}

func (d *decoder) failAt(at place, path, msg, mend string) error {
	if path != "" {
		msg = path + ": " + msg
	}
	return &ProfileError{File: d.file, Line: at.line, Col: at.col, Msg: msg, Mend: mend}
}

// placeAt is where a node begins; that of a block mapping is its first key, as its own token is a colon.
func (d *decoder) placeAt(n ast.Node) place {
	if entries, ok := pairs(n); ok && len(entries) > 0 {
		if m, ok := n.(*ast.MappingNode); !ok || !m.IsFlowStyle {
			return placeOf(entries[0].Key.GetToken())
		}
	}
	return placeOf(n.GetToken())
}

func placeOf(tok *token.Token) place {
	if tok == nil || tok.Position == nil {
		return place{1, 1}
	}
	return place{max(1, tok.Position.Line), max(1, tok.Position.Column)}
}

// pairs lists the entries of a mapping, and whether n is one.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

func within(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
