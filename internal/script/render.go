package script

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	// holes matches the places that are filled in, ${name} and ${/pointer}, and $${, which stands for a literal ${.
	holes = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}`)
)

// literal is how a text writes a literal ${.
const literal = "$${"

// holeNames returns the names of a text's holes.
func holeNames(text string) (names []string) {
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

// checkTemplate fails for holes that are neither a variable nor a pointer.
func (p *parsing) checkTemplate(n *node) {
	for _, v := range n.list {
		p.checkTemplate(v)
	}
	for _, v := range n.vals {
		p.checkTemplate(v)
	}
	text, ok := n.scalarText()
	if !ok {
		return
	}
	for _, name := range holeNames(text) {
		if !strings.HasPrefix(name, "/") && !variable.MatchString(name) {
			p.failAt(n, "${%s} is neither a variable, such as ${agent}, nor a member of the message, such as ${/agentId} "+
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

// fillHole returns the value of a hole.
func (f *filling) fillHole(name string) (any, error) {
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

// fillText fills in the holes of a text. A text that consists of one hole becomes the value itself.
func (f *filling) fillText(text string) (any, error) {
	if whole := holes.FindStringSubmatch(text); whole != nil && whole[0] == text && text != literal {
		return f.fillHole(whole[1])
	}
	var failed error
	size := 0
	out := holes.ReplaceAllStringFunc(text, func(hole string) string {
		if hole == literal {
			return literal[1:]
		}
		v, err := f.fillHole(hole[2 : len(hole)-1])
		if err != nil {
			failed = err
			return ""
		}
		s, ok := plainText(v)
		if !ok {
			b, err := json.Marshal(v, jsonform.Escaped)
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

// fillValue fills in a value.
func (f *filling) fillValue(n *node) (any, error) {
	b, err := f.writeJSON(n)
	if err != nil {
		return nil, err
	}
	return decodeJSON(b), nil
}

// writeJSON writes a value as JSON, with the members in their order.
func (f *filling) writeJSON(n *node) ([]byte, error) {
	var b bytes.Buffer
	err := f.writeValue(&b, n)
	if err == nil && b.Len() > MaxBody {
		err = errLong
	}
	return b.Bytes(), err
}

func (f *filling) writeValue(b *bytes.Buffer, n *node) error {
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
			if err := f.writeValue(b, v); err != nil {
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
			if err := putJSON(b, k.value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := f.writeValue(b, n.vals[i]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		v := n.value
		if text, ok := v.(string); ok {
			var err error
			if v, err = f.fillText(text); err != nil {
				return err
			}
		}
		return putJSON(b, v)
	}
	return nil
}

// putJSON writes a value as JSON, without escapes that HTML would need.
func putJSON(b *bytes.Buffer, v any) error {
	return json.MarshalWrite(b, v, jsonform.Unescaped)
}

// message writes the body of a message: a text as it is, anything else as JSON.
func (f *filling) fillBody(n *node) ([]byte, error) {
	if n == nil {
		return nil, nil
	}
	text, ok := n.scalarText()
	if !ok {
		return f.writeJSON(n)
	}
	v, err := f.fillText(text)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	return json.Marshal(v, jsonform.Escaped)
}
