package recording

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/internal/schematest"
	"parley/transport/transcript"
)

// TestRoundTrip checks that what is written is read again, and that each line is one of the schema.
func TestRoundTrip(t *testing.T) {
	schema := schematest.Compile(t, Schema())
	word := rapid.StringOfN(rapid.Rune(), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		h := Header{Protocol: word.Draw(t, "protocol"), Driver: word.Draw(t, "driver"), By: word.Draw(t, "by"),
			Began: time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "began"), 5).UTC()}
		var want []transcript.Record
		for n := range rapid.IntRange(0, 5).Draw(t, "records") {
			r := transcript.Record{N: 2*n + 1, At: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "at")) * time.Microsecond,
				Conn: word.Draw(t, "party"), Dir: rapid.SampledFrom(dirs).Draw(t, "dir"),
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Label: word.Draw(t, "label"),
				Headers: word.Draw(t, "headers"),
				Trace:   word.Draw(t, "traceparent"),
				Status:  rapid.IntRange(0, 5000).Draw(t, "status"), Type: word.Draw(t, "type"),
				Cut: rapid.IntRange(0, 9).Draw(t, "cut"), Reply: rapid.IntRange(0, 9).Draw(t, "to"),
				Flushed: rapid.Bool().Draw(t, "flushed"), Late: rapid.Bool().Draw(t, "late")}
			if rapid.Bool().Draw(t, "payload") {
				r.Bytes = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
			want = append(want, r)
		}
		var file bytes.Buffer
		w, err := NewWriter(&file, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(want...); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(file.Bytes()) {
			if err := schema.JSON(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		got, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Recording{Header: h, Records: want}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

const first = `{"parley":"recording","version":1}` + "\n"

// TestRead checks what is read, and what is refused with the place.
func TestRead(t *testing.T) {
	const ok = `{"n":1,"at_ms":0.5,"dir":"sent","kind":"frame","text":"a"}`
	for name, c := range map[string]struct {
		text, err string
		records   int
		torn      bool
	}{
		"header alone":        {text: first},
		"a byte order mark":   {text: "\ufeff" + first + ok + "\n", records: 1},
		"a record":            {text: first + ok + "\n", records: 1},
		"an unknown member":   {text: first + strings.Replace(ok, `{`, `{"colour":"red",`, 1) + "\n", records: 1},
		"torn":                {text: first + ok + "\n" + ok[:20], records: 1, torn: true},
		"no line feed":        {text: first + ok, records: 1},
		"torn before its end": {text: first + ok[:len(ok)-1], torn: true},
		"empty":               {err: "line 1: it is empty or torn"},
		"torn header":         {text: first[:9], err: "line 1: it is empty or torn"},
		"something else":      {text: ok + "\n", err: "line 1: it is no recording"},
		"a later version": {text: `{"parley":"recording","version":2}` + "\n",
			err: "line 1: /version: 2 is not known: this Parley reads version 1"},
		"began": {text: `{"parley":"recording","version":1,"began":"noon"}` + "\n",
			err: `line 1: /began: "noon" is no time`},
		"no JSON":        {text: first + "hello\n", err: "line 2: "},
		"no object":      {text: first + "[]\n", err: "line 2: it is an array, and each line is an object"},
		"a member twice": {text: first + `{"n":1,"n":2}` + "\n", err: "line 2: "},
		"no number":      {text: first + `{"at_ms":1,"dir":"sent","kind":"frame"}` + "\n", err: "line 2: /n: the number"},
		"a negative": {text: first + strings.Replace(ok, `"n":1`, `"n":-1`, 1) + "\n",
			err: "line 2: /n: it is a number, want a whole"},
		"no time":      {text: first + `{"n":1,"dir":"sent","kind":"frame"}` + "\n", err: "line 2: /at_ms: "},
		"another case": {text: first + strings.Replace(ok, "dir", "DIR", 1) + "\n", err: `line 2: /dir: "" is none of`},
		"kind": {text: first + strings.Replace(ok, "frame", "flame", 1) + "\n",
			err: `line 2: /kind: "flame" is none of`},
		"both": {text: first + strings.Replace(ok, `"n"`, `"base64":"YQ==","n"`, 1) + "\n",
			err: "line 2: it has both text and base64"},
		"no base64": {text: first + strings.Replace(ok, `"text"`, `"base64"`, 1) + "\n", err: "line 2: /base64: "},
		"a flag": {text: first + strings.Replace(ok, `"n"`, `"late":1,"n"`, 1) + "\n",
			err: "line 2: /late: it is a number, want true"},
		"numbers go down": {text: first + ok + "\n" + ok + "\n", err: "line 3: /n: 1 comes behind 1, and numbers grow"},
		"a text that none": {text: first + strings.Replace(ok, `"a"`, `1`, 1) + "\n",
			err: "line 2: /text: it is a number, want a string"},
	} {
		got, err := Read(strings.NewReader(c.text))
		switch {
		case c.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s…", name, err, c.err)
			}
		case err != nil || len(got.Records) != c.records || got.Torn != c.torn:
			t.Errorf("%s: %d records, torn %v, %v", name, len(got.Records), got.Torn, err)
		}
	}
}

// endless is one line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestLongLine checks that a line is bounded.
func TestLongLine(t *testing.T) {
	if _, err := Read(endless{}); err == nil || err.Error() != "line 1: it has more than 64 MiB" {
		t.Errorf("%v", err)
	}
}

// TestSecrets checks that no secret is kept, in whatever member.
func TestSecrets(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{URL: "http://h/?key=s3cr3t"}, transcript.NewRedactor("s3cr3t"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(transcript.Record{N: 1, Dir: transcript.Sent, Kind: transcript.Request,
		Label: "GET /s3cr3t", Bytes: []byte("\xff s3cr3t")}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil || !got.Header.Redacted {
		t.Fatalf("redacted %v, %v", got.Header.Redacted, err)
	}
	if strings.Contains(file.String(), "s3cr3t") || strings.Contains(string(got.Records[0].Bytes), "s3cr3t") {
		t.Errorf("%s", file.String())
	}
}

// full is a disk without room.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// TestFull checks that a failed write is reported, and nothing is written behind it.
func TestFull(t *testing.T) {
	disk := &full{left: 2}
	w, err := NewWriter(disk, Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 4; n++ {
		err := w.Add(transcript.Record{N: n})
		if (err != nil) != (n > 1) {
			t.Errorf("%d: %v", n, err)
		}
	}
}
