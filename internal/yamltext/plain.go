package yamltext

import (
	"fmt"
	"regexp"
	"strings"
)

// said are sentences of the library, and what they are in the words of somebody who writes YAML.
var said = map[string]string{
	"mapping value is not allowed in this context": "a colon and a blank within a value (put the value in quotes)",
	"value is not allowed in this context":         "a value where there is one already (is it indented too far?)",
	"value is not allowed in this context. map key-value is pre-defined": "a value where a key belongs (is it indented " +
		"too far?)",
	"could not find end character of double-quoted text": "the text is not closed by \"",
	"could not find end character of single-quoted text": "the text is not closed by '",
	"sequence end token ']' not found":                   "the list is not closed by ]",
	"could not find flow mapping end token '}'":          "the mapping is not closed by }",
	"could not find '[' character corresponding to ']'":  "there is no [ before this ]",
	"could not find '{' character corresponding to '}'":  "there is no { before this }",
	"',' or ']' must be specified":                       "a comma or ] is missing",
	"',' or '}' must be specified":                       "a comma or } is missing",
	"tab character cannot use as a map key directly":     "a tab within a key (use blanks)",
	"non-map value is specified":                         "the key has no colon behind it (key: value)",
	"unexpected key name":                                "the key has no colon behind it (key: value)",
	"found character '\t' that cannot start any token":   "a tab cannot indent a line (use blanks)",
	"block sequence entries are not allowed in this context": "a list cannot begin here (put it on lines of its own, " +
		"below its key)",
	"unexpected scalar value type": "the value has another type than its tag says",
}

// Forms of sentences of the library that name something.
var (
	usedWhere = regexp.MustCompile(`^(.+) was used where (.+) is expected$`)
	unmarshal = regexp.MustCompile(`^cannot unmarshal (.+) into Go (?:value|struct field \S+) of type ` +
		`(.+?)( \( overflow \))?$`)
	twiceKey   = regexp.MustCompile(`^mapping key (".*") already defined at \[(\d+):\d+\]$`)
	unknownKey = regexp.MustCompile(`^unknown field (".*")$`)
	noAlias    = regexp.MustCompile(`^could not find alias "(.*)"$`)
	toBoolean  = regexp.MustCompile(`^cannot convert (".*") to boolean$`)
)

// plainSentence says a sentence of the library in the words of somebody who writes YAML.
func plainSentence(sentence string) string {
	if better := said[sentence]; better != "" {
		return better
	}
	for form, say := range map[*regexp.Regexp]func(m []string) string{
		usedWhere: func(m []string) string { return "expected " + kindName(m[2]) + ", found " + kindName(m[1]) },
		twiceKey: func(m []string) string {
			return fmt.Sprintf("the key %s is given twice (first in line %s)", m[1], m[2])
		},
		unknownKey: func(m []string) string { return "unknown key " + m[1] },
		noAlias:    func(m []string) string { return fmt.Sprintf("there is no anchor &%s for *%[1]s", m[1]) },
		toBoolean:  func(m []string) string { return "expected true or false, found " + m[1] },
		unmarshal: func(m []string) string {
			if m[3] != "" {
				return fmt.Sprintf("%s is out of range here", m[1])
			}
			return "expected " + goKind(m[2]) + ", found " + goKind(m[1])
		},
	} {
		if m := form.FindStringSubmatch(sentence); m != nil {
			return say(m)
		}
	}
	return sentence
}

// kinds are the kinds of values, by the library's names.
var kinds = map[string]string{"mapping": "a mapping", "map": "a mapping", "sequence": "a list", "string": "text",
	"int": "a number", "float": "a number", "uint64": "a number", "int64": "a number", "float64": "a number",
	"null": "nothing", "boolean": "true or false", "bool": "true or false"}

func kindName(name string) string {
	if known := kinds[name]; known != "" {
		return known
	}
	return name
}

// goKind names the kind of value that a type of Go is read from.
func goKind(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map["):
		return "a mapping"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.Contains(name, "."): // a struct
		return "a mapping"
	}
	return kindName(name)
}
