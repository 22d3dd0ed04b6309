package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	// holes matches the places that are filled in, ${name} and ${/pointer}, and $${, which stands for a literal ${.
	holes = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}`)
)

// literal is how a text writes a literal ${.
const literal = "$${"

// named returns the names of a text's holes.
func named(text string) (names []string) {
	for _, hole := range holes.FindAllStringSubmatch(text, -1) {
		if hole[0] != literal {
			names = append(names, hole[1])
		}
	}
	return names
}

// reserved are the names that every script knows: a new id at each use, the time of the message, its party, its text,
// and the number of the repetition.
var reserved = []string{"id", "now", "party", "body", "n"}

// template fails for holes that are neither a variable nor a pointer.
func (p *parsing) template(n *node) {
	for _, v := range n.list {
		p.template(v)
	}
	for _, v := range n.vals {
		p.template(v)
	}
	text, ok := n.text()
	if !ok {
		return
	}
	for _, name := range named(text) {
		if !strings.HasPrefix(name, "/") && !variable.MatchString(name) {
			p.fail(n, "${%s} is neither a variable, such as ${agent}, nor a member of the message, such as ${/agentId} "+
				"(write $${ for a literal ${)", name)
		}
	}
}

// filling fills holes in.
type filling struct {
	vars    map[string]any
	message any // decoded; nil if it is not JSON
	newID   func() string
	now     string
	party   string
	body    string
	n       int
}

// errNoMember says that the message lacks a member that a script uses.
type errNoMember string

func (e errNoMember) Error() string { return fmt.Sprintf("the message has no %s", string(e)) }

var errLong = errors.New("with its variables filled in it is too long")

// fill returns the value of a hole.
func (f *filling) fill(name string) (any, error) {
	if strings.HasPrefix(name, "/") {
		v, ok := At(f.message, name)
		if !ok {
			return nil, errNoMember(name)
		}
		return v, nil
	}
	switch name {
	case "id":
		return f.newID(), nil
	case "now":
		return f.now, nil
	case "party":
		return f.party, nil
	case "body":
		return f.body, nil
	case "n":
		return f.n, nil
	}
	return f.vars[name], nil
}

// text fills in the holes of a text. A text that consists of one hole becomes the value itself.
func (f *filling) text(text string) (any, error) {
	if whole := holes.FindStringSubmatch(text); whole != nil && whole[0] == text && text != literal {
		return f.fill(whole[1])
	}
	var failed error
	size := 0
	out := holes.ReplaceAllStringFunc(text, func(hole string) string {
		if hole == literal {
			return literal[1:]
		}
		v, err := f.fill(hole[2 : len(hole)-1])
		if err != nil {
			failed = err
			return ""
		}
		s, ok := plain(v)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				failed = err
			}
			s = string(b)
		}
		if size += len(s); size > MaxBody {
			failed = errLong
			return ""
		}
		return s
	})
	return out, failed
}

// value fills in a value.
func (f *filling) value(n *node) (any, error) {
	b, err := f.json(n)
	if err != nil {
		return nil, err
	}
	return decode(b), nil
}

// json writes a value as JSON, with the members in their order.
func (f *filling) json(n *node) ([]byte, error) {
	var b bytes.Buffer
	err := f.write(&b, n)
	if err == nil && b.Len() > MaxBody {
		err = errLong
	}
	return b.Bytes(), err
}

func (f *filling) write(b *bytes.Buffer, n *node) error {
	if b.Len() > MaxBody {
		return errLong
	}
	switch n.kind {
	case list:
		b.WriteByte('[')
		for i, v := range n.list {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := f.write(b, v); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i, k := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := put(b, k.value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := f.write(b, n.vals[i]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		v := n.value
		if text, ok := v.(string); ok {
			var err error
			if v, err = f.text(text); err != nil {
				return err
			}
		}
		return put(b, v)
	}
	return nil
}

// put writes a value as JSON, without escapes that HTML would need.
func put(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line end
	return nil
}

// message writes the body of a message: a text as it is, anything else as JSON.
func (f *filling) bytes(n *node) ([]byte, error) {
	if n == nil {
		return nil, nil
	}
	text, ok := n.text()
	if !ok {
		return f.json(n)
	}
	v, err := f.text(text)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	return json.Marshal(v)
}
