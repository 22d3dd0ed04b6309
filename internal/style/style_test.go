// Package style enforces the length limits of the module's Go files, which gofmt, go vet and staticcheck do not
// check.
package style

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns  = 120 // of a line; a tab counts as one column
	maxFunction = 60  // lines of a function or method, from its first to its last; a test's without the rows of its tables
	maxFile     = 450 // lines of a file
)

const allowList = "allowed.txt"

var update = flag.Bool("update", false,
	"lower the figures of "+allowList+" to what is needed; it never raises one, nor adds one")

// The subjects of a figure.
const (
	longLines = "lines"    // of a folder: the number of too long lines
	function  = "function" // of a function: its number of lines
	file      = "file"     // of a file: its number of lines
)

// key names the subject of a figure and its folder, its folder and function, or its file.
type key struct{ subject, name string }

func TestLengths(t *testing.T) {
	root := filepath.Join("..", "..")
	found, where, err := measure(root)
	if err != nil {
		t.Fatal(err)
	}
	allowed, head, err := read(allowList)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := write(allowList, head, lowered(allowed, found)); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range sorted(found) {
		if n := found[k]; n > allowed[k] {
			t.Error(complaint(k, n, allowed[k], where[k]))
		}
	}
}

// complaint says what is too long, and where.
func complaint(k key, n, allowed int, where []string) string {
	switch k.subject {
	case longLines:
		const some = 10
		return fmt.Sprintf("%s has %d lines of more than %d columns, and %d are allowed. Some of them:\n  %s",
			k.name, n, maxColumns, allowed, strings.Join(where[:min(some, len(where))], "\n  "))
	case function:
		return fmt.Sprintf("%s: %s has %d lines, and %d are allowed", where[0], k.name, n, max(allowed, maxFunction))
	}
	return fmt.Sprintf("%s has %d lines, and %d are allowed", k.name, n, max(allowed, maxFile))
}

// measure finds what is too long in the Go files below root. It returns the figures and their places.
func measure(root string) (map[key]int, map[key][]string, error) {
	found, where := map[key]int{}, map[key][]string{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if at != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "parley-results") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(at) != ".go" {
			return nil
		}
		src, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return measureFile(filepath.ToSlash(name), src, found, where)
	})
	return found, where, err
}

// measureFile adds what is too long in one file.
func measureFile(name string, src []byte, found map[key]int, where map[key][]string) error {
	folder := path.Dir(name)
	lines := bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if utf8.RuneCount(line) > maxColumns {
			k := key{longLines, folder}
			found[k]++
			where[k] = append(where[k], fmt.Sprintf("%s:%d", name, i+1))
		}
	}
	if len(lines) > maxFile {
		found[key{file, name}] = len(lines)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin := files.Position(f.Pos()).Line
		n := files.Position(f.End()).Line - begin + 1
		if strings.HasSuffix(name, "_test.go") {
			n -= tables(files, f)
		}
		if n > maxFunction {
			k := key{function, folder + " " + f.Name.Name}
			if n > found[k] { // methods of the same name share a figure
				found[k], where[k] = n, []string{fmt.Sprintf("%s:%d", name, begin)}
			}
		}
	}
	return nil
}

// tables returns the number of lines that the rows of a test's tables take: literals of slices and maps.
func tables(files *token.FileSet, f *ast.FuncDecl) (lines int) {
	ast.Inspect(f, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch table.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			lines += files.Position(table.Rbrace).Line - files.Position(table.Lbrace).Line
			return false
		}
		return true
	})
	return lines
}

// lowered returns the allowed figures, each lowered to what was found.
func lowered(allowed, found map[key]int) map[key]int {
	out := map[key]int{}
	for k, n := range allowed {
		if least := min(n, found[k]); least > 0 {
			out[k] = least
		}
	}
	return out
}

// read reads the allowed figures and the comment above them.
func read(from string) (allowed map[key]int, head string, err error) {
	b, err := os.ReadFile(from)
	if err != nil {
		return nil, "", err
	}
	allowed = map[key]int{}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			head += line + "\n"
			continue
		}
		subject, rest, _ := strings.Cut(line, " ")
		figure, name, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(figure)
		if err != nil || name == "" {
			return nil, "", fmt.Errorf("%s:%d: %q is not SUBJECT FIGURE NAME", from, i+1, line)
		}
		allowed[key{subject, name}] = n
	}
	return allowed, head, nil
}

func write(to, head string, allowed map[key]int) error {
	var b strings.Builder
	b.WriteString(head)
	for _, k := range sorted(allowed) {
		fmt.Fprintf(&b, "%s %d %s\n", k.subject, allowed[k], k.name)
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

func sorted(figures map[key]int) []key {
	return slices.SortedFunc(maps.Keys(figures), func(a, b key) int {
		return strings.Compare(a.subject+" "+a.name, b.subject+" "+b.name)
	})
}

// TestMeasure checks that a line, a function and a file are too long if they exceed the limit by one.
func TestMeasure(t *testing.T) {
	source := func(columns, function, file int) []byte {
		s := "package p\n\nfunc f() {" + strings.Repeat("\n", function-1) + "}\n"
		s += "//" + strings.Repeat("é", columns-2) + "\n"
		return []byte(s + strings.Repeat("\n", file-strings.Count(s, "\n")))
	}
	for _, row := range []struct {
		reason string
		src    []byte
		want   map[key]int
	}{
		{"all at the limit", source(maxColumns, maxFunction, maxFile), map[key]int{}},
		{"a line", source(maxColumns+1, maxFunction, maxFile), map[key]int{{longLines, "a"}: 1}},
		{"a function", source(maxColumns, maxFunction+1, maxFile), map[key]int{{function, "a f"}: maxFunction + 1}},
		{"a file", source(maxColumns, maxFunction, maxFile+1), map[key]int{{file, "a/b.go"}: maxFile + 1}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			found, where := map[key]int{}, map[key][]string{}
			if err := measureFile("a/b.go", row.src, found, where); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(found, row.want) {
				t.Errorf("found %v, want %v", found, row.want)
			}
		})
	}
	table := "package p\n\nfunc f() {\n\t_ = []int{" + strings.Repeat("\n\t\t1,", maxFunction) + "\n\t}\n}\n"
	for name, want := range map[string]int{"a/b.go": maxFunction + 4, "a/b_test.go": 0} {
		found := map[key]int{}
		err := measureFile(name, []byte(table), found, map[key][]string{})
		if err != nil || found[key{function, "a f"}] != want {
			t.Errorf("a table in %s: found %v (%v), want %d", name, found, err, want)
		}
	}
	have := map[key]int{{longLines, "a"}: 3, {longLines, "b"}: 1, {file, "c.go"}: 500}
	got := lowered(have, map[key]int{{longLines, "a"}: 2, {longLines, "new"}: 9, {file, "c.go"}: 600})
	if want := (map[key]int{{longLines, "a"}: 2, {file, "c.go"}: 500}); !maps.Equal(got, want) {
		t.Errorf("lowered to %v, want %v: figures are never raised or added", got, want)
	}
}
