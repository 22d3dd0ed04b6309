package studylog

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	wjson "parley/wire/json"
)

// counts tells whether a number is an integer of 64 bits, however its literal is written.
func counts(n wjson.Number) bool {
	d, told := decimalOf(n)
	switch {
	case !told || d.exponent < 0:
		return false
	case d.digits == "":
		return true
	case d.exponent+int64(len(d.digits)) > 19:
		return false
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	_, err := strconv.ParseInt(sign+d.digits+strings.Repeat("0", int(d.exponent)), 10, 64)
	return err == nil
}

// decimal is the exact value of a number: digits times ten to the exponent. The digits neither start nor end with 0; zero has
// none.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// decimalOf reads a literal of JSON. told: its exponent can be reckoned with.
func decimalOf(n wjson.Number) (d decimal, told bool) {
	rest, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := rest, "0"
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, power = rest[:i], rest[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	kept := strings.TrimRight(digits, "0")
	if kept == "" {
		return decimal{}, true
	}
	exponent, err := strconv.ParseInt(power, 10, 64)
	const edge = 1 << 60
	if err != nil || exponent > edge || exponent < -edge {
		return decimal{}, false
	}
	return decimal{negative, kept, exponent + int64(len(digits)-len(kept)-len(fraction))}, true
}

// compare holds two numbers against each other, to their last digit. Not told: an exponent is too far away for that.
func compare(a, b wjson.Number) (order int, told bool) {
	x, toldX := decimalOf(a)
	y, toldY := decimalOf(b)
	if !toldX || !toldY {
		return 0, false
	}
	if order = cmp.Compare(x.sign(), y.sign()); order != 0 || x.sign() == 0 {
		return order, true
	}
	// The place of the first digit, and then the digits: of the same place they compare as texts do.
	order = cmp.Or(cmp.Compare(x.exponent+int64(len(x.digits)), y.exponent+int64(len(y.digits))), strings.Compare(x.digits, y.digits))
	return order * x.sign(), true
}

// The date and time of ISO 8601, in its extended form and in its basic one; the designator of the zone comes last.
var (
	extended = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?::\d\d)?)?$`)
	basic    = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?:\d\d)?)?$`)
)

// example is the source's form of a timestamp.
const example = "2006-01-02T15:04:05.000Z"

// instant tells what is odd about a timestamp, "" for a time of ISO 8601 in UTC, and whether it has the form of the example.
func instant(s string) (odd string, asExample bool) {
	if len(s) == len(example) && s[19] == '.' {
		if _, err := time.Parse(example, s); err == nil {
			return "", true
		}
	}
	const most = 64 // a fraction may have many digits, and still not any number of them
	m := extended.FindStringSubmatch(s)
	if m == nil {
		m = basic.FindStringSubmatch(s)
	}
	switch {
	case m == nil || len(s) > most:
		return "no date and time of ISO 8601", false
	case !exists(m[1:7]):
		return "no time that there is", false
	case m[7] == "":
		return "without a zone", false
	case strings.Trim(m[7], "Zz+-0:") != "":
		return "not in UTC", false
	}
	return "", false
}

// exists tells whether a year, month, day, hour, minute and second are on the calendar and the clock. ISO 8601 has a
// 24:00, and UTC a second 60.
func exists(parts []string) bool {
	var n [6]int
	for i, p := range parts {
		n[i], _ = strconv.Atoi(p) // digits, or nothing
	}
	day := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	midnight := n[3] == 24 && n[4] == 0 && n[5] == 0
	return day.Month() == time.Month(n[1]) && day.Day() == n[2] && (n[3] < 24 || midnight) && n[4] < 60 && n[5] <= 60
}
