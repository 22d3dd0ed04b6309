// Package json decodes JSON that came off the wire: strictly, and without
// hiding what lenient decoders hide.
//
// A value is nil, bool, [Number], string, []any or [Object], as [Decode]
// returns it:
//
//   - Object keys are case sensitive and never matched to anything.
//   - Numbers keep their literal; no precision is lost.
//   - A text that is not JSON is a [SyntaxError], which names the byte and the
//     reason. That includes an empty text, anything but white space after the
//     value, a byte order mark, and nesting deeper than [MaxDepth].
//   - What JSON's grammar allows and its users should not write is tolerated
//     and reported as [Fault] values: duplicate keys, malformed UTF-8 in
//     strings, lone surrogate escapes.
//
// The other functions take such values, and Go's own in their place: any
// integer or float type, any string or bool type, maps with string keys, slices,
// arrays and pointers, so that an expected value can be written as a Go
// literal. A nil map is an empty object, a nil slice an empty array, a nil
// pointer null. []byte, structs and the rest are no values.
//
// All functions are safe for concurrent use. None bounds the size of its input:
// that is the caller's part, as it is the caller who reads.
package json
