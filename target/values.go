package target

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Duration is a span of time. In YAML it is written with its unit: 2s, 150ms, 1m30s.
type Duration struct{ time.Duration }

// Bytes is a size. In YAML it is a whole number of bytes, or a number with a unit: 64KiB, 8MiB.
type Bytes int64

// Pointer is a JSON Pointer (RFC 6901); "" is the whole document. In YAML a bare name means the member of that name.
type Pointer string

// Pointers are the possible places of one thing, in order of preference. In YAML they are a list or a single value.
type Pointers []Pointer

// Names are the possible names of one thing. In YAML they are a list or a single value.
type Names []string

// Has reports whether name is one of them.
func (l Names) Has(name string) bool { return slices.Contains(l, name) }

// DefaultLimits are the limits of a profile that sets none. They are long, as only a missing answer uses them up, and
// no document forbids a target that waits some seconds for its disk.
func DefaultLimits() Limits {
	return Limits{
		Open: Duration{10 * time.Second}, Event: Duration{10 * time.Second}, Turn: Duration{20 * time.Second},
		HTTP: Duration{10 * time.Second}, Quiet: Duration{150 * time.Millisecond}, Hook: Duration{30 * time.Second},
		Reload: Duration{10 * time.Second}, Scenario: Duration{2 * time.Minute}, MaxEvent: 8 << 20,
	}
}

// defaults sets the defaults of a command.
func (c *Command) defaults() {
	c.Ready.Within = Duration{30 * time.Second}
	c.Stop = Duration{2 * time.Second}
}

// FromYAML implements Decodable.
func (t *Duration) FromYAML(d *Decoder, n ast.Node, path string) error {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		s := n.GetToken().Value
		return d.Fail(path, s+" has no unit", fmt.Sprintf("write %ss or %[1]sms", s))
	}
	s, err := d.Text(n, path)
	if err != nil {
		return err
	}
	span, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return d.Fail(path, fmt.Sprintf("%q is not a duration", s), "write a number with its unit, like 2s, 150ms or 1m30s")
	case span <= 0:
		return d.Fail(path, s+" is not positive", "write a number with its unit, like 2s or 150ms")
	}
	t.Duration = span
	return nil
}

var sized = regexp.MustCompile(`\A([1-9][0-9]*) ?(B|KiB|MiB|GiB)?\z`)

// FromYAML implements Decodable.
func (b *Bytes) FromYAML(d *Decoder, n ast.Node, path string) error {
	s := n.GetToken().Value
	if _, ok := n.(*ast.IntegerNode); !ok {
		var err error
		if s, err = d.Text(n, path); err != nil {
			return err
		}
	}
	m := sized.FindStringSubmatch(s)
	if m == nil {
		return d.Fail(path, fmt.Sprintf("%q is not a size", s), "write a number of bytes, or one with B, KiB, MiB or GiB")
	}
	unit := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
	size, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || size > math.MaxInt64/unit {
		return d.Fail(path, s+" is too large", "")
	}
	*b = Bytes(size * unit)
	return nil
}

// FromYAML implements Decodable.
func (p *Pointer) FromYAML(d *Decoder, n ast.Node, path string) error {
	s, err := d.Text(n, path)
	if err != nil {
		return err
	}
	if *p, err = ParsePointer(s); err != nil {
		return d.Fail(path, err.Error(), "write a name like agentId, or a pointer like /data/agentId")
	}
	return nil
}

// FromYAML implements Decodable.
func (p *Pointers) FromYAML(d *Decoder, n ast.Node, path string) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.list(n, reflect.ValueOf((*[]Pointer)(p)).Elem(), path)
	}
	var only Pointer
	err := only.FromYAML(d, n, path)
	*p = Pointers{only}
	return err
}

// FromYAML implements Decodable.
func (l *Names) FromYAML(d *Decoder, n ast.Node, path string) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.list(n, reflect.ValueOf((*[]string)(l)).Elem(), path)
	}
	only, err := d.Text(n, path)
	*l = Names{only}
	return err
}

// NewCommand returns a command with the defaults.
func NewCommand(run ...string) *Command {
	c := &Command{Run: run}
	c.defaults()
	return c
}
