package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestLines: only the steps of a feature file are read, each with its argument.
func TestLines(t *testing.T) {
	text := "Feature: f\n\n  # remark\n  @tag\n  Scenario: s\n    Given a step\n" +
		"      \"\"\"\n      one\n        two\n      \"\"\"\n" +
		"    And a table\n      | a | b |\n      | c | d |\n    last one\n"
	lines := NewScript(strings.NewReader(text))
	var got []string
	for {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		below := ""
		if l.Arg.Text != nil {
			below = fmt.Sprintf("%q", *l.Arg.Text)
		}
		got = append(got, fmt.Sprintf("%d %s %s%v", l.Number, l.Text, below, l.Arg.Table))
	}
	want := `6 Given a step "one\n  two"[]; 11 And a table [[a b] [c d]]; 14 last one []`
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// TestPipe: a line of a pipe is there before the next one is written.
func TestPipe(t *testing.T) {
	in, out := io.Pipe()
	lines := NewPipe(in)
	for n, text := range []string{"client A connects", `A> {"type":"ping"}`, "client A gets a pong"} {
		go func() { _, _ = io.WriteString(out, text+"\n") }()
		if l, err := lines.Next(); err != nil || l.Text != text || l.Number != n+1 {
			t.Errorf("got %+v, %v, want line %d: %s", l, err, n+1, text)
		}
	}
	go func() { _, _ = io.WriteString(out, "client A sends raw:\n\"\"\"\nx\n\"\"\"\n") }()
	if l, err := lines.Next(); err != nil || l.Arg.Text == nil || *l.Arg.Text != "x" {
		t.Errorf("got %+v, %v", l, err)
	}
	_ = out.Close()
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
}

// TestLinesMistakes: a mistake names its line.
func TestLinesMistakes(t *testing.T) {
	for _, row := range []struct{ reason, text, want string }{
		{"a text that is not closed", "step\n\"\"\"\nabc", `line 1: the text below is not closed by a line of """`},
		{"a row that does not end", "step\n| a", "line 1: a row of a table ends with |: | a"},
		{"an outline", "\nScenario Outline: x", "line 2: a scenario outline has no values here (write its steps out)"},
	} {
		_, err := NewScript(strings.NewReader(row.text)).Next()
		if err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.reason, err, row.want)
		}
	}
}
