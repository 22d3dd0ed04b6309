package binding

import "parley/target"

// Shape implements target.Shaped.
func (e *Endpoint) Shape(s *target.Shaper) target.Shape {
	full := s.Of(struct {
		Path   string `yaml:"path"`
		Method string `yaml:"method"`
	}{}, "")
	return target.Shape{"anyOf": []any{target.Shape{"type": "string", "pattern": "^/"}, full}}
}

// Shape implements target.Shaped.
func (c *Correlation) Shape(*target.Shaper) target.Shape {
	text := target.Shape{"type": "string"}
	one := func(more target.Shape) target.Shape {
		more["body"], more["header"] = text, text
		return target.Shape{"type": "object", "additionalProperties": false, "properties": more,
			"oneOf": []any{target.Shape{"required": []any{"body"}}, target.Shape{"required": []any{"header"}}}}
	}
	return target.Shape{"anyOf": []any{target.Shape{"const": "single"},
		one(target.Shape{"create": one(target.Shape{}), "load": one(target.Shape{})})}}
}

// Shape implements target.Shaped.
func (e *Envelope) Shape(s *target.Shaper) target.Shape {
	type shape Envelope // without this method
	return s.Of(shape{}, "agent-select.envelope")
}
