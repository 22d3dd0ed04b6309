package reports

import (
	"bytes"
	"errors"
	"testing"
)

// TestSeal alters each byte of a results file: the seal finds it. A file without a seal is told apart.
func TestSeal(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, &Results{Runs: []Run{{Protocol: `"seal": "sha256:`}}}); err != nil {
		t.Fatal(err)
	}
	if err := CheckSeal(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	for i := range b.Bytes() {
		altered := bytes.Clone(b.Bytes())
		altered[i] ^= 1
		if CheckSeal(altered) == nil {
			t.Errorf("byte %d can be altered", i)
		}
	}
	if err := CheckSeal([]byte(`{"schema": "x"}`)); !errors.Is(err, ErrUnsealed) {
		t.Errorf("without a seal: %v", err)
	}
}
