package steps

import (
	"bytes"
	"regexp"
)

// Renamer is an optional interface of protocols whose steps had other texts in earlier versions. Users' features and
// live sessions may still use those.
type Renamer interface {
	// Renamed returns pairs: an expression that matches an earlier text as a whole, and the present text, with the groups
	// of the expression as $1, $2.
	Renamed() [][2]string
}

// Current returns the present text of a step, given without its keyword. Any other text is returned unchanged.
func Current(p Protocol, text string) string {
	r, ok := p.(Renamer)
	if !ok {
		return text
	}
	for _, pair := range r.Renamed() {
		if former := expression(pair[0]); former.MatchString(text) {
			return former.ReplaceAllString(text, pair[1])
		}
	}
	return text
}

var stepLine = regexp.MustCompile(`^(\s*(?:Given|When|Then|And|But|\*) +)(.*?)(\s*)$`)

// CurrentFeature returns a feature file with the present texts of its steps. Its lines keep their numbers.
func CurrentFeature(p Protocol, feature []byte) []byte {
	if _, ok := p.(Renamer); !ok {
		return feature
	}
	lines := bytes.Split(feature, []byte("\n"))
	for i, line := range lines {
		if m := stepLine.FindSubmatch(line); m != nil {
			lines[i] = bytes.Join([][]byte{m[1], []byte(Current(p, string(m[2]))), m[3]}, nil)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}
