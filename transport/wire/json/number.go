package json

import (
	"strconv"
	"strings"
)

// Decimal is the exact value of a number: digits times ten to the exponent. It
// is normalised (the digits neither start nor end with 0, zero has no digits
// and no sign), so that equal values are equal structs.
type Decimal struct {
	Negative bool
	Digits   string
	Exponent int64
}

// DecimalOf parses a number. ok is false if the literal is not a JSON number;
// exact is false if the exponent is beyond ±2^62, and was clamped to that.
func DecimalOf(n Number) (d Decimal, exact, ok bool) { return parseNumber(string(n)) }

// parseNumber parses a literal. ok is false if it does not match the grammar of
// RFC 8259; exact is false if its exponent is too large to compute with.
func parseNumber(literal string) (d Decimal, exact, ok bool) {
	rest, negative := strings.CutPrefix(literal, "-")
	whole, rest := cutDigits(rest)
	if whole == "" || whole[0] == '0' && len(whole) > 1 {
		return d, false, false
	}
	var fraction string
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = cutDigits(after); fraction == "" {
			return d, false, false
		}
	}
	exponent := "0"
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		sign := ""
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			sign, rest = rest[:1], rest[1:]
		}
		if exponent, rest = cutDigits(rest); exponent == "" {
			return d, false, false
		}
		exponent = sign + exponent
	}
	if rest != "" {
		return d, false, false
	}
	d, exact = normal(negative, whole, fraction, exponent)
	return d, exact, true
}

func normal(negative bool, whole, fraction, exponent string) (d Decimal, exact bool) {
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return Decimal{}, true // whatever its sign and exponent
	}
	e, err := strconv.ParseInt(exponent, 10, 64)
	const most = 1 << 62 // no text is long enough for the sum to overflow
	exact = err == nil && -most <= e && e <= most
	short := strings.TrimRight(digits, "0")
	e = min(max(e, -most), most) + int64(len(digits)-len(short)-len(fraction))
	return Decimal{negative, short, e}, exact
}

// cutDigits returns the digits that s starts with, and the rest.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// equalNumbers compares by value if both are exact, otherwise by literal.
func equalNumbers(a, b Number) bool {
	if a == b {
		return true
	}
	x, exactX, okX := parseNumber(string(a))
	y, exactY, okY := parseNumber(string(b))
	return okX && okY && exactX && exactY && x == y
}
