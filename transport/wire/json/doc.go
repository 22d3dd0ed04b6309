// Package json decodes JSON from the wire: strictly, and reporting the defects
// that lenient decoders hide.
//
// A value is nil, bool, [Number], string, []any or [Object], as [Decode]
// returns it:
//
//   - Object keys are case sensitive.
//   - Numbers keep their literal; no precision is lost.
//   - A text that is not JSON is a [SyntaxError], which names the byte and the
//     reason. That includes an empty text, anything but white space after the
//     value, a byte order mark, and nesting deeper than [MaxDepth].
//   - Defects that many decoders accept are tolerated and reported as [Fault]
//     values: duplicate keys, malformed UTF-8 in strings, lone surrogate
//     escapes.
//
// The other functions take such values and also Go's own types: any integer or
// float type, any string or bool type, maps with string keys, slices, arrays
// and pointers, so that an expected value can be written as a Go literal. A nil
// map is an empty object, a nil slice an empty array, a nil pointer null.
// []byte, structs and other types are not values.
//
// All functions are safe for concurrent use. None bounds the size of its input:
// that is up to the caller, who reads it.
package json
