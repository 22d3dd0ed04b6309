package steps

import "testing"

func TestMarkForeign(t *testing.T) {
	m := Mark{Salt: "ab", Session: 3}
	for _, row := range []struct{ reason, text, want string }{
		{"its own nonce", `{"content":"stream lab-3-7 1/4"}`, ""},
		{"another session's", `{"content":"stream lab-31-7 1/4"}`, "lab-31-7"},
		{"its own before another's", "lab-3-1 lab-4-2", "lab-4-2"},
		{"one of another load", "lxy-4-2", ""},
		{"at the end", "said lab-30-12", "lab-30-12"},
		{"none", "hello", ""},
	} {
		if got := m.Foreign(row.text); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
	if got := m.Nonce(12); got != "lab-3-12" {
		t.Errorf("the nonce is %q", got)
	}
}

func TestPieces(t *testing.T) {
	for _, row := range []struct {
		reason string
		all    []string
		wrong  int // index of the first piece that is wrong; -1: none
		whole  bool
	}{
		{"in order", []string{"stream n 1/3 ", "stream n 2/3 ", "stream n 3/3 "}, -1, true},
		{"several at once", []string{"stream n 1/3 stream n 2/3 ", "stream n 3/3 "}, -1, true},
		{"lost", []string{"stream n 1/3 ", "stream n 3/3 "}, 1, false},
		{"twice", []string{"stream n 1/3 ", "stream n 1/3 "}, 1, false},
		{"in another order", []string{"stream n 2/3 ", "stream n 1/3 "}, 0, false},
		{"of another answer", []string{"stream other 2/3 ", "stream n 1/3 "}, -1, false},
	} {
		p, wrong := &Pieces{Nonce: "n", Of: 3}, -1
		for i, text := range row.all {
			if p.CheckPiece(text) != "" && wrong < 0 {
				wrong = i
			}
		}
		if wrong != row.wrong || p.Whole() != row.whole {
			t.Errorf("%s: piece %d is wrong, whole %v", row.reason, wrong, p.Whole())
		}
	}
}

func TestClaims(t *testing.T) {
	c := &Claims{}
	for range 2 { // it may say so again
		if !c.ClaimID("session", "a", 1) || !c.ClaimID("connection", "a", 2) {
			t.Error("an id that nobody else has is refused")
		}
	}
	if c.ClaimID("session", "a", 2) {
		t.Error("a second session may have the id")
	}
	c.ReleaseID("session", "a", 2)
	if c.ClaimID("session", "a", 3) {
		t.Error("whoever does not have the id gives it up")
	}
	c.ReleaseID("session", "a", 1)
	if !c.ClaimID("session", "a", 3) {
		t.Error("an id that was given up is refused")
	}
}
