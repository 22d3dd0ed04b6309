package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// keeping returns a run that writes its results to a folder; its protocol has one role or several.
func keeping(t *testing.T, protocol, role, out string) *run {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	return &run{o: Options{Out: out}, protocol: p, role: role, redact: transcript.NewRedactor("s3cret")}
}

// filesBelow lists the files of a folder, with slashes.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestEvidence: each attachment is written to its own file, named like the scenario's transcript. The report has its
// path and digest. Secrets are redacted in text; pictures stay unchanged.
func TestEvidence(t *testing.T) {
	png, dom := []byte("\x89PNG s3cret"), []byte("<p>s3cret</p>")
	list := []steps.Evidence{{Name: "page-A.png", Type: "image/png", Body: png},
		{Name: "page-A.html", Type: "text/html", Body: dom}}
	for _, row := range []struct{ reason, protocol, role, driver, id, base string }{
		{"a protocol with one role", "agent-select", "server", "sse", "AS-4.1-06", "evidence/sse-AS-4.1-06-"},
		{"a protocol with several", "external-agent", "host", "ws", "EA-4.2-08", "evidence/ws-host-EA-4.2-08-"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			dir := t.TempDir()
			r := keeping(t, row.protocol, row.role, dir)
			sc := r.scenarioReport(&driverRun{name: row.driver}, Planned{ID: row.id},
				steps.Result{Outcome: verdict.Failed, Evidence: list})
			blanked := []byte("<p>" + transcript.Blank + "</p>")
			want := []reports.Evidence{
				{Name: "page-A.png", Type: "image/png", Path: row.base + "page-A.png", SHA256: digestOf(png)},
				{Name: "page-A.html", Type: "text/html", Path: row.base + "page-A.html", SHA256: digestOf(blanked)},
			}
			if diff := cmp.Diff(want, sc.Evidence); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			for path, want := range map[string][]byte{row.base + "page-A.png": png, row.base + "page-A.html": blanked} {
				if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %q, %v, want %q", path, got, err, want)
				}
			}
			if r.broken || len(r.notes) > 0 {
				t.Errorf("broken %v, notes %v", r.broken, r.notes)
			}
		})
	}
	if string(dom) != "<p>s3cret</p>" {
		t.Error("what the scenario attached was changed")
	}
}

