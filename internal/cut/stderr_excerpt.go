package cut

import (
	"regexp"
	"strings"
)

// ErrorLines returns the at most n lines that say most of what a program wrote to its stderr: the last error with the
// part of its stack that is nearest to it, or, if no error is among the last lines, these. Blank lines are left out.
func ErrorLines(stderr string, n int) []string {
	lines, at := findError(stderr)
	switch {
	case at < 0 || at >= len(lines)-n:
		return lines[max(0, len(lines)-n):]
	case !inStack(lines[at+1]): // the stack, if there is one, is above, as Python writes it
		return lines[max(0, at+1-n) : at+1]
	}
	return lines[at : at+n]
}

// ErrorLine returns ErrorLines on one line of about width bytes; 0: of any length. The error is shortened least, and at
// its end.
func ErrorLine(stderr string, n, width int) string {
	lines := ErrorLines(stderr, n)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	_, at := findError(strings.Join(lines, "\n"))
	text := strings.Join(lines, " / ")
	switch {
	case width <= 0 || len(text) <= width:
		return text
	case at < 0:
		return Tail(text, width)
	}
	above, what, below := strings.Join(lines[:at], " / "), Head(lines[at], width*2/3), strings.Join(lines[at+1:], " / ")
	room := max(0, width-len(what))
	if below != "" {
		return what + " / " + Head(below, room)
	}
	if above != "" {
		return Tail(above, room) + " / " + what
	}
	return what
}

// maxSince is how many lines, apart from those of stacks, may follow an error that is still told.
const maxSince = 20

// findError returns the lines of a text, and the index of the last error among them; -1 if there is none.
func findError(text string) (lines []string, at int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	since := 0
	for i := len(lines) - 1; i >= 0 && since < maxSince; i-- {
		if inStack(lines[i]) {
			continue
		}
		if headline.MatchString(strings.TrimSpace(lines[i])) || i+1 < len(lines) &&
			strings.HasPrefix(strings.TrimSpace(lines[i+1]), "at ") {
			return lines, i
		}
		since++
	}
	return lines, -1
}

var (
	// headline matches the line that names an error, as Python, Node.js, Java, .NET, Ruby, Rust and Go write it.
	headline = regexp.MustCompile(`\b\w*(Error|Exception)\b( \[\w+\])?(:|$| \()|` +
		`^(Unhandled exception|Exception in thread|Caused by:|panic:|fatal error:)|\bpanic serving\b|\bpanicked at\b`)

	// stackLine matches a line of a stack.
	stackLine = regexp.MustCompile(`^(at\s+\S|\.\.\. \d+ more|File ".*", line \d+|from \S+:\d+:in|goroutine \d+ \[|` +
		`\S+\.go:\d+|[\w./*()-]+\.[\w.*()-]+\(.*\)$)`)
)

func inStack(line string) bool { return stackLine.MatchString(strings.TrimSpace(line)) }
