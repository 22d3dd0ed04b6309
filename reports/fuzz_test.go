package reports

import (
	"bytes"
	"os"
	"testing"
)

// FuzzReadJSON: whatever is read as results can be written, and is then read as the same.
func FuzzReadJSON(f *testing.F) {
	golden, err := os.ReadFile("testdata/results.golden.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, text := range []string{"", "null", "{}", `{"$schema":"https://parley.dev/schema/results-9.json"}`,
		"[[[[", "{\"\xff\":1}",
		`{"$schema":1}`, "\ufeff{}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		res, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := WriteJSON(&once, res); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("what was read and written is not read: %v", err)
		}
		if err := WriteJSON(&twice, again); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("it is not written the same again: %v", err)
		}
		for _, write := range []func() error{
			func() error { return WriteHTML(&once, res) }, func() error { return WriteJUnit(&once, res) },
			func() error { return WriteConsole(&once, res, ConsoleOptions{Width: 80}) }} {
			if err := write(); err != nil {
				t.Error(err)
			}
		}
	})
}
