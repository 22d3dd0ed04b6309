package recording

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"parley/transport/transcript"
)

// writes is the environment variable by which this test program becomes one that writes records until it is killed.
const writes = "PARLEY_TEST_WRITES_RECORDING"

func TestMain(m *testing.M) {
	if path := os.Getenv(writes); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes records, and a dot to stdout behind each.
func writeUntilKilled(path string) {
	file, err := os.Create(path)
	if err != nil {
		os.Exit(3)
	}
	w, err := NewWriter(file, Header{Protocol: "p"}, nil)
	for n := 1; err == nil; n++ {
		err = w.Add(transcript.Record{N: n, Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: bytes.Repeat([]byte("0123456789"), 1000)})
		if _, gone := os.Stdout.Write([]byte(".")); gone != nil {
			os.Exit(3)
		}
	}
	os.Exit(3)
}

// TestKilled checks that what a process has written before it was killed is a recording, with all records that it had
// written for certain.
func TestKilled(t *testing.T) {
	path := t.TempDir() + "/killed.jsonl"
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), writes+"="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const certain = 50
	if _, err := io.ReadFull(bufio.NewReaderSize(out, 1), make([]byte, certain)); err != nil {
		t.Error(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	var killed *exec.ExitError
	if err := c.Wait(); !errors.As(err, &killed) || killed.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(text))
	if err != nil || len(got.Records) < certain {
		t.Errorf("%d records, want at least %d: %v", len(got.Records), certain, err)
	}
	// wherever the kill tears a line, what is before it is read
	text = text[:bytes.LastIndexByte(text, '\n')+1] // this one may have torn it anywhere
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for _, at := range []int{last + 1, last + 100, len(text) - 2} {
		cut, err := Read(bytes.NewReader(text[:at]))
		if err != nil || !cut.Torn || len(cut.Records) < certain-1 {
			t.Errorf("torn at %d: %d records, torn %v, %v", at, len(cut.Records), cut.Torn, err)
		}
	}
}

// FuzzRead checks that nothing makes the reader panic, and that what it reads is written and read again as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(first))
	f.Add([]byte(first + `{"n":1,"at_ms":0.5,"dir":"sent","kind":"frame","text":"a"}` + "\n"))
	f.Add([]byte(first + `{"n":7,"at_ms":1e3,"dir":"received","kind":"event","base64":"/w==","late":true}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var file bytes.Buffer
		w, err := NewWriter(&file, got.Header, nil)
		if err == nil {
			err = w.Add(got.Records...)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(&file)
		if err != nil || len(again.Records) != len(got.Records) {
			t.Fatalf("%d records, then %d: %v", len(got.Records), len(again.Records), err)
		}
		for i, r := range again.Records {
			if !bytes.Equal(r.Bytes, got.Records[i].Bytes) || r.N != got.Records[i].N {
				t.Errorf("%+v\n%+v", got.Records[i], r)
			}
		}
	})
}
