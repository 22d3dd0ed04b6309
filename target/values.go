package target

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml/ast"

	wjson "parley/transport/wire/json"
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

// setDefaults sets the defaults of a command.
func (c *Command) setDefaults() {
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
		return d.decodeList(n, reflect.ValueOf((*[]Pointer)(p)).Elem(), path)
	}
	var only Pointer
	err := only.FromYAML(d, n, path)
	*p = Pointers{only}
	return err
}

// FromYAML implements Decodable.
func (l *Names) FromYAML(d *Decoder, n ast.Node, path string) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return d.decodeList(n, reflect.ValueOf((*[]string)(l)).Elem(), path)
	}
	only, err := d.Text(n, path)
	*l = Names{only}
	return err
}

// NewCommand returns a command with the defaults.
func NewCommand(run ...string) *Command {
	c := &Command{Run: run}
	c.setDefaults()
	return c
}

var (
	bareName  = regexp.MustCompile(`\A[\w$@-]+\z`)
	badEscape = regexp.MustCompile(`~([^01]|\z)`)
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
func (p Pointer) Get(doc any) (any, bool) { return wjson.Lookup(doc, string(p)) }

// Put sets what the pointer points to in doc, and creates the objects on the way. It replaces members on the way that
// are not objects. It panics for the pointer "", since the whole document cannot be set.
func (p Pointer) Put(doc map[string]any, value any) {
	if err := p.putValue(doc, value, true); err != nil {
		panic("target: Put: " + err.Error())
	}
}

// Set is Put without loss: a member on the way that is neither an object nor null, or the pointer "", is an error and
// leaves doc unchanged.
func (p Pointer) Set(doc map[string]any, value any) error { return p.putValue(doc, value, false) }

func (p Pointer) putValue(doc map[string]any, value any, replace bool) error {
	if p == "" {
		return errors.New("the whole document is not a field")
	}
	at := jsontext.Pointer(p)
	for name := range at.Parent().Tokens() {
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
	doc[at.LastToken()] = value
	return nil
}

var (
	variable     = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`\A\$\{[A-Za-z_][A-Za-z0-9_]*\}\z`)
)

// expandEnv replaces ${NAME} by environment variables; $${ stands for a literal ${. It also returns the values that
// it inserted.
func expandEnv(s string, env func(string) (string, bool)) (out string, values []string, err error) {
	out = variable.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case strings.HasPrefix(m, "$$"):
			return m[1:]
		case !variableName.MatchString(m):
			err = fmt.Errorf("%q is not the name of an environment variable", m)
			return m
		}
		value, ok := env(m[2 : len(m)-1])
		if !ok && err == nil {
			err = fmt.Errorf("the environment variable %s is not set", m[2:len(m)-1])
		}
		if value != "" {
			values = append(values, value)
		}
		return value
	})
	return out, values, err
}

// filling holds the values of the placeholders for one process.
type filling struct {
	port, url, dir, profile, model string
	port2                          string
	session                        string // "": none, and {session} stays as it is
	driver                         string // how the process is reached; "" if the protocol has only one way
}

// fillPlaceholders replaces the placeholders in s. It does not expand the inserted text.
func (f filling) fillPlaceholders(s string) string {
	pairs := []string{
		anyPort, f.port, anyPort2, f.port2, "{url}", f.url, "{dir}", f.dir, "{profile}", f.profile, "{model}", f.model,
	}
	if f.session != "" {
		pairs = append(pairs, anySession, f.session)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// fillEnvironment returns the environment variables for processes and hooks.
func (f filling) fillEnvironment() []string {
	env := []string{
		"PARLEY_PORT=" + f.port, "PARLEY_PORT2=" + f.port2, "PARLEY_URL=" + f.url, "PARLEY_DIR=" + f.dir,
		"PARLEY_PROFILE_DIR=" + f.profile, "PARLEY_MODEL_URL=" + f.model,
	}
	if f.session != "" {
		env = append(env, "PARLEY_SESSION="+f.session)
	}
	if f.driver != "" {
		env = append(env, "PARLEY_DRIVER="+f.driver)
	}
	return env
}

// mentionsPlaceholder reports whether the process can see the placeholder anywhere.
func (c *Command) mentionsPlaceholder(placeholder string) bool {
	if c == nil {
		return false
	}
	has := func(s string) bool { return strings.Contains(s, placeholder) }
	return slices.ContainsFunc(c.Run, has) || slices.ContainsFunc(slices.Collect(maps.Values(c.Env)), has)
}
