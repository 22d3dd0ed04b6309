package clidoc

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func tree() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "Do things"}
	one := &cobra.Command{Use: "one FILE", Short: "Do one | two",
		Long:    "Reads <file>.\n.so it is\n\n  tool one a\n  tool one b\n\nThe *end* …\n\nExit 0 if it _is_.",
		Example: "  tool one x \\\n    y", Run: func(*cobra.Command, []string) {}}
	one.Flags().StringP("out", "o", "there", "write `DIR`")
	one.Flags().Bool("dry", false, "do nothing")
	one.Flags().Bool("secret", false, "not shown")
	_ = one.Flags().MarkHidden("secret")
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(one, hidden)
	return root
}

// TestPage: of what is visible, the first paragraph and the exit codes are on the page, with marks of Markdown escaped.
func TestPage(t *testing.T) {
	page := Page(tree(), "# Tool\n")
	for _, want := range []string{
		"## tool one\n\n`tool one FILE`\n\nReads &lt;file>.\n.so it is\n\nExit 0 if it \\_is\\_.\n",
		"- `-o, --out DIR`: write DIR (default there)\n",
		"- `--dry`: do nothing\n",
		"```text\ntool one x \\\n  y\n```",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks\n%s\nin\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") || strings.Contains(page, "hidden") || strings.Contains(page, "--help") {
		t.Errorf("the page shows what is hidden:\n%s", page)
	}
}

// TestPageTellsOnce: flags that several commands have, and examples of the command above, are on the page once.
func TestPageTellsOnce(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	above := root
	for _, name := range []string{"one", "two", "three"} {
		c := &cobra.Command{Use: name, Example: "  the same\n  tool " + name, Run: func(*cobra.Command, []string) {}}
		c.Flags().Bool("dry", false, "do nothing")
		above.AddCommand(c)
		above = c
	}
	page := Page(root, "# Tool\n")
	for text, want := range map[string]int{
		"- `--dry`: do nothing\n": 1, "the same\n": 1, "[Also](#flags-of-several-commands) `--dry`.\n": 3,
	} {
		if n := strings.Count(page, text); n != want {
			t.Errorf("%q is there %d times, want %d, in\n%s", text, n, want, page)
		}
	}
}

// TestMan: no line of a text is taken for a request, and pages refer to each other.
func TestMan(t *testing.T) {
	root := tree()
	one := Commands(root)[1]
	if got := ManName(one); got != "tool-one.1" {
		t.Errorf("file name %q", got)
	}
	page := Man(one, "1.2")
	for _, want := range []string{
		".TH \"TOOL-ONE\" 1 \"\" \"tool 1.2\"\n",
		".SH NAME\ntool\\-one \\- Do one | two\n",
		"Reads <file>.\n\\&.so it is\n.PP\n.nf\ntool one a\ntool one b\n.fi\n",
		".TP\n\\fB\\-o, \\-\\-out DIR\\fR\nwrite DIR (default there)\n",
		"tool one x \\e\n  y\n",
		".PP\nThe *end* \\[u2026]\n",
		".SH SEE ALSO\ntool(1)\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks\n%s\nin\n%s", want, page)
		}
	}
	page = Man(root, "1.2")
	if !strings.Contains(page, ".SH SEE ALSO\ntool\\-one(1)\n") || strings.Contains(page, "hidden") {
		t.Errorf("the page of the root:\n%s", page)
	}
}
