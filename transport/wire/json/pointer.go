package json

import (
	"fmt"
	"strings"
)

// ParsePointer returns the unescaped reference tokens of a JSON pointer (RFC
// 6901). It returns an error if the pointer is neither empty nor starts with a
// slash, or if a tilde is followed by neither 0 nor 1. The empty pointer refers
// to the whole value and has no tokens.
func ParsePointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("JSON pointer %q does not start with a slash", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		for _, after := range strings.Split(token, "~")[1:] {
			if after == "" || after[0] != '0' && after[0] != '1' {
				return nil, fmt.Errorf("JSON pointer %q has a tilde that is neither ~0 nor ~1", pointer)
			}
		}
		tokens[i] = unescape.Replace(token)
	}
	return tokens, nil
}

// FormatPointer returns the JSON pointer of tokens: the inverse of
// [ParsePointer].
func FormatPointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		escape.WriteString(&b, token)
	}
	return b.String()
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~") // in one pass: ~01 is ~1
)

// Lookup returns the value in v that pointer refers to (RFC 6901), and whether
// there is one. A malformed pointer refers to nothing: use [ParsePointer] for a
// pointer that a user wrote.
func Lookup(v any, pointer string) (any, bool) {
	tokens, err := ParsePointer(pointer)
	if err != nil {
		return nil, false
	}
	for _, token := range tokens {
		container, err := view(v)
		if err != nil {
			return nil, false
		}
		switch c := container.(type) {
		case Object:
			member, ok := c[token]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, ok := index(token)
			if !ok || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// index parses an array index: digits without leading zeros. It rejects an
// index that no array can have.
func index(token string) (i int, ok bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, true
}
