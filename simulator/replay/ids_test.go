package replay

import "testing"

// TestWords checks how words are found and taken apart.
func TestWords(t *testing.T) {
	var got []string
	const text = `"a":"abcd-1" x, abcde_; 123`
	for at, end := nextWord(text, 0); at < end; at, end = nextWord(text, end) {
		got = append(got, text[at:end])
	}
	if len(got) != 2 || got[0] != "abcd-1" || got[1] != "abcde_" {
		t.Errorf("%q", got)
	}
	for s, want := range map[string]string{"conn_A1": "conn_", "s-parley-1": "s-parley-", "A-b": "", "-a": "", "ab": "",
		"a--b": "a-"} {
		if got := prefixOf(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]bool{"conn_SOP34PLKMHZIAVA3FDUZ": true, "debugger": false, "s-20261123-022": true,
		"requirement_analyzer": false, "agent-2": false, "a b": false, "": false, "1": false} {
		if isSurelyID(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// TestTexts checks that ids and times within texts may differ, and nothing else.
func TestTexts(t *testing.T) {
	i := newIDs()
	for _, row := range []struct {
		want, got string
		same      bool
	}{
		{"log of conn_SOP34PLKMH at 2026-01-31T12:00:00Z.", "log of conn_XEQX4VZDXV at 2027-01-31T12:00:00Z.", true},
		{"again conn_SOP34PLKMH", "again conn_XEQX4VZDXV", true},
		{"again conn_SOP34PLKMH", "again conn_ZEQX4VZDXV", false},
		{"again conn_SOP34PLKMH", "never conn_XEQX4VZDXV", false},
		{"conn_SOP34PLKMH", "conn_XEQX4VZDXV.", false},
		{"a", "b", false}, {"", "", true}, {"", "a", false},
		{"key «redacted»", "key", false}, {"key «redacted»", "key abc", true},
	} {
		if got := i.compareTexts(row.want, row.got); got != row.same {
			t.Errorf("%q, %q: %v", row.want, row.got, got)
		}
	}
}