// TestEvidenceNotKept: evidence that cannot be written is noted, only harness faults break the run, and the rest is
// kept.
func TestEvidenceNotKept(t *testing.T) {
	file := func(name string, size int) steps.Evidence {
		return steps.Evidence{Name: name, Type: "image/png", Body: make([]byte, size)}
	}
	taken := func(t *testing.T, dir string) { // a file occupies the folder's name
		if err := os.WriteFile(filepath.Join(dir, "evidence"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		reason  string
		e       steps.Evidence
		prepare func(*testing.T, string)
		note    string // prefix of the note
		broken  bool
	}{
		{"maximum size", file("a.png", maxEvidence), nil, "", false},
		{"too large", file("a.png", maxEvidence+1), nil,
			"evidence a.png of driver sse was not stored: it has 8388609 bytes, more than 8388608", false},
		{"too large after redaction", steps.Evidence{Name: "a.txt", Type: "text/plain",
			Body: bytes.Repeat([]byte("s3cret"), maxEvidence/6)}, nil, "evidence a.txt of driver sse was not stored", false},
		{"a path", file("../a.png", 1), nil, `evidence not written: "../a.png" cannot be the name`, true},
		{"a path on another system", file(`..\a.png`, 1), nil, "evidence not written: ", true},
		{"two dots", file("a..png", 1), nil, "evidence not written: ", true},
		{"no dot", file("png", 1), nil, "evidence not written: ", true},
		{"nothing before the dot", file(".png", 1), nil, "evidence not written: ", true},
		{"a trailing line break", file("a.png\n", 1), nil, "evidence not written: ", true},
		{"another alphabet", file("页.png", 1), nil, "evidence not written: ", true},
		{"no name", file("", 1), nil, "evidence not written: ", true},
		{"the folder cannot be made", file("a.png", 1), taken, "evidence not written: mkdir ", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if err := PrepareOut(dir); err != nil {
				t.Fatal(err)
			}
			if row.prepare != nil {
				row.prepare(t, dir)
			}
			r := keeping(t, "agent-select", "server", dir)
			got := r.writeEvidence(&driverRun{name: "sse"}, Planned{ID: "AS-1-01"},
				[]steps.Evidence{row.e, file("after.png", 1)})
			var kept []string
			if row.note == "" {
				kept = append(kept, "evidence/sse-AS-1-01-a.png")
			}
			if row.prepare == nil {
				kept = append(kept, "evidence/sse-AS-1-01-after.png")
				if files := filesBelow(t, filepath.Dir(dir)); !slices.Equal(files, prefixed("out/", kept)) {
					t.Errorf("files are %q, want %q", files, kept)
				}
			}
			var told []string
			for _, e := range got {
				told = append(told, e.Path)
			}
			if !slices.Equal(told, kept) {
				t.Errorf("kept %q, want %q", told, kept)
			}
			if row.note != "" && (len(r.notes) == 0 || r.notes[0].Kind != "harness" ||
				!strings.HasPrefix(r.notes[0].Text, row.note)) || row.note == "" && len(r.notes) > 0 {
				t.Errorf("notes are %+v, want %q", r.notes, row.note)
			}
			if r.broken != row.broken {
				t.Errorf("broken is %v", r.broken)
			}
		})
	}
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, prefix+s)
	}
	return out
}

// TestNoEvidenceWithoutOut: a run without an output folder keeps no evidence, and creates no folder for it.
func TestNoEvidenceWithoutOut(t *testing.T) {
	t.Chdir(t.TempDir())
	list := []steps.Evidence{{Name: "page-A.png", Type: "image/png", Body: []byte("x")}}
	r := keeping(t, "agent-select", "server", "")
	if got := r.writeEvidence(&driverRun{name: "sse"}, Planned{ID: "AS-1-01"}, list); got != nil || len(r.notes) > 0 {
		t.Errorf("%v, notes %v", got, r.notes)
	}
	r.o.Out = "."
	if got := r.writeEvidence(&driverRun{name: "sse"}, Planned{ID: "AS-1-01"}, nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	if found, err := os.ReadDir("."); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestPrepareOut: the scenario files of an earlier run are removed, and all other files stay.
func TestPrepareOut(t *testing.T) {
	goes := []string{
		"evidence/browser-AC-3.1-01-page-A.html", "evidence/browser-AC-3.1-01-page-A.png",
		"evidence/ws-host-EA-4.2-08-page-A.png",
		"transcripts/browser-AC-3.1-01.txt", "transcripts/sse-AS-4.1-06.txt", "transcripts/ws-host-EA-4.2-08.txt",
	}
	stays := []string{
		"evidence/browser-AC-3.1-01", "evidence/browser-notes.txt", "evidence/mine.png",
		"evidence/old/browser-AC-3.1-01-page-A.png", "evidence/other-AC-3.1-01-page-A.png",
		"results.json", "sse-AS-4.1-06.txt", "transcripts/mine.txt", "transcripts/sse-AS-4.1-06.png",
	}
	dir := t.TempDir()
	for _, f := range append(slices.Clone(goes), stays...) {
		path := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := PrepareOut(dir); err != nil {
		t.Fatal(err)
	}
	if got := filesBelow(t, dir); !slices.Equal(got, stays) {
		t.Errorf("what stays; want(-) got(+):\n%s", cmp.Diff(stays, got))
	}
	if err := PrepareOut(""); err == nil {
		t.Error("no folder is a folder")
	}
}
