package runner

import (
	"os"
	"path/filepath"
	"testing"

	"parley/steps"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// TestPrivate: recorded messages, which users may have written, are readable only by whoever runs the harness.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	records := []transcript.Record{{N: 1, Dir: transcript.Sent, Kind: transcript.Frame, Bytes: []byte("x")}}
	res := steps.Result{Records: records}
	if _, err := writeTranscript(dir, "a.txt", Planned{}, res, transcript.NewRedactor()); err != nil {
		t.Fatal(err)
	}
	if _, err := writeRecording(dir, "a.jsonl", recording.Header{}, records, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "a.jsonl"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
