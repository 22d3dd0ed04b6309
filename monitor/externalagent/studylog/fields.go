package studylog

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	wjson "parley/wire/json"
)

// index reads an eventIndex: an integer of 64 bits, however its literal is written.
func index(n wjson.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil || math.Abs(f) > 1<<63 || len(n) > 64: // a literal of many digits is not reckoned with
		return 0, false
	case math.Abs(f) < 1:
		digits, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
		return 0, strings.Trim(digits, "-0.") == ""
	}
	exact, ok := new(big.Rat).SetString(string(n))
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() {
		return 0, false
	}
	return exact.Num().Int64(), true
}

// The date and time of ISO 8601, in its extended form and in its basic one; the designator of the zone comes last.
var (
	extended = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?::\d\d)?)?$`)
	basic    = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?:\d\d)?)?$`)
)

// example is the source's form of a timestamp.
const example = "2006-01-02T15:04:05.000Z"

// instant judges a timestamp: what is wrong with it, "" for nothing, and whether it has the form of the example.
func instant(s string) (fault string, asExample bool) {
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
