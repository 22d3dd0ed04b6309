package reports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"parley/features/verdict"
	"parley/reports/lang"
)

// saying are the functions that translate their literals, of these packages and the command line: the sentences
// themselves, or nouns that are counted.
var (
	saying = []string{"Say", "addRow", "printHeading", "printField", "printUncut", "printCommand", "add", "addSuite",
		"oneOr", "writeFindings", "writeReasons", "causeGroup", "addCountedRow", "addFile"}
	counting = []string{"Count", "writeReasons", "addCountedRow"}
)

// said returns the texts that Go sources and pages say, with their places.
func said(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			saidIn(t, name, saying, out)
		}
	}
	for _, dir := range []string{"../internal/cli", "certificate", "certificate/site"} {
		more, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range more {
			if !strings.HasSuffix(name, "_test.go") {
				saidIn(t, name, []string{"Say", "field", "list"}, out)
			}
		}
	}
	text, noun := regexp.MustCompile(`\(?\bt "([^"]*)"`), regexp.MustCompile(`\bcount (?:\S+|\([^)]*\)) "([^"]*)"`)
	for _, name := range []string{"page/frame.gohtml", "page/report.gohtml", "page/matrix.gohtml", "page/compare.gohtml",
		"certificate/page/page.gohtml", "certificate/site/page/index.gohtml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range text.FindAllStringSubmatch(string(b), -1) {
			out[m[1]] = name
		}
		for _, m := range noun.FindAllStringSubmatch(string(b), -1) {
			out["%d "+m[1]] = name
		}
	}
	for _, text := range scriptTexts() {
		out[text] = "page/report.js"
	}
	return out
}

// saidIn adds what a Go source says by some functions.
func saidIn(t *testing.T, name string, saying []string, out map[string]string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range ast.Preorder(f) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		of := ""
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			of = fun.Name
		case *ast.SelectorExpr:
			of = fun.Sel.Name
		}
		for i, arg := range call.Args {
			text, ok := literal(t, arg)
			if !ok {
				continue
			}
			at := fmt.Sprint(files.Position(arg.Pos()))
			switch {
			case slices.Contains(counting, of) && i > 0:
				out["%d "+text] = at
			case slices.Contains(saying, of):
				out[text] = at
			}
		}
	}
}

// literal returns the text of a string literal, or of a sum of them.
func literal(t *testing.T, e ast.Expr) (text string, ok bool) {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text, true
	case *ast.BinaryExpr:
		left, ok := literal(t, e.X)
		right, too := literal(t, e.Y)
		return left + right, ok && too && e.Op == token.ADD
	}
	return "", false
}

// ofCertificates are the names of checks and their states: reports cannot ask package certificate, which uses them.
var ofCertificates = []string{"signature", "results", "artifact", "suite", "kill matrix", "expiry", "good", "bad",
	"not compared"}

// named are texts of ours that the code does not have as literals of a call.
func named() (out []string) {
	for _, o := range append(slices.Clone(verdict.Outcomes), excluded) {
		out = append(out, shownLook(o).word, string(o))
	}
	for _, v := range []verdict.Verdict{verdict.Conformant, verdict.AsExpected, verdict.NonConformant,
		verdict.Incomplete} {
		out = append(out, string(v))
	}
	for _, c := range tableColumns {
		out = append(out, c.Title())
	}
	for _, e := range []Evidence{{Type: "image/png"}, {Type: "text/html"}, {Type: "text/plain"}} {
		out = append(out, evidenceLabel(e))
	}
	out = append(append(out, partTitles...), ofCertificates...)
	return append(out, verdict.RowApplied, verdict.RowSpared, verdict.RowStale, verdict.RowExpired, verdict.RowUnknown,
		verdict.RowUnused, CutPassed, CutBroke, CutMissed, CutNotJudged, "passed", "failed", "skipped", "undefined",
		"pending", "ambiguous", "driver-difference", "interop", "target", "harness", "security", "explored", "cut", "fault",
		"scenario", "while", "feature", "clauses", "expected to fail")
}

// TestEveryTextIsTranslated: each text that reports say has a translation, and each translation is of such a text.
func TestEveryTextIsTranslated(t *testing.T) {
	used := said(t)
	for _, text := range named() {
		used[text] = "named"
	}
	keys := lang.Keys()
	for _, text := range sortedKeys(used) {
		if strings.ContainsFunc(wordsOf(text), unicode.IsLetter) && !slices.Contains(keys, text) {
			t.Errorf("%s: %q has no translation", used[text], text)
		}
	}
	for _, k := range keys {
		if used[k] == "" {
			t.Errorf("%q is translated, and never said", k)
		}
	}
}

// TestPhrasesAreOurs: each phrase that has a translation is one that the program has. As the code puts many together,
// a third of the pairs of words in it must stand in the sources, or in the scenarios of parley doctor.
func TestPhrasesAreOurs(t *testing.T) {
	var all strings.Builder
	for _, dir := range []string{".", "../runner", "../steps", "../features", "../target", "../transport", "../internal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(path, "_test.go") ||
				!slices.Contains([]string{".go", ".feature"}, filepath.Ext(path)) {
				return err
			}
			b, err := os.ReadFile(path)
			all.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sources := regexp.MustCompile(`" \+\n?\s*"`).ReplaceAllString(all.String(), "")
	for _, phrase := range lang.Phrases() {
		pairs, found := 0, 0
		for text := range strings.SplitSeq(strings.ReplaceAll(phrase, "{w}", "{}"), "{}") {
			for words := strings.Fields(text); len(words) > 1; words = words[1:] {
				pairs++
				if strings.Contains(sources, words[0]+" "+words[1]) {
					found++
				}
			}
		}
		if pairs > 2 && 3*found < pairs {
			t.Errorf("nothing says %q", phrase)
		}
	}
}

// wordsOf returns a format without its verbs.
func wordsOf(format string) string {
	return regexp.MustCompile(`%[\d.]*[a-z]`).ReplaceAllString(format, "")
}
