package studylog

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	wjson "parley/transport/wire/json"
)

// counts reports whether a number is a 64-bit integer, however its literal is written.
func counts(n wjson.Number) bool {
	d, exact, _ := wjson.DecimalOf(n)
	if !exact || d.Exponent < 0 || d.Exponent+int64(len(d.Digits)) > 19 {
		return exact && d.Digits == ""
	}
	sign := ""
	if d.Negative {
		sign = "-"
	}
	_, err := strconv.ParseInt(sign+d.Digits+strings.Repeat("0", int(d.Exponent)), 10, 64)
	return err == nil || d.Digits == ""
}

// compare compares two numbers to their last digit. told is false if an exponent is too large for that.
func compare(a, b wjson.Number) (order int, told bool) {
	x, exactX, _ := wjson.DecimalOf(a)
	y, exactY, _ := wjson.DecimalOf(b)
	if !exactX || !exactY {
		return 0, false
	}
	sign := func(d wjson.Decimal) int {
		switch {
		case d.Digits == "":
			return 0
		case d.Negative:
			return -1
		}
		return 1
	}
	if order = cmp.Compare(sign(x), sign(y)); order != 0 || sign(x) == 0 {
		return order, true
	}
	// Compare the place of the first digit, and then the digits as texts.
	order = cmp.Or(cmp.Compare(x.Exponent+int64(len(x.Digits)), y.Exponent+int64(len(y.Digits))),
		strings.Compare(x.Digits, y.Digits))
	return order * sign(x), true
}

// ISO 8601 dates and times in the extended and the basic form; the zone designator comes last.
var (
	extended = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)` +
		`(?::(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?::\d\d)?)?$`)
	basic = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?:\d\d)?)?$`)
)

// example is the form of the source's timestamps.
const example = "2006-01-02T15:04:05.000Z"

// instant describes what is odd about a timestamp, or returns "" for an ISO 8601 time in UTC. asExample reports
// whether it has the form of the example.
func instant(s string) (odd string, asExample bool) {
	if len(s) == len(example) && s[19] == '.' {
		if _, err := time.Parse(example, s); err == nil {
			return "", true
		}
	}
	const most = 64 // a fraction may have many digits, but not arbitrarily many
	m := extended.FindStringSubmatch(s)
	if m == nil {
		m = basic.FindStringSubmatch(s)
	}
	switch {
	case m == nil || len(s) > most:
		return "not a date and time of ISO 8601", false
	case !exists(m[1:7]):
		return "not a valid time", false
	case m[7] == "":
		return "without a zone", false
	case strings.Trim(m[7], "Zz+-0:") != "":
		return "not in UTC", false
	}
	return "", false
}

// exists reports whether a date and time are valid. ISO 8601 allows 24:00, and UTC a second 60.
func exists(parts []string) bool {
	var n [6]int
	for i, p := range parts {
		n[i], _ = strconv.Atoi(p) // digits or empty
	}
	day := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	midnight := n[3] == 24 && n[4] == 0 && n[5] == 0
	return day.Month() == time.Month(n[1]) && day.Day() == n[2] && (n[3] < 24 || midnight) && n[4] < 60 && n[5] <= 60
}
