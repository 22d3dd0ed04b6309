package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// unrun lists the commands of console blocks that TestDocuments does not run: page, part of the command, reason.
// Their flags are still checked. PARLEY_DOCS=all also runs those that are slow, or need a browser.
var unrun = []struct{ page, command, reason string }{
	{"README.md", "parley", "the same blocks are run in docs/get-started.md"},
	{"docs/get-started.md", "parley run --target my-page.yaml", browsing},
	{"docs/get-started.md", "parley run --", slow},
	{"docs/get-started.md", "parley doctor --target my-server.yaml", slow},
	{"docs/get-started.md", "parley init --protocol external-agent", slow},
	{"docs/get-started.md", "parley init .", browsing},
	{"docs/command-line.md", "--role agent", "it books at the server of the block before, and takes a second"},
	{"docs/test-your-agent.md", "parley ", slow},
	{"docs/test-your-client.md", "parley ", browsing},
	{"docs/test-your-orchestrator.md", "| python3 adapter.py", "it ends by the clock, however long Python takes to start"},
	{"docs/test-your-orchestrator.md", "parley run", slow},
	{"docs/runs.md", "parley run", "the fault that the baseline excuses is that of docs/get-started.md"},
	{"docs/write-a-scenario.md", "go run", "the mutant is one that the reader adds"},
}

const (
	slow     = "slow: it judges a target in another language"
	browsing = "it needs a browser, and seconds"
)

// TestDocuments checks each console block of the README and of docs: commands and flags exist, and the output shown
// is that of the program, apart from times, ports and dates. "…" stands for any text, and on its own line for any
// lines. The Chinese pages must show the same sessions.
func TestDocuments(t *testing.T) {
	used := make([]bool, len(unrun))
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			parts := readPage(t, page)
			if english := strings.Replace(page, ".zh.md", ".md", 1); english != page {
				sameSessions(t, readPage(t, english), parts)
				return
			}
			s := &session{t: t, root: t.TempDir(), ports: map[string]string{}}
			s.open()
			for _, p := range parts {
				s.take(page, p, used)
			}
		})
	}
	for i, u := range unrun {
		if !used[i] {
			t.Errorf("no console block of %s has a command with %q any more: remove the row", u.page, u.command)
		}
	}
}

// pages are the documents with console blocks, relative to the root of the module.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	front, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range append(front, all...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "```console\n") {
			found = append(found, filepath.ToSlash(strings.TrimPrefix(f, "../../")))
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d pages have console blocks: %q", len(found), found)
	}
	return found
}

// part is a fenced block, with the file name from the text before it, if any.
type part struct {
	kind, text, file string
	line             int
}

var saved = regexp.MustCompile("(?:save|keep) it as\\s+`([a-z-]+\\.yaml)`")

// readPage returns the fenced blocks of a page.
func readPage(t *testing.T, page string) []part {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	var prose strings.Builder
	var open *part
	for i, l := range strings.Split(string(text), "\n") {
		kind, fenced := strings.CutPrefix(l, "```")
		switch {
		case fenced && open == nil:
			open = &part{kind: kind, line: i + 1}
			if m := saved.FindStringSubmatch(prose.String()); m != nil {
				open.file = m[1]
			}
			prose.Reset()
		case fenced:
			parts = append(parts, *open)
			open = nil
		case open != nil:
			open.text += l + "\n"
		default:
			prose.WriteString(l + "\n")
		}
	}
	return parts
}

// sameSessions checks that the console blocks of a translation are those of the original.
func sameSessions(t *testing.T, english, translated []part) {
	t.Helper()
	consoles := func(parts []part) []part {
		return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.kind != "console" })
	}
	want, got := consoles(english), consoles(translated)
	if len(want) != len(got) {
		t.Fatalf("%d console blocks, and %d in English", len(got), len(want))
	}
	for i := range got {
		if got[i].text != want[i].text {
			t.Errorf("line %d: this console block differs from line %d in English:\n%s", got[i].line, want[i].line, got[i].text)
		}
	}
}

// shownCommand is a command in a console block, and its output.
type shownCommand struct {
	command string
	shown   []string
}

