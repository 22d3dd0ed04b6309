// Command rename gives this module another path, as `make module` does: in go.mod, in imports and the names of
// packages in tests, in the modules below examples that replace it, in the Makefile, and in the Go code of documents.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, "which path? make module MODULE=example.com/you/parley")
		os.Exit(2)
	}
	n, err := renameModule(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "make module:", err)
		os.Exit(1)
	}
	fmt.Printf("the module is %s: %d files changed\n", os.Args[1], n)
}

// renameModule gives the module in a folder another path, and returns how many files it has changed.
func renameModule(root, path string) (changed int, err error) {
	if err := module.CheckPath(path); err != nil {
		return 0, err
	}
	if _, major, _ := module.SplitPathVersion(path); major != "" {
		return 0, fmt.Errorf("%s: the module has no major version %s", path, major)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	r := renaming{root: root, from: modfile.ModulePath(text), to: path}
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		name := filepath.Base(at)
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		is, err := r.changeFile(at)
		if is {
			changed++
		}
		return err
	})
	return changed, err
}

// renaming is from one module path to another, in the files below a folder.
type renaming struct{ root, from, to string }

// changeFile changes a file, and reports whether there was something to change.
func (r renaming) changeFile(at string) (bool, error) {
	var change func([]byte) ([]byte, error)
	switch {
	case filepath.Base(at) == "Makefile":
		change = r.changeMakefile
	case filepath.Base(at) == "go.mod":
		change = r.changeGoMod
	case filepath.Ext(at) == ".go":
		change = r.changeSource
	case filepath.Ext(at) == ".md":
		change = r.changeDocument
	default:
		return false, nil
	}
	was, err := os.ReadFile(at)
	if err != nil {
		return false, err
	}
	is, err := change(was)
	if err != nil || bytes.Equal(was, is) {
		return false, err
	}
	return true, os.WriteFile(at, is, 0o644)
}

// changeSource changes the import paths in a Go file, and other strings that name packages.
func (r renaming) changeSource(text []byte) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return text, nil //nolint:nilerr // not a program of ours, such as testdata
	}
	imports := map[*ast.BasicLit]bool{}
	for _, i := range f.Imports {
		imports[i.Path] = true
	}
	var out []byte
	last := 0
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		path, err := strconv.Unquote(lit.Value)
		if err == nil && (imports[lit] && path == r.from || r.namesPackage(path)) {
			begin := set.Position(lit.Pos()).Offset
			out = append(append(out, text[last:begin]...), strconv.Quote(r.to+strings.TrimPrefix(path, r.from))...)
			last = begin + len(lit.Value)
		}
		return true
	})
	if last == 0 {
		return text, nil
	}
	return format.Source(append(out, text[last:]...))
}

// namesPackage reports whether a string is the path of a package below the module, or the prefix of all.
func (r renaming) namesPackage(path string) bool {
	below, ok := strings.CutPrefix(path, r.from+"/")
	if !ok || strings.ContainsAny(below, " \n:") {
		return false
	}
	info, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(below)))
	return err == nil && info.IsDir()
}

// changeGoMod changes a go.mod.
func (r renaming) changeGoMod(text []byte) ([]byte, error) {
	word := regexp.MustCompile(`(?m)^((?:module|require|replace)?\s*)` + regexp.QuoteMeta(r.from) + `(\s|$)`)
	return word.ReplaceAll(text, []byte("${1}"+r.to+"${2}")), nil
}

// changeDocument changes the lines of a document that import a package or replace the module.
func (r renaming) changeDocument(text []byte) ([]byte, error) {
	from := regexp.QuoteMeta(r.from)
	imports := regexp.MustCompile(`(?m)^(\s*(?:import )?)"` + from + `((?:/[\w/-]+)?)"$`)
	text = imports.ReplaceAll(text, []byte(`${1}"`+r.to+`${2}"`))
	return regexp.MustCompile(`\breplace `+from+` =>`).ReplaceAll(text, []byte("replace "+r.to+" =>")), nil
}

// changeMakefile changes the names of packages in the patterns of the Makefile.
func (r renaming) changeMakefile(text []byte) ([]byte, error) {
	word := regexp.MustCompile(`(-e |\^)` + regexp.QuoteMeta(r.from) + `(\s|/)`)
	return word.ReplaceAll(text, []byte("${1}"+r.to+"${2}")), nil
}
