package target

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"parley/internal/words"
	"parley/internal/yamltext"
)

// maxProfile bounds the size of a profile: nested YAML is read recursively.
const maxProfile = 64 << 10

// Decoder decodes a YAML document into a struct. The library only parses. We walk the nodes ourselves, because every
// error needs a position, domain terms and a fix, and later checks need the positions too.
type Decoder struct {
	file string
	at   map[string]place // by path, such as "limits.open" or "drivers[1]"; "" is the document
	skip map[string]bool  // sections that are reported already, or whose protocol is not known
}

// place is a line and a column, from 1.
type place struct{ line, col int }

// Decodable is a type that decodes its own node. Path is the node's place in the profile, such as "limits.open".
type Decodable interface {
	FromYAML(d *Decoder, n ast.Node, path string) error
}

// parseDocument parses YAML and returns the mapping that is the profile. decode then puts it into a struct with the
// defaults.
func (d *Decoder) parseDocument(b []byte) (body ast.Node, err error) {
	d.at = map[string]place{"": {1, 1}}
	switch {
	case len(b) > maxProfile:
		return nil, d.Fail("", fmt.Sprintf("a profile of %d bytes is too large", len(b)),
			fmt.Sprintf("at most %d", maxProfile))
	case !utf8.Valid(b):
		return nil, d.Fail("", "the profile is not UTF-8", "save it as UTF-8")
	}
	body, err = d.parseBody(bytes.TrimPrefix(b, []byte("\ufeff")))
	if err == nil && body == nil {
		err = d.Fail("", "the profile is empty", "give at least a url or a command")
	}
	return body, err
}

// parseBody returns the body of the only document; nil if there is none.
func (d *Decoder) parseBody(b []byte) (body ast.Node, err error) {
	f, err := yamltext.Parse(b)
	var at yaml.Error
	switch {
	case errors.As(err, &at):
		if tok := at.GetToken(); tok != nil {
			d.at[""] = placeOf(tok)
		}
		return nil, d.Fail("", "not valid YAML: "+at.GetMessage(), "")
	case err != nil:
		return nil, d.Fail("", "not valid YAML: "+err.Error(), "")
	}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.at[""] = d.placeAt(doc.Body)
			return nil, d.Fail("", "a second document", "a profile is one YAML document")
		}
		body = doc.Body
	}
	return body, nil
}

// Fail returns an error located at a path, or at what encloses it.
func (d *Decoder) Fail(path, msg, mend string) error {
	about, whole := path, path == "" && strings.HasPrefix(msg, "expected a mapping")
	if path != "" {
		msg = path + ": " + msg
	}
	at, ok := d.at[path]
	for !ok {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
		at, ok = d.at[path]
	}
	return &ProfileError{File: d.file, Line: at.line, Col: at.col, Msg: msg, Mend: mend, about: about, whole: whole}
}

// decode decodes n into v.
func (d *Decoder) decode(n ast.Node, v reflect.Value, path string) error {
	if path != "" {
		d.at[path] = d.placeAt(n)
	}
	if err := d.rejectUnusedYAML(n, v, path); err != nil {
		return err
	}
	if c, ok := v.Addr().Interface().(Decodable); ok {
		return c.FromYAML(d, n, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if c, ok := v.Interface().(interface{ setDefaults() }); ok {
			c.setDefaults()
		}
		return d.decode(n, v.Elem(), path)
	case reflect.Struct:
		return d.decodeStruct(n, v, path)
	case reflect.Map:
		return d.decodeMapping(n, v, path)
	case reflect.Slice:
		return d.decodeList(n, v, path)
	case reflect.Interface:
		value, err := d.Any(n, path)
		if err == nil && value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return d.wrongKindError(n, path, "true or false")
		}
		v.SetBool(b.Value)
		return nil
	case reflect.Int:
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			return d.wrongKindError(n, path, "a whole number")
		}
		value, ok := i.Value.(uint64) // negative numbers are int64
		if !ok || value > math.MaxInt32 {
			return d.Fail(path, i.Token.Value+" is out of range", "")
		}
		v.SetInt(int64(value))
		return nil
	}
	s, err := d.Text(n, path)
	if err == nil {
		v.SetString(s)
	}
	return err
}

// rejectUnusedYAML rejects YAML features that a profile does not use, so that what is read is what is written.
func (d *Decoder) rejectUnusedYAML(n ast.Node, v reflect.Value, path string) error {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return d.Fail(path, "anchors and aliases are not read", "write the value out")
	case *ast.TagNode:
		return d.Fail(path, "tags are not read", "write the plain value")
	case *ast.NullNode:
		if v.Kind() != reflect.Interface && !isNullable(v) { // a JSON value may be null
			mend := "give it one, or delete the line"
			if v.Kind() == reflect.String {
				mend += "; a value that starts with # must be quoted"
			}
			return d.Fail(path, "has no value", mend)
		}
	}
	return nil
}

// Nullable marks types whose values may be null.
type Nullable interface{ Nullable() }

func isNullable(v reflect.Value) bool {
	_, is := v.Addr().Interface().(Nullable)
	return is
}

// Member is one entry of a mapping.
type Member struct {
	Key   string
	Value ast.Node

	at place
}

