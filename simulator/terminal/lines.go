package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"parley/steps"
)

// Line is one line to carry out.
type Line struct {
	Number int // in its file, from 1; 0 if it was typed
	Text   string
	Arg    steps.StepArg
}

// Reader returns lines until io.EOF.
type Reader interface{ ReadLine() (string, error) }

// Lines joins lines with the arguments below them: a text between lines of """, or the rows of a table. It skips lines
// of a feature file that are not steps.
type Lines struct {
	in      Reader
	numbers bool
	n       int
	held    *string // read, but not used yet
	ahead   bool    // the next line may be read to see whether it belongs to this one
}

// NewLines reads typed lines: an argument is read only after a step that ends in a colon.
func NewLines(in Reader) *Lines { return &Lines{in: in} }

// NewScript reads the lines of a file.
func NewScript(in io.Reader) *Lines {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	return &Lines{in: scanner{s}, numbers: true, ahead: true}
}

// NewPipe reads the lines of a program that may wait for what a line does before it writes the next: as with typed
// lines, an argument is read only after a step that ends in a colon.
func NewPipe(in io.Reader) *Lines {
	l := NewScript(in)
	l.ahead = false
	return l
}

type scanner struct{ *bufio.Scanner }

// ReadLine implements Reader.
func (s scanner) ReadLine() (string, error) {
	if s.Scan() {
		return s.Text(), nil
	}
	if err := s.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

// structure matches the lines of a feature file that are not steps.
var structure = regexp.MustCompile(`^(?:Feature|Rule|Background|Scenario|Example):|^[@#]`)

var errOutline = errors.New("a scenario outline has no values here (write its steps out)")

// Next returns the next line; the error is io.EOF, that of reading, or a *MistakeError.
func (l *Lines) Next() (Line, error) {
	for {
		text, err := l.readLine()
		if err != nil {
			return Line{}, err
		}
		number := 0
		if l.numbers {
			number = l.n
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "", structure.MatchString(text):
			continue
		case strings.HasPrefix(text, "Scenario Outline:"), strings.HasPrefix(text, "Scenario Template:"):
			return Line{}, &MistakeError{number, errOutline}
		}
		line := Line{Number: number, Text: text}
		if line.Arg, err = l.readArgument(text); err != nil {
			return Line{}, &MistakeError{number, err}
		}
		return line, nil
	}
}

func (l *Lines) readLine() (string, error) {
	l.n++
	if l.held != nil {
		text := *l.held
		l.held = nil
		return text, nil
	}
	return l.in.ReadLine()
}

// readArgument reads the argument of a step.
func (l *Lines) readArgument(step string) (arg steps.StepArg, err error) {
	if !l.ahead && !strings.HasSuffix(step, ":") || strings.HasPrefix(step, ".") {
		return arg, nil
	}
	for {
		text, err := l.readLine()
		if err != nil {
			return arg, nil // the end is reported when the next line is read
		}
		trimmed := strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(trimmed, `"""`) && arg.Table == nil && arg.Text == nil:
			body, err := l.docString(len(text) - len(strings.TrimLeft(text, " \t")))
			arg.Text = &body
			return arg, err
		case strings.HasPrefix(trimmed, "|"):
			row, err := rowCells(trimmed)
			if err != nil {
				return arg, err
			}
			arg.Table = append(arg.Table, row)
		default:
			l.n--
			l.held = &text
			return arg, nil
		}
	}
}

// docString reads a text up to its closing quotes, without the indentation of the opening ones.
func (l *Lines) docString(indent int) (string, error) {
	var lines []string
	for {
		text, err := l.readLine()
		if err != nil {
			return "", fmt.Errorf(`the text below is not closed by a line of """`)
		}
		if strings.TrimSpace(text) == `"""` {
			return strings.Join(lines, "\n"), nil
		}
		cut := min(indent, len(text)-len(strings.TrimLeft(text, " \t")))
		lines = append(lines, strings.ReplaceAll(text[cut:], `\"\"\"`, `"""`))
	}
}

// hidden replaces the escapes of a cell before cells are separated, and shown replaces them by their meaning.
var (
	hidden = strings.NewReplacer(`\\`, "\x00", `\|`, "\x01", `\n`, "\x02")
	shown  = strings.NewReplacer("\x00", `\`, "\x01", "|", "\x02", "\n")
)

// rowCells returns the cells of a row of a table.
func rowCells(row string) ([]string, error) {
	if !strings.HasSuffix(row, "|") || len(row) < 2 {
		return nil, fmt.Errorf("a row of a table ends with |: %s", row)
	}
	var out []string
	for _, cell := range strings.Split(hidden.Replace(row[1:len(row)-1]), "|") {
		out = append(out, shown.Replace(strings.TrimSpace(cell)))
	}
	return out, nil
}

// raw matches a message that is sent unchanged: A> {"type":"ping"}.
var raw = regexp.MustCompile(`^([\pL\d_-]+)>\s?(.*)$`)

// rawMessage returns the party and the bytes of a raw message.
func rawMessage(text string) (party string, body []byte, ok bool) {
	m := raw.FindStringSubmatch(text)
	if m == nil {
		return "", nil, false
	}
	return m[1], []byte(m[2]), true
}
