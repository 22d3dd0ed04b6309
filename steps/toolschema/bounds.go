package toolschema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	wjson "parley/transport/wire/json"
)

// ErrNotUnderstood means that a schema, or params, exceed what is judged.
var ErrNotUnderstood = errors.New("not understood")

// The limits of what is judged; doc.go describes them.
const (
	maxMembers  = 2000
	maxValues   = 20_000
	maxDigits   = 40
	maxExponent = 400
	maxProgram  = 2000    // instructions of a pattern
	maxSteps    = 1 << 16 // for checking one value against one schema

	// far is beyond the range of a schema's numbers, including their powers of two. A number in params that is further
	// away from 1 is moved to it, which changes no comparison.
	far = 2000
)

// resource is what the validator calls the schema of a tool.
const resource = "parley:tool"

func compile(schema object) (s *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("its parameters are %w: %v", ErrNotUnderstood, r)
		}
	}()
	m := &reading{}
	read, err := m.value(schema, true)
	if err != nil {
		return nil, fmt.Errorf("its parameters are %w: %w", ErrNotUnderstood, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	var long error // the error of a pattern, which the validator would replace
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := pattern(text)
		if errors.Is(err, errPattern) {
			long = fmt.Errorf("its parameters are %w: %w", ErrNotUnderstood, err)
		}
		return re, err
	})
	if err := c.AddResource(resource, read); err != nil {
		return nil, fmt.Errorf("its parameters are not a JSON Schema: %w", plainly(err))
	}
	if s, err = c.Compile(resource); long != nil {
		return nil, long
	} else if err != nil {
		return nil, fmt.Errorf("its parameters are not a JSON Schema: %w", plainly(err))
	}
	if err := static(s); err != nil {
		return nil, fmt.Errorf("its parameters are %w: %w", ErrNotUnderstood, err)
	}
	return s, nil
}

// reading copies a schema and counts its contents. The original is not changed.
type reading struct{ members, values int }

// lengths are the keywords whose numbers the validator truncates to an int.
var lengths = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
	"minContains", "maxContains"}

// value copies a value. words says that the members of objects are keywords of JSON Schema, or names above them.
func (m *reading) value(v any, words bool) (any, error) {
	if m.values++; m.values > maxValues {
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	switch v := v.(type) {
	case object:
		if m.members += len(v); m.members > maxMembers {
			return nil, fmt.Errorf("more than %d members", maxMembers)
		}
		out := make(object, len(v))
		for k, x := range v {
			x, err := m.value(x, words && !slices.Contains([]string{"const", "enum", "default", "examples"}, k))
			if err != nil {
				return nil, err
			}
			if n, ok := x.(wjson.Number); ok && words && slices.Contains(lengths, k) {
				x = short(n)
			}
			out[k] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			x, err := m.value(x, words)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case wjson.Number:
		d, err := parse(v, maxDigits)
		if err != nil {
			return nil, err
		}
		if d.Exponent > maxExponent || d.Exponent < -maxExponent {
			return nil, fmt.Errorf("a number with an exponent beyond ±%d", maxExponent)
		}
	}
	return v, nil
}

// short limits a length to an int: no text, list or object is longer.
func short(n wjson.Number) wjson.Number {
	const most = 1 << 31
	if r, ok := number(n); ok && r.IsInt() && (!r.Num().IsInt64() || r.Num().Int64() > most) && r.Sign() > 0 {
		return wjson.Number(strconv.FormatInt(most, 10))
	}
	return n
}

// parse parses a number with at most the given number of digits.
func parse(n wjson.Number, most int) (wjson.Decimal, error) {
	d, _, ok := wjson.DecimalOf(n)
	switch {
	case !ok:
		return d, fmt.Errorf("%s is not a number", strconv.Quote(n.String()))
	case len(d.Digits) > most:
		return d, fmt.Errorf("a number of more than %d digits", most)
	}
	return d, nil
}

// near returns a literal of a number that can be calculated with: short, and not too far away from 1.
func near(d wjson.Decimal, literal wjson.Number) wjson.Number {
	if d.Digits == "" {
		return "0"
	}
	exponent := min(max(d.Exponent, -2*far), far)
	if exponent == d.Exponent && len(literal) <= 100 {
		return literal
	}
	sign := ""
	if d.Negative {
		sign = "-"
	}
	return wjson.Number(sign + d.Digits + "e" + strconv.FormatInt(exponent, 10))
}

// within copies params, with numbers that can be calculated with.
func within(v any) (any, error) {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for k, x := range v {
			x, err := within(x)
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			x, err := within(x)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case wjson.Number:
		d, err := parse(v, far)
		if err != nil {
			return nil, fmt.Errorf("params are %w: %w", ErrNotUnderstood, err)
		}
		return near(d, v), nil
	}
	return v, nil
}

// bounded is a pattern and its number of instructions.
type bounded struct {
	*regexp.Regexp
	size int
}

var errPattern = fmt.Errorf("a pattern of more than %d instructions", maxProgram)

func pattern(text string) (jsonschema.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, errPattern
	}
	re, err := regexp.Compile(text)
	return bounded{re, len(program.Inst)}, err
}

func sizeOf(re jsonschema.Regexp) int {
	if b, ok := re.(bounded); ok {
		return b.size
	}
	return maxProgram
}

// static refuses keywords that the step count does not cover.
func static(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{}
	todo := []*jsonschema.Schema{root}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		switch {
		case len(seen) > maxMembers:
			return fmt.Errorf("more than %d schemas", maxMembers)
		case s.DynamicRef != nil || s.RecursiveRef != nil:
			return errors.New("a dynamic reference")
		case s.MultipleOf != nil && s.MultipleOf.Sign() <= 0:
			return errors.New("a multipleOf that is not above 0")
		}
		todo = append(todo, here(s)...)
		todo = append(todo, ofMembers(s)...)
		todo = append(todo, ofItems(s)...)
	}
	return nil
}

