package studylog

import (
	"strings"
	"testing"
)

func TestInstant(t *testing.T) {
	rows := []struct {
		reason, in string
		fault      string
		example    bool
	}{
		{"the source's example", "2026-02-13T10:22:17.123Z", "", true},
		{"a comma", "2026-02-13T10:22:17,123Z", "", false},
		{"no seconds", "2026-02-13T10:22Z", "", false},
		{"the basic form", "20260213T102217Z", "", false},
		{"the basic form with an offset", "20260213T102217.5+0000", "", false},
		{"small letters", "2026-02-13t10:22:17.123z", "", false},
		{"an offset of hours", "2026-02-13T10:22:17+00", "", false},
		{"RFC 3339's unknown zone is UTC", "2026-02-13T10:22:17-00:00", "", false},
		{"a leap second", "2026-12-31T23:59:60Z", "", false},
		{"midnight at a day's end", "2026-02-13T24:00:00Z", "", false},
		{"nothing beyond it", "2026-02-13T24:00:01Z", "not a valid time", false},
		{"a leap day", "2028-02-29T00:00:00.000Z", "", true},
		{"no leap day", "2026-02-29T00:00:00.000Z", "not a valid time", false},
		{"no such month", "2026-13-01T00:00:00Z", "not a valid time", false},
		{"no such minute", "2026-01-01T00:60:00Z", "not a valid time", false},
		{"no such second", "2026-01-01T00:00:61Z", "not a valid time", false},
		{"another zone by minutes", "2026-01-01T00:00:00+00:30", "not in UTC", false},
		{"no T", "2026-02-13 10:22:17.123Z", "not a date and time of ISO 8601", false},
		{"a date alone", "2026-02-13", "not a date and time of ISO 8601", false},
		{"both forms in one", "2026-02-13T102217Z", "not a date and time of ISO 8601", false},
		{"a fraction of any length", "2026-02-13T10:22:17." + strings.Repeat("1", 99) + "Z", "not a date and time of ISO " +
			"8601",
			false},
		{"other digits", "２026-02-13T10:22:17.123Z", "not a date and time of ISO 8601", false},
		{"nothing", "", "not a date and time of ISO 8601", false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if fault, example := instant(r.in); fault != r.fault || example != r.example {
				t.Errorf("instant(%q) = %q, %v; want %q, %v", r.in, fault, example, r.fault, r.example)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	for in, want := range map[string]bool{
		"0": true, "-0": true, "0.000": true, "0e999999999": true, "12": true, "12.0": true, "1.2e1": true, "10.0e-1": true,
		"9223372036854775807": true, "9223372036854775808": false, "9223372036854775807.0": true,
		"-9223372036854775808.0": true, "-9223372036854775809": false,
		"0.5": false, "12.5": false, "1e999999999": false, "1e-999999999": false, "9007199254740993.5": false,
		"1e99999999999999999999":       false,
		"1." + strings.Repeat("0", 99): true,
	} {
		if got := counts(jsonNumber(in)); got != want {
			t.Errorf("counts(%.40s) = %v", in, got)
		}
	}
}

func TestCompare(t *testing.T) {
	// Each number is less than the next; the notations of one are equal.
	order := [][]string{{"-1e999999999"}, {"-12", "-1.2e1"}, {"-2"}, {"-1.5"}, {"-1e-999999999"},
		{"0", "-0", "0.0", "0e5"}, {"1e-999999999"}, {"0.5", "5e-1"}, {"0.51"}, {"1", "1.0", "10e-1", "0.1e1"},
		{"9"}, {"10"}, {"18446744073709551615"}, {"18446744073709551616"}, {"1e999999999", "10e999999998"}, {"2e999999999"}}
	for i, as := range order {
		for j, bs := range order {
			for _, a := range as {
				for _, b := range bs {
					if got, told := compare(jsonNumber(a), jsonNumber(b)); !told || got != cmp2(i, j) {
						t.Errorf("compare(%s, %s) = %d, %v", a, b, got, told)
					}
				}
			}
		}
	}
	if _, told := compare("1", "1e99999999999999999999"); told {
		t.Error("an exponent beyond all is compared")
	}
}

func cmp2(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}
