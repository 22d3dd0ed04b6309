package pack

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"parley/internal/words"
	wjson "parley/transport/wire/json"
)

// hole matches what is filled into a text: ${new}, ${nonce}, ${ticket}, ${B.ticket}.
var hole = regexp.MustCompile(`\$\{([\w.-]+)\}`)

// fill fills the holes of a value: in texts, members and items. A text that is one hole becomes the value itself.
// find returns the value of a name.
func fill(v any, find func(name string) (any, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, find)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			filled, err := fill(member, find)
			if err != nil {
				return nil, err
			}
			out[name] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := fill(item, find)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return v, nil
}

func fillText(text string, find func(name string) (any, error)) (any, error) {
	if m := hole.FindStringSubmatch(text); m != nil && m[0] == text {
		return find(m[1])
	}
	var failed error
	out := hole.ReplaceAllStringFunc(text, func(h string) string {
		v, err := find(hole.FindStringSubmatch(h)[1])
		if err != nil {
			failed = err
		}
		if s, ok := v.(string); ok {
			return s
		}
		return wjson.Compact(v)
	})
	return out, failed
}

// kept matches the step by which a client keeps a value.
var kept = regexp.MustCompile(`client \S+ keeps .+ as "(\w+)"`)

// placedHole is a hole with its place.
type placedHole struct {
	file string
	line int
	name string
}

// checkHoles finds holes that nothing fills: in protocol.yaml and in scenarios.
func (p *Pack) checkHoles(folder string) error {
	if !p.Knows("keeps") {
		return nil
	}
	known := []string{"new", "nonce"}
	for _, k := range p.doc.keeps {
		known = append(known, k.name)
	}
	var found []placedHole
	for name, f := range p.files {
		text := string(f.Data)
		for _, m := range kept.FindAllStringSubmatch(text, -1) {
			known = append(known, m[1])
		}
		switch {
		case path.Base(name) == "protocol.yaml":
			for _, tk := range lexer.Tokenize(text) {
				if tk.Type != token.CommentType {
					found = append(found, holesIn("protocol.yaml", tk.Position.Line, tk.Value)...)
				}
			}
		case path.Ext(name) == ".feature":
			n := 0
			for line := range strings.Lines(text) {
				if n++; !strings.HasPrefix(strings.TrimSpace(line), "#") {
					found = append(found, holesIn(strings.TrimPrefix(name, p.doc.id+"/"), n, line)...)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b placedHole) int { return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line) })
	slices.Sort(known)
	known = slices.Compact(known)
	var mistakes []error
	for _, h := range found {
		if member := h.name[strings.LastIndex(h.name, ".")+1:]; !slices.Contains(known, member) {
			mistakes = append(mistakes, fmt.Errorf("%s:%d: nothing fills ${%s}: no client keeps it (%s)",
				filepath.Join(folder, h.file), h.line, h.name, words.Suggest(member, known, "keeps: [{on: TYPE, "+member+
					": it."+member+"}]; there are "+strings.Join(known, ", "))))
		}
	}
	return errors.Join(mistakes...)
}

func holesIn(file string, line int, text string) (found []placedHole) {
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		found = append(found, placedHole{file, line, m[1]})
	}
	return found
}
