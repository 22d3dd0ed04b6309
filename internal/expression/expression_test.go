package expression

import "testing"

// TestMentions: a name is mentioned where it stands alone, and not as a part of another or as that of a member.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"run": true, "run == 1": true, "1+run": true, "run.state": true, "(run)": true, "é run": true,
		"runs": false, "rerun": false, "it.run": false, "run2": false, "_run": false, "": false, "runs and run": true,
	} {
		if got := (&Expression{Text: text}).Mentions("run"); got != want {
			t.Errorf("%q mentions run: %v", text, got)
		}
	}
}
