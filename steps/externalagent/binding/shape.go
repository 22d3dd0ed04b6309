package binding

import "parley/target"

// Shape implements target.Shaped: any JSON value. Pointers within lists and mappings are not described.
func (v *Value) Shape(*target.Shaper) target.Shape {
	return target.Shape{
		"if": target.Shape{"type": "object", "required": []any{"pointer"}},
		"then": target.Shape{"additionalProperties": false, "properties": target.Shape{
			"pointer": target.Shape{"type": "string"}, "where": target.Shape{"type": "object", "minProperties": 1}}},
	}
}

// Shape implements target.Shaped.
func (c *ToolCall) Shape(s *target.Shaper) target.Shape {
	type shape ToolCall // without this method
	out := s.Of(shape{}, "")
	out["required"] = []any{"tool"}
	return out
}

// Shape implements target.Shaped.
func (p *Provocation) Shape(s *target.Shaper) target.Shape {
	booking := target.Shape{"type": "object", "additionalProperties": false, "required": []any{"booking"},
		"properties": target.Shape{"booking": target.Shape{"const": true}}}
	return target.Shape{"type": "array", "items": target.Shape{"anyOf": []any{booking, s.Of(ToolCall{}, "")}}}
}
