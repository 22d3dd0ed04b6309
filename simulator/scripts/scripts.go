// Package scripts has the ready scripts: documented scenarios of the protocols, for parties of `parley simulate --as`.
package scripts

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"parley/internal/script"
	"parley/internal/words"
)

//go:embed */*.yaml
var files embed.FS

// List returns the ready scripts of a protocol, sorted by name; those of all protocols for "".
func List(protocol string) []*script.Script {
	var out []*script.Script
	folders, err := files.ReadDir(".")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, folder := range folders {
		if protocol != "" && folder.Name() != protocol {
			continue
		}
		entries, err := files.ReadDir(folder.Name())
		if err != nil {
			panic(err)
		}
		for _, e := range entries {
			s, err := readScript(folder.Name(), e.Name())
			if err != nil {
				panic(err)
			}
			out = append(out, s)
		}
	}
	return out
}

// Names returns the names of the ready scripts of a protocol, sorted.
func Names(protocol string) []string {
	var out []string
	for _, s := range List(protocol) {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// Get returns a ready script. The error lists those that exist.
func Get(protocol, name string) (*script.Script, error) {
	for _, s := range List(protocol) {
		if s.Name == name {
			return s, nil
		}
	}
	names := Names(protocol)
	return nil, fmt.Errorf("there is no ready script %q of %s (%s)", name, protocol,
		words.Suggest(name, names, "there are "+strings.Join(names, ", ")))
}

// Text returns the YAML of a ready script.
func Text(protocol, name string) ([]byte, error) {
	if _, err := Get(protocol, name); err != nil {
		return nil, err
	}
	return files.ReadFile(path.Join(protocol, name+".yaml"))
}

func readScript(folder, file string) (*script.Script, error) {
	name := path.Join(folder, file)
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return script.Parse(name, text)
}
