package probe

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreter matches programs that run another one, which their arguments name.
var interpreter = regexp.MustCompile(
	`^(java|dotnet|(python|pypy)[0-9.]*|node|deno|bun|ruby|perl|php|(ba|da|z)?sh|go|uv)(\.exe)?$`)

// Flags of interpreters: those whose value is the next argument, and those whose value is the program's text.
var (
	valued = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "-W", "-X", "-r", "--require",
		"--import"}
	inline = []string{"-c", "-e", "--eval"}
)

// programOf returns the name of the program that a command runs, without folder and extension. For an interpreter it
// is that of the script, module or class.
func programOf(command []string) string {
	plain := func(path string) string {
		base := filepath.Base(path)
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	if !interpreter.MatchString(filepath.Base(command[0])) {
		return plain(command[0])
	}
	class := func(before, arg string) bool { // or a module: its dots are no extension
		java := strings.HasPrefix(filepath.Base(command[0]), "java")
		return before == "-m" || java && before != "-jar" && filepath.Ext(arg) != ".java" ||
			!strings.ContainsAny(arg, `/\`) && filepath.Ext(arg) == ""
	}
	for i := 1; i < len(command); i++ {
		switch arg := command[i]; {
		case slices.Contains(inline, arg):
			return plain(command[0])
		case slices.Contains(valued, arg):
			i++
		case arg == "run" || strings.HasPrefix(arg, "-"):
		case class(command[i-1], arg):
			return arg
		case plain(arg) != "" && plain(arg) != string(filepath.Separator):
			return plain(arg)
		}
	}
	return plain(command[0])
}