// Members lists the entries of a mapping in order. Duplicates, and keys that are not text, are errors, and not in the
// list.
func (d *Decoder) Members(n ast.Node, path string) ([]Member, error) {
	entries, ok := mappingEntries(n)
	if !ok {
		return nil, d.wrongKindError(n, path, "a mapping")
	}
	seen := map[string]bool{}
	var list []Member
	var errs []error
	for _, e := range entries {
		at := placeOf(e.Key.GetToken())
		key, ok := e.Key.(*ast.StringNode)
		switch {
		case !ok:
			errs = append(errs, d.failAt(at, path, fmt.Sprintf("the key %s is not text", e.Key), "quote it"))
			continue
		case seen[key.Value]:
			errs = append(errs, d.failAt(at, path, fmt.Sprintf("the key %q is given twice", key.Value), ""))
			continue
		}
		seen[key.Value] = true
		d.at[Within(path, key.Value)] = at
		value := e.Value
		if isNull(value) { // null has no token of its own
			value = ast.Null(e.Key.GetToken())
		}
		list = append(list, Member{key.Value, value, at})
	}
	return list, Together(errs...)
}

func (d *Decoder) decodeStruct(n ast.Node, v reflect.Value, path string) error {
	members, err := d.Members(n, path)
	errs := []error{err}
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "-" && key != "" {
			fields[key] = v.Field(i)
		}
	}
	if p, ok := v.Addr().Interface().(*Profile); ok {
		for _, s := range p.Sections {
			fields[s.Key] = reflect.ValueOf(s.Value).Elem()
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	for _, m := range members {
		field, ok := fields[m.Key]
		switch {
		case path == "" && d.skip[m.Key]:
		case ok:
			errs = append(errs, d.decode(m.Value, field, Within(path, m.Key)))
		default:
			errs = append(errs, d.unknownKeyError(m, path, known))
		}
	}
	return Together(errs...)
}

// unknownKeyError returns the error about a key that a mapping does not have. It is about the key that was probably
// meant.
func (d *Decoder) unknownKeyError(m Member, path string, known []string) error {
	err := d.failAt(m.at, path, fmt.Sprintf("unknown key %q", m.Key), suggestWord(m.Key, known))
	if near := words.Near(m.Key, known, 1); len(near) > 0 {
		err.about = Within(path, near[0])
	}
	return err
}

// Into decodes a mapping into the struct that v points to.
func (d *Decoder) Into(n ast.Node, v any, path string) error {
	return d.decodeStruct(n, reflect.ValueOf(v).Elem(), path)
}

// ListInto decodes a list into the slice that v points to.
func (d *Decoder) ListInto(n ast.Node, v any, path string) error {
	return d.decodeList(n, reflect.ValueOf(v).Elem(), path)
}

// Place records the position of a path's node, for Fail.
func (d *Decoder) Place(path string, n ast.Node) { d.at[path] = d.placeAt(n) }

// NewDecoder makes a decoder for a value outside profiles: its errors are *ProfileError without a position.
func NewDecoder() *Decoder { return &Decoder{at: map[string]place{"": {}}} }

// decodeMapping decodes into what v already holds, the defaults.
func (d *Decoder) decodeMapping(n ast.Node, v reflect.Value, path string) error {
	members, err := d.Members(n, path)
	errs := []error{err}
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(members)))
	}
	for _, m := range members {
		value := reflect.New(v.Type().Elem()).Elem()
		errs = append(errs, d.decode(m.Value, value, Within(path, m.Key)))
		v.SetMapIndex(reflect.ValueOf(m.Key), value)
	}
	return Together(errs...)
}

func (d *Decoder) decodeList(n ast.Node, v reflect.Value, path string) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.wrongKindError(n, path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	var errs []error
	for i, value := range seq.Values {
		if value == nil {
			value = ast.Null(seq.GetToken())
		}
		errs = append(errs, d.decode(value, v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
	}
	return Together(errs...)
}

// Any returns a JSON value: nil, bool, int64, uint64, float64, string, []any or map[string]any.
func (d *Decoder) Any(n ast.Node, path string) (any, error) {
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
		return d.Text(n, path)
	case *ast.SequenceNode:
		var list []any
		err := d.decodeList(n, reflect.ValueOf(&list).Elem(), path)
		return list, err
	case *ast.MappingNode, *ast.MappingValueNode:
		var m map[string]any
		err := d.decodeMapping(n, reflect.ValueOf(&m).Elem(), path)
		return m, err
	}
	return nil, d.wrongKindError(n, path, "a JSON value")
}

// Text returns the value of a text node.
func (d *Decoder) Text(n ast.Node, path string) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		if n.Value != nil {
			return n.Value.Value, nil
		}
	}
	return "", d.wrongKindError(n, path, "text")
}

// wrongKindError returns the error about a value of the wrong kind.
func (d *Decoder) wrongKindError(n ast.Node, path, want string) error {
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
		if entries, _ := mappingEntries(n); want == "text" && len(entries) == 1 && isNull(entries[0].Value) {
			return d.Fail(path, "expected text, found a mapping",
				fmt.Sprintf("a value that starts with { must be quoted: \"{%s}\"", entries[0].Key))
		}
	}
	if _, scalar := n.(ast.ScalarNode); scalar && want == "text" {
		mend = fmt.Sprintf("quote it: %q", n.GetToken().Value)
	}
	return d.Fail(path, fmt.Sprintf("expected %s, found %s", want, found), mend)
}

func (d *Decoder) failAt(at place, path, msg, mend string) *ProfileError {
	about := path
	if path != "" {
		msg = path + ": " + msg
	}
	return &ProfileError{File: d.file, Line: at.line, Col: at.col, Msg: msg, Mend: mend, about: about}
}

// placeAt returns where a node begins. A block mapping begins at its first key, as its own token is a colon.
func (d *Decoder) placeAt(n ast.Node) place {
	if entries, ok := mappingEntries(n); ok && len(entries) > 0 {
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

// mappingEntries returns the entries of a mapping, and whether n is one.
func mappingEntries(n ast.Node) ([]*ast.MappingValueNode, bool) {
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

// Within returns the path of a key below a path.
func Within(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// IsMapping reports whether a node is a mapping.
func IsMapping(n ast.Node) bool {
	_, is := mappingEntries(n)
	return is
}
