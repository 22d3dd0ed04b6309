package steps

import (
	"strings"

	"parley/transcript"
)

// Bounds on the part of a target's stderr quoted when something did not come. The report has more of it.
const (
	maxCryLines = 3
	maxCry      = 300 // bytes
)

// Cry returns the end of a target's stderr as the end of a sentence: the last lines, redacted, without control
// characters; "" if there is none.
func (w *World) Cry(stderr string) string { return Cry(w.Env.Redact, stderr) }

// Cry is World.Cry outside of a scenario.
func Cry(redact *transcript.Redactor, stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := redact.String(strings.Join(lines[max(0, len(lines)-maxCryLines):], " / "))
	if len(text) > maxCry { // the end says what went wrong
		text = "…" + strings.ToValidUTF8(text[len(text)-maxCry:], "")
	}
	return "; on its stderr: " + transcript.Printable(text)
}

// cry is Cry for a target that has sent nothing on a connection since a record.
func (w *World) cry(conn string, after int) string {
	if w.Target == nil || len(w.Between(conn, after, 0)) > 0 {
		return ""
	}
	return w.Cry(w.Target.Stderr())
}
