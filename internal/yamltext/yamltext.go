// Package yamltext reads untrusted YAML. Every failure of the library becomes an error, including input that would
// take memory quadratic in its nesting, or end the process with a panic.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of the nesting, which the library reads recursively.
const (
	maxDepth  = 64  // brackets and braces within each other; dashes, tags and anchors on one line
	maxIndent = 512 // columns
)

// placed is an error whose text is one line in plain words, without the surrounding lines of the source, which may be
// of any length.
type placed struct{ located }

type located = yaml.Error

func (p placed) Error() string {
	if t := p.GetToken(); t != nil {
		return fmt.Sprintf("[%d:%d] %s", t.Position.Line, t.Position.Column, p.GetMessage())
	}
	return p.GetMessage()
}

// GetMessage returns what is wrong, in plain words.
func (p placed) GetMessage() string { return plainSentence(p.located.GetMessage()) }

// Parse returns the syntax tree of a text, which may begin with a byte order mark. Mistakes with a place are a
// yaml.Error.
func Parse(text []byte) (file *ast.File, err error) {
	defer shortenError(&err)
	if text, err = withoutBOM(text); err != nil {
		return nil, err
	}
	if err := rejectUnsafe(text, false); err != nil {
		return nil, err
	}
	return parser.ParseBytes(text, 0)
}

// Strict decodes a text into v, a pointer. Unknown and duplicate keys, a second document, and tags other than those of
// YAML (!!str), are errors. Mistakes with a place are a yaml.Error.
func Strict(text []byte, v any) (err error) {
	defer shortenError(&err)
	if text, err = withoutBOM(text); err != nil {
		return err
	}
	if err := rejectUnsafe(text, true); err != nil {
		return err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return err
	}
	if err := requireSingle(file); err != nil {
		return err
	}
	return yaml.UnmarshalWithOptions(text, v, yaml.Strict())
}

// requireSingle rejects a second document.
func requireSingle(file *ast.File) error {
	found := false
	for _, doc := range file.Docs {
		if doc.Body != nil && found {
			return &yaml.SyntaxError{Token: doc.Body.GetToken(), Message: "a second document (write one, without ---)"}
		}
		found = found || doc.Body != nil
	}
	return nil
}

// withoutBOM returns a text without its byte order mark.
func withoutBOM(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case utf8.Valid(text):
		return text, nil
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16 (save it as UTF-8)")
	}
	return nil, errors.New("it is not UTF-8 (save it as UTF-8)")
}

// shortenError turns a panic of the library into an error, and shortens an error to one line.
func shortenError(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it is no YAML that can be read (%v)", r)
	}
	var at yaml.Error
	if errors.As(*err, &at) {
		*err = placed{at}
	}
}

// rejectUnsafe rejects input that the parser cannot handle safely.
func rejectUnsafe(text []byte, tags bool) error {
	depth, run, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(text)) {
		at := t.Position
		if at.Line != line {
			run, line = 0, at.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		case token.TagType:
			if tags && !strings.HasPrefix(t.Value, "!!") {
				return &yaml.SyntaxError{Token: t, Message: fmt.Sprintf("the tag %s means nothing here (leave it out)", t.Value)}
			}
			run++
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType:
			run++
		}
		if depth > maxDepth || run > maxDepth || isFarIndented(t) {
			return &yaml.SyntaxError{Token: t, Message: fmt.Sprintf("it is nested deeper than %d levels", maxDepth)}
		}
	}
	return nil
}

// isFarIndented reports whether a token begins a line far to the right. Block scalars may.
func isFarIndented(t *token.Token) bool {
	if t.Position.Column <= maxIndent || t.Type == token.CommentType {
		return false
	}
	return t.Prev == nil || t.Prev.Position.Line < t.Position.Line && t.Prev.Type != token.LiteralType &&
		t.Prev.Type != token.FoldedType
}