// here returns the schemas that are checked against the same value as s.
func here(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)))
	for _, d := range s.Dependencies {
		if x, ok := d.(*jsonschema.Schema); ok {
			out = append(out, x)
		}
	}
	return out
}

// ofMembers returns the schemas that may be checked against a member of an object or its name, including those of
// properties.
func ofMembers(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat(anyMember(s), slices.Collect(maps.Values(s.Properties)))
}

func anyMember(s *jsonschema.Schema) []*jsonschema.Schema {
	out := append(slices.Collect(maps.Values(s.PatternProperties)), s.PropertyNames, s.UnevaluatedProperties)
	if x, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		out = append(out, x)
	}
	return out
}

// ofItems returns the schemas that may be checked against an item of a list.
func ofItems(s *jsonschema.Schema) []*jsonschema.Schema {
	out := append(slices.Clone(s.PrefixItems), s.Contains, s.Items2020, s.UnevaluatedItems)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		out = append(out, items)
	case []*jsonschema.Schema:
		out = append(out, items...)
	}
	if x, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		out = append(out, x)
	}
	return out
}

// counting counts the steps of checking a value against a schema. It computes each pair of a subschema and a value
// once, and counts it as often as references lead there. The validator takes at most that many steps.
type counting struct {
	values []node
	known  map[pair]int
	open   map[pair]bool
}

// node is a value.
type node struct {
	value   any
	members map[string]int // their indexes in values
	items   []int
	size    int // number of values, including itself
}

type pair struct {
	schema *jsonschema.Schema
	value  int
}

var errTooMany = fmt.Errorf("params are %w: they take more than %d steps", ErrNotUnderstood, maxSteps)

func stepsOf(s *jsonschema.Schema, v any) (int, error) {
	c := &counting{known: map[pair]int{}, open: map[pair]bool{}}
	if !c.add(v) {
		return 0, errTooMany
	}
	n, err := c.steps(s, 0)
	return min(n, maxSteps), err
}

// add adds a value and its contents. It returns false if there are too many.
func (c *counting) add(v any) bool {
	at := len(c.values)
	if at >= maxSteps {
		return false
	}
	c.values = append(c.values, node{value: v})
	n := node{value: v}
	switch v := v.(type) {
	case object:
		n.members = make(map[string]int, len(v))
		for k, x := range v {
			n.members[k] = len(c.values)
			if !c.add(x) {
				return false
			}
		}
	case []any:
		for _, x := range v {
			n.items = append(n.items, len(c.values))
			if !c.add(x) {
				return false
			}
		}
	}
	n.size = len(c.values) - at
	c.values[at] = n
	return true
}

func (c *counting) steps(s *jsonschema.Schema, at int) (int, error) {
	if s == nil {
		return 0, nil
	}
	p := pair{s, at}
	if n, ok := c.known[p]; ok {
		return n, nil
	}
	if c.open[p] {
		return 0, fmt.Errorf("its parameters are %w: a reference leads back to itself", ErrNotUnderstood)
	}
	if len(c.open)+len(c.known) > maxSteps {
		return 0, errTooMany
	}
	c.open[p] = true
	defer delete(c.open, p)

	v := c.values[at]
	total := own(s, &v)
	add := func(s *jsonschema.Schema, at int) error {
		n, err := c.steps(s, at)
		if total += n; err == nil && total > maxSteps {
			err = errTooMany
		}
		return err
	}
	for _, x := range here(s) {
		if err := add(x, at); err != nil {
			return total, err
		}
	}
	for name, member := range v.members {
		for _, x := range append(anyMember(s), s.Properties[name]) {
			if err := add(x, member); err != nil {
				return total, err
			}
		}
	}
	for _, item := range v.items {
		for _, x := range ofItems(s) {
			if err := add(x, item); err != nil {
				return total, err
			}
		}
	}
	if total > maxSteps {
		return total, errTooMany
	}
	c.known[p] = total
	return total, nil
}

// own returns the steps of the schema itself, without its subschemas.
func own(s *jsonschema.Schema, v *node) int {
	width := 1 + len(v.members) + len(v.items)
	n := width + len(s.Required)
	for re := range s.PatternProperties {
		for name := range v.members {
			n += matching(re, name)
		}
	}
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	if s.Const != nil || s.Enum != nil {
		n += v.size
	}
	if s.UniqueItems {
		n += 20 * v.size // few items are compared with each other
	}
	if text, ok := v.value.(string); ok && s.Pattern != nil {
		n += matching(s.Pattern, text)
	}
	return n
}

// matching returns the steps of a pattern, which grow with its instructions times the length of the text.
func matching(re jsonschema.Regexp, text string) int { return 1 + sizeOf(re)*len(text)/1024 }
