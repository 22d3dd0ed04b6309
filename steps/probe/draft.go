package probe

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/target"
	"parley/transport/transcript"
)

// Draft is the text of a profile, written line by line: what the probe found, with comments on what it saw and could
// not see, and commented keys to fill in for what no probe can see. String returns the text.
type Draft struct {
	strings.Builder
	s *Session
}

// NewDraft begins the profile of a session with its name, protocol and URL. The text of goes into the first comment: it
// says what the profile describes and where that was seen.
func NewDraft(s *Session, of string) *Draft {
	w := &Draft{s: s}
	w.Line(0, "# A profile of %s.", of)
	w.Line(0, "# yaml-language-server: $schema=profile.schema.json")
	w.Line(0, "# For editors that complete and check keys by it: parley init --schema > profile.schema.json")
	w.Line(0, "# Keys that are left out have their defaults. parley doctor --target FILE checks what works.")
	w.Line(0, "")
	w.Line(0, "name: %s", Quote(s.Profile.Name))
	w.Line(0, "protocol: %s", s.Profile.Protocol)
	w.Text(0, "url", s.Profile.URL)
	for _, line := range s.head {
		w.Line(0, "%s", line)
	}
	return w
}

// NewServerDraft begins the draft of a server at a URL.
func NewServerDraft(s *Session) *Draft {
	w := NewDraft(s, s.Profile.URL+", written by parley init from what the server sent")
	w.Line(0, "")
	return w
}

// Line writes a line at an indentation depth.
func (w *Draft) Line(depth int, format string, args ...any) {
	text := strings.TrimRight(strings.Repeat("  ", depth)+fmt.Sprintf(format, args...), " ")
	w.WriteString(text + "\n")
}

// Said writes the notes under a key as comments.
func (w *Draft) Said(depth int, key string) {
	for _, text := range w.s.Seen[key] {
		w.Line(depth, "# seen: %s", Printable(text))
	}
}

// Unseen writes comments on what could not be seen.
func (w *Draft) Unseen() {
	if len(w.s.Seen[unseen]) == 0 {
		return
	}
	w.Line(1, "# What was not seen, or not recognised; the defaults apply until you change them.")
	for _, text := range w.s.Seen[unseen] {
		w.Line(1, "# not seen: %s", Printable(text))
	}
}

// Text writes a key with a text value, unless the value is empty.
func (w *Draft) Text(depth int, key, value string) {
	if value != "" {
		w.Line(depth, "%s: %s", key, Quote(value))
	}
}

// List writes a top-level key whose values are words, such as drivers.
func (w *Draft) List(key string, words []string) {
	w.Line(0, "%s: [%s]", key, strings.Join(words, ", "))
}

// Command writes a command, as comments if it is an example. Otherwise it adds the folder the command was given in.
func (w *Draft) Command(run []string, example bool) {
	comment := ""
	if example {
		comment = "#"
	}
	w.Line(0, "%scommand:", comment)
	w.Line(1, "%srun: [%s]", comment, quoteWords(run))
	dir, err := filepath.Rel(filepath.Dir(w.s.File), w.s.Dir)
	if err == nil && dir != "." && !example {
		w.Line(1, "dir: %s", Quote(filepath.ToSlash(dir)))
	}
	w.Line(1, "#env: {LOG_LEVEL: debug}")
}

// Groups writes the wire fields that differ from the default binding. Both arguments are structs of pointers, with
// YAML keys.
func (w *Draft) Groups(now, usual any) {
	if reflect.DeepEqual(now, usual) {
		return
	}
	w.Line(1, "# Where the fields are: names, or JSON Pointers.")
	w.Said(1, "answer")
	w.Line(1, "fields:")
	groups, std := reflect.ValueOf(now), reflect.ValueOf(usual)
	for i := range groups.NumField() {
		if reflect.DeepEqual(groups.Field(i).Interface(), std.Field(i).Interface()) {
			continue
		}
		w.Line(2, "%s:", groups.Type().Field(i).Tag.Get("yaml"))
		w.Changed(3, groups.Field(i).Interface(), std.Field(i).Interface())
	}
}

// Changed writes the members of a struct that differ from the usual ones, by their YAML keys. Members are of type
// string, target.Pointer or target.Pointers.
func (w *Draft) Changed(depth int, now, usual any) {
	v, std := reflect.ValueOf(now), reflect.ValueOf(usual)
	for i := range v.NumField() {
		here := v.Field(i).Interface()
		if reflect.DeepEqual(here, std.Field(i).Interface()) {
			continue
		}
		value, isText := here.(string)
		if isText {
			value = Quote(value)
		} else {
			value = Places(here)
		}
		w.Line(depth, "%s: %s", v.Type().Field(i).Tag.Get("yaml"), value)
	}
}

// Names writes the renamings under a key.
func (w *Draft) Names(key, about string, names map[string]target.Names) {
	w.Said(1, key)
	if len(names) == 0 {
		return
	}
	w.Line(1, "# %s", about)
	w.Line(1, "%s:", key)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w.Line(2, "%s: [%s]", name, quoteWords(names[name]))
	}
}

// hinted are the keys in the examples for what a probe cannot see. No example need have all of them.
var hinted = []string{"#command:", "#headers:", "#hooks:", "#model:", "#tools:", "#provoke:"}

// Hints ends a profile with the parts of the protocol's example that a probe cannot see.
func (w *Draft) Hints() {
	w.Line(0, "")
	w.Line(0, "# What a probe cannot see. The more of it the profile declares, the more is tested.")
	for _, key := range hinted {
		if part := paragraphWithKey(w.s.Profile.Kind().Example, key); part != "" {
			w.Line(0, "")
			w.WriteString(part)
		}
	}
}

// paragraphWithKey returns the part of a text between empty lines that has a line starting with the key.
func paragraphWithKey(text, key string) string {
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, key) || strings.Contains(part, "\n"+key) {
			return strings.TrimRight(part, "\n") + "\n"
		}
	}
	return ""
}

// Printable replaces characters in a target's text that would end a comment, or reorder its line.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff ||
			transcript.Reorders(r) {
			return ' '
		}
		return r
	}, text)
}

// Quote writes text as a YAML scalar, in JSON syntax.
func Quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// quoteWords quotes several words, separated by commas.
func quoteWords(words []string) string {
	var out []string
	for _, word := range words {
		out = append(out, Quote(word))
	}
	return strings.Join(out, ", ")
}

// Bare formats a pointer for a profile: a single name without its slash, and quoted where YAML would not read it as
// text.
func Bare(p target.Pointer) string {
	name := strings.TrimPrefix(string(p), "/")
	if again, err := target.ParsePointer(name); err != nil || again != p {
		return Quote(string(p))
	}
	if !yamlWord.MatchString(name) || slices.Contains(yamlWords, strings.ToLower(name)) {
		return Quote(name)
	}
	return name
}

var (
	yamlWord  = regexp.MustCompile(`\A[A-Za-z_]\w*\z`)
	yamlWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
)

// Places formats a target.Pointer or target.Pointers for a profile.
func Places(v any) string {
	list, several := v.(target.Pointers)
	if !several {
		return Bare(v.(target.Pointer))
	}
	var out []string
	for _, p := range list {
		out = append(out, Bare(p))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
