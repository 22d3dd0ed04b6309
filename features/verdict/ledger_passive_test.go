package verdict

import (
	"strings"
	"testing"
)

func TestObserved(t *testing.T) {
	for _, tt := range []struct {
		observed      string
		passive, fine bool
	}{
		{"wire", false, true}, {"passive", true, true}, {"passive+model", true, true}, {"wire+model", false, true},
		{"none", false, true}, {"passively", false, false}, {"passive+", false, false}, {"wire model", false, false},
	} {
		text := strings.Replace(ledger, "    status: tested", "    status: tested\n    observed: "+tt.observed, 1)
		l, err := ParseLedger([]byte(text))
		if (err == nil) != tt.fine {
			t.Errorf("observed %q: %v", tt.observed, err)
			continue
		}
		if err == nil && l.Clauses[0].Passive() != tt.passive {
			t.Errorf("observed %q: passive is %v", tt.observed, !tt.passive)
		}
	}
	excluded := strings.Replace(ledger, "    status: excluded", "    status: excluded\n    observed: passive", 1)
	if _, err := ParseLedger([]byte(excluded)); err == nil {
		t.Error("a clause that is excluded may be passive")
	}
}
