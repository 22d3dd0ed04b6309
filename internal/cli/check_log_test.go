package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLogIsPlain: whatever a target wrote into the log or its name, the output is plain lines, or JSON.
func TestCheckLogIsPlain(t *testing.T) {
	dir := t.TempDir()
	id := strings.Repeat("x", 1<<20) + "\x1b[2J"
	for name, text := range map[string]string{
		"a\x1b[2J\xff.jsonl": "{}\n\x1b[2J\n",
		"long.jsonl":         `{"sessionId":"` + strings.ReplaceAll(id, "\x1b", `\u001b`) + `"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Skip(err) // the file system rejects such names
		}
	}
	for _, format := range []string{textFormat, jsonFormat} {
		var out bytes.Buffer
		err := checkLog(t.Context(), logJudge(), []string{dir}, checkLogOptions{session: id, format: format},
			&streams{Out: &out})
		if exitCode(err) != 1 {
			t.Errorf("%s: %v", format, err)
		}
		if out.Len() > 16<<10 || strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "EA-085") {
			t.Errorf("%s is %d bytes: %.500q", format, out.Len(), out.String())
		}
	}
}

func TestCheckLogIsInterrupted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := checkLog(ctx, logJudge(), []string{name}, checkLogOptions{format: textFormat},
		&streams{Out: &out}); exitCode(err) != 130 || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestCheckLogLeavesOthers: entries with the name of a log that are not regular files are skipped.
func TestCheckLogLeavesOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	if _, err := logFiles([]string{dir}); exitCode(err) != 2 {
		t.Errorf("a folder without a log: %v", err)
	}
}
