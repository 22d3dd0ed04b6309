// Package toolschema reads the toolSchema that a host announces: what its tools are, which params keep to their
// schemas, and which params break them in which way. The document leaves the form of an item open; these are the forms
// of the default binding. It is pure, and safe for concurrent use.
//
// # The forms of parameters
//
// Parameters are a JSON Schema, or a flat map {param: {type, enum?, optional?}}. They are a JSON Schema if they have a
// word of it whose value is none that describes a param: {"required": ["a"]} is a schema, and {"required": {"type":
// "boolean"}} a flat map. Words that only describe, such as title, make a schema if there is nothing else.
//
// Of a flat map a param is required, unless it has optional: true, required: false or a default. Where any of them has
// required: true, those without such a mark are optional.
//
// A list of parameters is a flat map too: of objects with a name, or of names. So are the forms of other protocols of
// tools understood: {type: "function", function: {…}}, toolName for name, and inputSchema, input_schema or params for
// parameters.
//
// # What JSON Schema does not know
//
// Authors write types such as any, text or STRING, bounds in quotes, a required that is no list. No tool is untestable
// for that. What is plainly meant holds: nullable of OpenAPI, the booleans of draft 4 for exclusive bounds, required:
// true of draft 3, a number in quotes, items of older drafts. Any other word whose value JSON Schema does not know is
// passed over, so that anything is accepted there; what stands within not, oneOf or if is then passed over too, as it
// would refuse for that. Odd says what was passed over. Of such a tool no example counts as settled.
//
// # The bounds
//
// A schema comes off the wire, and so do params. A schema is not understood (ErrNotUnderstood) if it has more than 2000
// members or 20,000 values, a number of more than 40 digits or with an exponent beyond ±400, a pattern that compiles to
// more than 2000 instructions, a dynamic reference, or a reference that leads back to itself for the same value. Nor
// are params of which a number has more than 2000 digits, or which take more than 65,536 steps: those are counted
// beforehand, from the schema and the value, with every pair of them counted once, so that references that multiply
// cost as little as others. Nothing is legal there, no example is made, and nothing is called wrong.
//
// Of each way of being wrong a tool has at most 64 calls, of 256 that are tried.
//
// # Examples
//
// The value of a param is its const; or what is known, if it is in the enum; or the first of the enum; or what is
// known; or its default; or one made up for its type, within the bounds that its own schema states. It is settled
// unless it is made up, where a number at its minimum and a boolean count as settled. A default that breaks the schema
// is left out.
package toolschema
