package runner

import "testing"

// TestNonce: a rerun of a scenario uses neither the sessions nor the releases of its first run.
func TestNonce(t *testing.T) {
	r, d := &run{salt: 0xabc}, &driverRun{name: "ws"}
	for _, want := range []string{"sc-4-1-1-11-ws-abc", "sc-4-1-1-11-ws-abcr2", "sc-4-1-1-11-ws-abcr3"} {
		if got := r.nonce(d, "SC-4.1.1-11"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := r.nonce(&driverRun{name: "ws"}, "SC-4.1.1-11"); got != "sc-4-1-1-11-ws-abc" {
		t.Errorf("another driver's is %q", got)
	}
}
