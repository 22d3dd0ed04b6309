package sse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LineEnd is one of the line ends of the format.
type LineEnd string

// The line ends.
const (
	LF   LineEnd = "\n"
	CR   LineEnd = "\r"
	CRLF LineEnd = "\r\n"
)

// Append appends the encoding of an item to dst. It uses only these fields:
//
//   - Event: Type, if not empty; ID, if HasID; Data, as a data field for each
//     of its lines, and one if it is empty. A blank line follows.
//   - Comment: Data, as a comment for each of its lines. Nothing is put between
//     the colon and the text.
//   - Retry: Retry. A blank line follows.
//   - BOM: nothing.
//
// Data is split at LF, CR and CRLF: decoding yields \n in their place. A Comment
// before an Event is in the same block.
//
// It returns an error, and dst unchanged, if a type or id contains CR, LF or
// NUL, if any text is not valid UTF-8, if Retry is negative, or if the kind or
// the line end is none of the above.
func Append(dst []byte, it Item, end LineEnd) ([]byte, error) {
	switch end {
	case LF, CR, CRLF:
	default:
		return dst, fmt.Errorf("sse: %q is no line end", string(end))
	}
	switch it.Kind {
	case Event:
		return appendEvent(dst, it, end)
	case Comment:
		if !utf8.ValidString(it.Data) {
			return dst, fmt.Errorf("sse: comment %q is not valid UTF-8", it.Data)
		}
		return appendLines(dst, ":", it.Data, end), nil
	case Retry:
		if it.Retry < 0 {
			return dst, fmt.Errorf("sse: retry %d is negative", it.Retry)
		}
		dst = strconv.AppendInt(append(dst, "retry: "...), it.Retry, 10)
		return append(append(dst, end...), end...), nil
	case BOM:
		return append(dst, bom...), nil
	}
	return dst, fmt.Errorf("sse: items of kind %v cannot be encoded", it.Kind)
}

func appendEvent(dst []byte, it Item, end LineEnd) ([]byte, error) {
	if err := checkLine("event type", it.Type); err != nil {
		return dst, err
	}
	if err := checkLine("event id", it.ID); it.HasID && err != nil {
		return dst, err
	}
	if !utf8.ValidString(it.Data) {
		return dst, fmt.Errorf("sse: data %q is not valid UTF-8", it.Data)
	}
	if it.Type != "" {
		dst = appendLines(dst, "event: ", it.Type, end)
	}
	if it.HasID {
		dst = appendLines(dst, "id: ", it.ID, end)
	}
	dst = appendLines(dst, "data: ", it.Data, end)
	return append(dst, end...), nil
}

// appendLines appends a line of prefix and text for each line of text, at least
// one.
func appendLines(dst []byte, prefix, text string, end LineEnd) []byte {
	for more := true; more; {
		var line string
		line, text, more = cutLine(text)
		dst = append(dst, prefix...)
		dst = append(dst, line...)
		dst = append(dst, end...)
	}
	return dst
}

// checkLine rejects text that a field cannot carry.
func checkLine(what, s string) error {
	switch {
	case strings.ContainsAny(s, "\r\n\x00"):
		return fmt.Errorf("sse: %s %q holds CR, LF or NUL", what, s)
	case !utf8.ValidString(s):
		return fmt.Errorf("sse: %s %q is not valid UTF-8", what, s)
	}
	return nil
}

// cutLine returns the first line of s, the text after its line end, and whether
// it has one.
func cutLine(s string) (line, rest string, ended bool) {
	end := strings.IndexAny(s, "\r\n")
	if end < 0 {
		return s, "", false
	}
	line, rest = s[:end], s[end+1:]
	if s[end] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest, true
}
