// Package toolschema reads the toolSchema that a host announces: its tools, which params keep to their schemas, and
// which params break them in which way. The document leaves the form of an item open; these are the forms of the
// default binding. The package is pure and safe for concurrent use.
//
// # The forms of parameters
//
// Parameters are a JSON Schema or a flat map {param: {type, enum?, optional?}}. They are a JSON Schema if they have a
// keyword of JSON Schema whose value does not describe a param: {"required": ["a"]} is a schema, {"required":
// {"type": "boolean"}} a flat map. Keywords that only describe, such as title, make a schema if there is nothing
// else.
//
// In a flat map a param is required unless it has optional: true, required: false or a default. If any param has
// required: true, those without such a mark are optional.
//
// A list of parameters is a flat map too: a list of objects with a name, or of names. The forms of other tool
// protocols are also understood: {type: "function", function: {…}}, toolName for name, and inputSchema, input_schema
// or params for parameters.
//
// # What JSON Schema does not know
//
// Authors write types such as any, text or STRING, bounds in quotes, or a required that is not a list. This does not
// make a tool untestable. Obvious meanings are accepted: nullable of OpenAPI, the booleans of draft 4 for exclusive
// bounds, required: true of draft 3, a number in quotes, items of older drafts. Any other keyword whose value JSON
// Schema does not know is ignored, so that anything is accepted there. Then not, oneOf and if are ignored too,
// because there this would cause refusals. Odd reports what was ignored. No example for such a tool counts as
// settled.
//
// # The bounds
//
// Schemas and params come off the wire. A schema is not understood (ErrNotUnderstood) if it has more than 2000
// members or 20,000 values, a number of more than 40 digits or with an exponent beyond ±400, a pattern that compiles
// to more than 2000 instructions, a dynamic reference, or a reference that leads back to itself for the same value.
// Params are not understood if a number has more than 2000 digits, or if they take more than 65,536 steps. Steps are
// counted beforehand from the schema and the value. The count computes each pair of the two once, so it is cheap even
// for references that multiply. What is not understood is not legal, yields no example, and is never called wrong.
//
// For each way of being wrong, a tool has at most 64 calls, out of 256 that are tried.
//
// # Examples
//
// The value of a param is the first available of: its const; a known value, if it is in the enum; the first of the
// enum; a known value; its default; a value made up for its type, within the bounds of its own schema. A value is
// settled unless it is made up, but a made-up boolean and a number at its minimum also count as settled. A default
// that breaks the schema is omitted.
package toolschema
