package script

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/expression"
	"parley/internal/jsonform"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	// namePattern matches a variable, or a member of keyed ones.
	namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)?$`)
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
// the number of the repetition, and that of the message on its connection.
var reserved = []string{"id", "now", "party", "body", "n", numberName}

// numberName names the number of a message among those that are sent on its connection, which is known when it is sent.
const numberName = "sent"

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
		if _, is := expressionIn(name); is {
			continue
		}
		if name == numberName && text != "${"+numberName+"}" {
			p.failAt(n, "${%s} is a value of its own, not a part of a text (seq: ${%[1]s})", numberName)
		}
		if !strings.HasPrefix(name, "/") && !namePattern.MatchString(name) {
			p.failAt(n, "${%s} is neither a variable, such as ${agent}, nor a member of the message, such as ${/agentId} "+
				"(write $${ for a literal ${)", name)
		}
	}
}

// filling fills holes in.
type filling struct {
	vars      map[string]any
	entries   entries
	firsts    map[string]map[string]any
	keys      chosen
	message   any // decoded; nil if it is not JSON
	newID     func() string
	now       string
	party     string
	body      string
	n         int
	kind      string // the type of the message
	state     string
	numbering bool  // a message is filled in that gets a number when it is sent
	numbers   []int // where the number of the message goes, in what is written

	expressions map[string]*expression.Expression
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
	case numberName:
		return nil, errors.New("only a message that is sent has a number")
	}
	if text, is := expressionIn(name); is {
		return f.evaluate(text)
	}
	v, _ := f.variable(name)
	return v, nil
}

// variable returns the value of a variable, and whether it has one.
func (f *filling) variable(name string) (any, bool) {
	if of, member, keyed := strings.Cut(name, "."); keyed {
		return f.keyedValue(of, member), true
	}
	v, there := f.vars[name]
	return v, there
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
			if f.numbering && text == "${"+numberName+"}" {
				f.numbers = append(f.numbers, b.Len())
				return nil
			}
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
