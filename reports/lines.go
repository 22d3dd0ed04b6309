package reports

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"parley/reports/lang"
)

// LinesIn returns a writer that passes lines on to another in a language, each as by lang.Lang.Of. What stands in
// columns, two or more spaces apart, is translated column by column, and stays in them. English passes unchanged. A
// line is written when it has ended.
func LinesIn(w io.Writer, l lang.Lang) io.Writer {
	if l != lang.Chinese {
		return w
	}
	return &lines{w: w, lang: l}
}

type lines struct {
	w    io.Writer
	lang lang.Lang
	held []byte // of a line that has not ended
}

func (o *lines) Write(b []byte) (int, error) {
	o.held = append(o.held, b...)
	for {
		line, rest, ended := bytes.Cut(o.held, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		if _, err := io.WriteString(o.w, translateColumns(string(line), o.lang)+"\n"); err != nil {
			return 0, err
		}
		o.held = rest
	}
}

var gap = regexp.MustCompile(` {2,}`)

// translateColumns translates a line, or column by column what it has in columns.
func translateColumns(line string, l lang.Lang) string {
	if !gap.MatchString(strings.TrimLeft(line, " ")) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		return line[:indent] + l.Of(line[indent:])
	}
	var b strings.Builder
	from := 0
	for _, at := range append(gap.FindAllStringIndex(line, -1), []int{len(line), len(line)}) {
		text := line[from:at[0]]
		told := l.Of(text)
		b.WriteString(told)
		space := at[1] - at[0]
		if space > 0 {
			space = max(2, space+columnWidth(text)-columnWidth(told))
		}
		if at[0] == 0 { // the indent
			space = at[1]
		}
		b.WriteString(strings.Repeat(" ", space))
		from = at[1]
	}
	return b.String()
}