// exchanges splits a console block. If the block begins with output, its first exchange has no command.
func exchanges(p part) []shownCommand {
	var all []shownCommand
	for _, l := range strings.Split(strings.TrimSuffix(p.text, "\n"), "\n") {
		if command, ok := strings.CutPrefix(l, "$ "); ok {
			all = append(all, shownCommand{command: command})
			continue
		}
		if len(all) == 0 {
			all = append(all, shownCommand{})
		}
		last := &all[len(all)-1]
		if more, ok := strings.CutPrefix(l, "> "); ok && len(last.shown) == 0 && last.command != "" {
			last.command += "\n" + more
			continue
		}
		last.shown = append(last.shown, l)
	}
	return all
}

// parses checks that the subcommand exists and has the flags.
func parses(t *testing.T, where, line string) {
	t.Helper()
	args := shellWords(line)
	i := slices.IndexFunc(args, func(a string) bool { return a == "parley" || strings.HasSuffix(a, "/parley") })
	if i < 0 {
		return
	}
	args = args[i+1:]
	if end := slices.IndexFunc(args, func(a string) bool { return strings.ContainsAny(a[:1], "|>&#") }); end >= 0 {
		args = args[:end]
	}
	if len(args) > 0 && args[0] == "help" {
		return
	}
	root := rootCommand(&streams{Out: io.Discard, Err: io.Discard})
	c, rest, err := root.Find(args)
	switch {
	case err != nil || c == root:
		t.Errorf("%s: %s: no such command (%v)", where, line, err)
	default:
		if err := c.ParseFlags(rest); err != nil && err != pflag.ErrHelp {
			t.Errorf("%s: %s: %v", where, line, err)
		}
	}
}

var word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// shellWords splits a command line as a shell does, as far as the documents need it.
func shellWords(line string) []string {
	found := word.FindAllString(line, -1)
	for i, w := range found {
		if len(w) > 1 && (w[0] == '\'' || w[0] == '"') {
			found[i] = w[1 : len(w)-1]
		}
	}
	return slices.DeleteFunc(found, func(w string) bool { return w == "" })
}

// TestDocumentedCommands: commands in shell blocks and in the text of the documents exist.
func TestDocumentedCommands(t *testing.T) {
	inline := regexp.MustCompile("`(parley [a-z-]+ [^`]*)`")
	others := []string{"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
		"docs/verdicts.md", "docs/reports.md", "docs/README.md", "docs/scale.md", "docs/asyncapi.md",
		"docs/troubleshooting.md"}
	for _, page := range append(pages(t), others...) {
		for _, p := range readPage(t, page) {
			for l := range strings.Lines(p.text) {
				l = strings.TrimSpace(l)
				if p.kind == "sh" && strings.Contains(l, "parley ") && !strings.HasPrefix(l, "#") {
					parses(t, page, l)
				}
			}
		}
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			parses(t, page, strings.NewReplacer("[", "", "]", "", `\|`, "/", "\n", " ").Replace(m[1]))
		}
	}
}

// TestGuidesAreShort: each guide is one page that somebody finishes; what else there is to know is in the references.
func TestGuidesAreShort(t *testing.T) {
	guides, err := filepath.Glob("../../docs/test-your-*.md")
	if err != nil || len(guides) != 8 {
		t.Fatalf("%q, %v", guides, err)
	}
	for _, file := range guides {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if words := len(strings.Fields(string(text))); words > 1500 {
			t.Errorf("%s has %d words, and a guide has 1,500 at most: the rest belongs into its reference", file, words)
		}
	}
}

var inlineCode = regexp.MustCompile("`[^`\n]+`")

// TestOwnProtocolTranslated: the Chinese guide to protocols of one's own names whatever the English one names.
func TestOwnProtocolTranslated(t *testing.T) {
	var named [2]map[string]int
	for i, page := range []string{"docs/your-own-protocol.md", "docs/your-own-protocol.zh.md"} {
		named[i] = map[string]int{}
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range inlineCode.FindAllString(string(text), -1) {
			named[i][code]++
		}
	}
	if diff := cmp.Diff(named[0], named[1]); diff != "" {
		t.Errorf("English -, Chinese +:\n%s", diff)
	}
}
