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

// Bytes is a size. In YAML it is a whole number of bytes, or one with a unit: 64KiB, 8MiB.
type Bytes int64

// Pointer is a JSON Pointer (RFC 6901); "" is the whole document. In YAML a bare name means the member of that name.
type Pointer string

// Pointers are the places where one thing may be, the preferred one first. In YAML they are a list, or one alone.
type Pointers []Pointer

// Names are what one thing is called, where it may have several names. In YAML they are a list, or one alone.
type Names []string

func (l Names) has(name string) bool { return slices.Contains(l, name) }

// DefaultLimits are the limits of a profile that says nothing. They are long, as only a missing answer costs them: a target
// that waits for its disk for some seconds is a slow one, and no document forbids that.
func DefaultLimits() Limits {
	return Limits{
		Open: Duration{10 * time.Second}, Event: Duration{10 * time.Second}, Turn: Duration{20 * time.Second},
		HTTP: Duration{10 * time.Second}, Quiet: Duration{150 * time.Millisecond}, Hook: Duration{30 * time.Second},
		Reload: Duration{10 * time.Second}, Scenario: Duration{2 * time.Minute}, MaxEvent: 8 << 20,
	}
}

// defaults are those of a command that a profile gives.
func (c *Command) defaults() {
	c.Ready.Within = Duration{30 * time.Second}
	c.Stop = Duration{2 * time.Second}
}

func (t *Duration) fromYAML(d *decoder, n ast.Node, path string) error {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		s := n.GetToken().Value
		return d.fail(path, s+" has no unit", fmt.Sprintf("write %ss or %[1]sms", s))
	}
	s, err := d.text(n, path)
	if err != nil {
		return err
	}
	span, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return d.fail(path, fmt.Sprintf("%q is no duration", s), "write a number with its unit, like 2s, 150ms or 1m30s")
	case span <= 0:
		return d.fail(path, s+" is not more than nothing", "write a number with its unit, like 2s or 150ms")
	}
	t.Duration = span
	return nil
}

var sized = regexp.MustCompile(`\A([1-9][0-9]*) ?(B|KiB|MiB|GiB)?\z`)

func (b *Bytes) fromYAML(d *decoder, n ast.Node, path string) error {
	s := n.GetToken().Value
	if _, ok := n.(*ast.IntegerNode); !ok {
		var err error
		if s, err = d.text(n, path); err != nil {
			return err
		}
	}
	m := sized.FindStringSubmatch(s)
	if m == nil {
		return d.fail(path, fmt.Sprintf("%q is no size", s), "write a number of bytes, or one with B, KiB, MiB or GiB")
	}
	unit := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
	size, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || size > math.MaxInt64/unit {
		return d.fail(path, s+" is too large", "")
	}
	*b = Bytes(size * unit)
	return nil
}

func (p *Pointer) fromYAML(d *decoder, n ast.Node, path string) error {
	s, err := d.text(n, path)
	if err != nil {
		return err
	}
	if *p, err = ParsePointer(s); err != nil {
		return d.fail(path, err.Error(), "write a name like agentId, or a pointer like /data/agentId")
	}
	return nil
}

func (p *Pointers) fromYAML(d *decoder, n ast.Node, path string) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.list(n, reflect.ValueOf((*[]Pointer)(p)).Elem(), path)
	}
	var only Pointer
	err := only.fromYAML(d, n, path)
	*p = Pointers{only}
	return err
}

func (l *Names) fromYAML(d *decoder, n ast.Node, path string) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.list(n, reflect.ValueOf((*[]string)(l)).Elem(), path)
	}
	only, err := d.text(n, path)
	*l = Names{only}
	return err
}

func (e *Endpoint) fromYAML(d *decoder, n ast.Node, path string) error {
	if _, mapping := pairs(n); !mapping {
		s, err := d.text(n, path)
		if err == nil {
			e.Path = s
		}
		return err
	}
	full := struct {
		Path   string `yaml:"path"`
		Method string `yaml:"method"`
	}{e.Path, e.Method}
	if err := d.into(n, &full, path); err != nil {
		return err
	}
	e.Path, e.Method = full.Path, full.Method
	return nil
}

func (c *Correlation) fromYAML(d *decoder, n ast.Node, path string) error {
	const shapes = "write single, {body: connectionId} or {header: X-Connection-Id}"
	if _, mapping := pairs(n); !mapping {
		s, err := d.text(n, path)
		switch {
		case err != nil:
			return err
		case s != "single":
			return d.fail(path, fmt.Sprintf("unknown correlation %q", s), shapes)
		}
		*c = Correlation{Single: true}
		return nil
	}
	var full struct {
		Body   Pointer      `yaml:"body"`
		Header string       `yaml:"header"`
		Create *Correlation `yaml:"create"`
		Load   *Correlation `yaml:"load"`
	}
	if err := d.into(n, &full, path); err != nil {
		return err
	}
	if (full.Body == "") == (full.Header == "") {
		return d.fail(path, "expected exactly one of body and header", shapes)
	}
	for key, own := range map[string]*Correlation{"create": full.Create, "load": full.Load} {
		if own != nil && (own.Single || own.Create != nil || own.Load != nil) {
			return d.fail(path, key+" is neither single nor told apart any further", "write "+key+": {body: connectionId} or {header: X-Connection-Id}")
		}
	}
	*c = Correlation{Body: full.Body, Header: full.Header, Create: full.Create, Load: full.Load}
	return nil
}

// fromYAML reads an envelope; naming the type in the event: field leaves the data bare unless data says otherwise.
func (e *Envelope) fromYAML(d *decoder, n ast.Node, path string) error {
	members, err := d.members(n, path)
	if err != nil {
		return err
	}
	type shape Envelope // without this method
	if err := d.into(n, (*shape)(e), path); err != nil {
		return err
	}
	bare := true
	for _, m := range members {
		switch s, _ := d.text(m.value, ""); {
		case m.key == "type" && s == "sse-event":
			e.SSEEvent, e.Type = true, ""
		case m.key == "data":
			bare = false
		}
	}
	if e.SSEEvent && bare {
		e.Data = ""
	}
	return nil
}
