package parley_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const apiFile = "test/testdata/api.txt"

// TestAPI compares the exported names of this package, with their types, with test/testdata/api.txt. Names may be
// added, with -update; one that is gone or has changed breaks the promise in doc.go.
func TestAPI(t *testing.T) {
	is := exported(t)
	was, err := os.ReadFile(apiFile)
	if *update {
		if err := os.WriteFile(apiFile, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Split(is, "\n\n")
	then := strings.Split(string(was), "\n\n")
	for _, d := range then {
		if !slices.Contains(now, d) {
			t.Errorf("gone or changed:\n%s", d)
		}
	}
	for _, d := range now {
		if !slices.Contains(then, d) {
			t.Errorf("new (go test . -run TestAPI -update):\n%s", d)
		}
	}
}

// public reports whether a declaration belongs to the interface. It drops the body of a function.
func public(d ast.Decl) bool {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return d.(*ast.GenDecl).Tok != token.IMPORT
	}
	fn.Body = nil
	if fn.Recv == nil {
		return true
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return of.(*ast.Ident).IsExported()
}

// exported returns the exported declarations of the package, without comments and bodies, sorted and separated by blank
// lines.
func exported(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			if !public(d) {
				continue
			}
			var b bytes.Buffer
			if err := printer.Fprint(&b, set, d); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for strings.Contains(text, "\n\n") { // between fields
				text = strings.ReplaceAll(text, "\n\n", "\n")
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n\n") + "\n"
}
