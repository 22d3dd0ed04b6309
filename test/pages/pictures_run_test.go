package pages_test

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"parley/reports"
)

// The server of examples with the fault that docs/get-started.md puts into it, and the clause that this breaks.
const (
	right, wrong = `re.fullmatch(r"[a-z0-9_-]+", agent_id)`, `re.match(r"[a-z0-9_-]+$", agent_id)`
	brokenClause = "AS-080"
	command      = "parley run --target my-server.yaml"
)

// readProfile returns the profile of docs/get-started.md.
func readProfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/get-started.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "save it as `my-server.yaml`:\n\n```yaml\n")
	found, _, ended := strings.Cut(after, "```\n")
	if !ended {
		t.Fatal("docs/get-started.md has no my-server.yaml")
	}
	return found
}

// takeRun takes pictures of a run that judges a faulty server: what the terminal shows, and the report.
func takeRun(v *visitor, parley string) map[string]picture {
	t := v.t
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/servers/python")); err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(dir, "agent_select.py")
	code, err := os.ReadFile(server)
	if err != nil || !bytes.Contains(code, []byte(right)) {
		t.Fatalf("%s has no %s: %v", server, right, err)
	}
	for name, text := range map[string]string{server: strings.Replace(string(code), right, wrong, 1),
		filepath.Join(dir, "my-server.yaml"): readProfile(t)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(parley, strings.Fields(command)[1:]...)
	c.Dir = dir
	told, err := c.CombinedOutput()
	f, opened := os.Open(filepath.Join(dir, "parley-results", "results.json"))
	if opened != nil {
		t.Fatalf("%v, %v: %s", opened, err, told)
	}
	defer f.Close()
	r, err := reports.ReadJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, clause := range r.Runs[0].Clauses {
		if broken := clause.Outcome == "failed"; broken != (clause.ID == brokenClause) {
			t.Fatalf("%s is %s: %s", clause.ID, clause.Outcome, told)
		}
	}
	var out bytes.Buffer
	if err := reports.WriteConsole(&out, r, reports.ConsoleOptions{Color: true, Width: terminalWidth,
		Dir: "parley-results"}); err != nil {
		t.Fatal(err)
	}
	text := shortenText(t, out.String())
	v = v.opens(t, filepath.Join(dir, "parley-results", "report.html"), "light", 1100)
	height, err := strconv.ParseInt(v.value(belowTotals), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.EmulateViewport(1100, height))
	return map[string]picture{
		"report.png": v.takePicture(),
		"run.svg":    {drawTerminal(maskVarying(text)), []byte(drawTerminal(text))},
	}
}

// belowTotals is where the picture of the report ends.
const belowTotals = `16 + Math.ceil(
	document.querySelector(".totals").closest("section").getBoundingClientRect().bottom)`

// shortenText returns what the terminal shows without what is behind the failures and before the verdict.
func shortenText(t *testing.T, text string) string {
	t.Helper()
	last := strings.LastIndex(strings.TrimSpace(text), "\n\n")
	failures := strings.Index(text, "Failures: ")
	if failures < 0 || last < failures {
		t.Fatalf("the text has no failures, or ends with them: %s", text)
	}
	rest := regexp.MustCompile(`\n\n\x1b\[[0-9;]*m(Not tested|Notes)`).FindStringIndex(text[failures:last])
	if rest == nil {
		return text
	}
	return text[:failures+rest[0]] + "\n\x1b[2m…\x1b[0m" + text[last:]
}

// The picture of a terminal, in pixels; a column is as wide as a digit of the font.
const (
	terminalWidth = 104 // columns
	columnWidth   = 8.4
	lineHeight    = 19
	margin        = 22
	firstLine     = 56 // its baseline
)

// styles are the attributes of text in the colours of a terminal, by their number.
var styles = map[string]string{"1": ` font-weight="600"`, "2": ` fill="#8b949e"`, "31": ` fill="#ff7b72"`,
	"32": ` fill="#7ee787"`, "33": ` fill="#d29922"`, "36": ` fill="#76e3ea"`}

// coloured begins a part of a line in a colour or ends it; words are what one space separates.
var (
	coloured = regexp.MustCompile(`\x1b\[([0-9;]*)m`)
	words    = regexp.MustCompile(`\S+( \S+)*`)
)

// drawTerminal draws a command and what it prints.
func drawTerminal(printed string) string {
	lines := strings.Split("\x1b[32m$\x1b[0m "+command+"\n"+strings.TrimSpace(printed), "\n")
	width, height := 2*margin+columnWidth*terminalWidth, firstLine+lineHeight*len(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0[1]f %[2]d" width="%.0[1]f" height="%[2]d" `+
		`role="img" aria-label="%[3]s: a clause failed">
<rect width="%.0[1]f" height="%[2]d" rx="9" fill="#0d1117"/>
`, width, height, command)
	for i, fill := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="20" r="6" fill="%s"/>`, 24+20*i, fill)
	}
	b.WriteString(`
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace" ` +
		`font-size="14" fill="#e6edf3" xml:space="preserve">
`)
	for i, line := range lines {
		drawLine(&b, line, firstLine+lineHeight*i)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// drawLine draws a line of a terminal. The length of each text is given, as the fonts of viewers differ.
func drawLine(b *strings.Builder, line string, y int) {
	column, style := 0, ""
	for line != "" {
		next := coloured.FindStringSubmatchIndex(line)
		if next == nil {
			next = []int{len(line), len(line), len(line), len(line)}
		}
		part := line[:next[0]]
		for _, at := range words.FindAllStringIndex(part, -1) {
			text := part[at[0]:at[1]]
			fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
				margin+columnWidth*float64(column+countColumns(part[:at[0]])), y, columnWidth*float64(countColumns(text)), style,
				html.EscapeString(text))
		}
		column += countColumns(part)
		style = ""
		for _, number := range strings.Split(line[next[2]:next[3]], ";") {
			style += styles[number]
		}
		line = line[next[1]:]
	}
}

// countColumns counts the columns of a text, of which a Chinese character takes two.
func countColumns(text string) (n int) {
	for _, r := range text {
		n++
		if unicode.Is(unicode.Han, r) {
			n++
		}
	}
	return n
}
