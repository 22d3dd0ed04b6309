package runner

import (
	"bytes"
	"io/fs"

	messages "github.com/cucumber/messages/go/v21"
)

// span is where a scenario stands in its file: the lines from its first tag up to, but without, what follows it. Rows
// of the same Examples share one. The zero span is unknown.
type span struct{ from, to int64 }

// spans returns the spans of a file's scenarios, by the ids of their nodes.
func spans(f *messages.Feature) map[string]span {
	out := map[string]span{}
	before := "" // the scenario whose end is not known yet
	starts := func(id string, line int64, tags []*messages.Tag) {
		for _, t := range tags {
			line = min(line, t.Location.Line)
		}
		if s, ok := out[before]; ok {
			s.to = line
			out[before] = s
		}
		if before = id; id != "" {
			out[id] = span{from: line, to: 1 << 62}
		}
	}
	scenario := func(s *messages.Scenario) {
		if s != nil {
			starts(s.Id, s.Location.Line, s.Tags)
		}
	}
	for _, c := range f.Children {
		scenario(c.Scenario)
		if c.Rule == nil {
			continue
		}
		starts("", c.Rule.Location.Line, c.Rule.Tags)
		for _, rc := range c.Rule.Children {
			scenario(rc.Scenario)
		}
	}
	return out
}

// excerpts returns the features with the files of the wanted scenarios cut down to these, as parsing a scenario and
// registering its steps takes longer than most scenarios themselves. Every scenario keeps its lines. Files of which the
// spans are not known remain whole.
func excerpts(fsys fs.FS, all, wanted []Planned) fs.FS {
	keep := map[string]map[span]bool{}
	for _, pl := range wanted {
		file := pl.path()
		if keep[file] == nil {
			keep[file] = map[span]bool{}
		}
		keep[file][pl.span] = true
	}
	drop := map[string]map[span]bool{}
	for _, pl := range all {
		file := pl.path()
		if kept := keep[file]; kept == nil || kept[pl.span] || pl.span == (span{}) {
			continue
		}
		if drop[file] == nil {
			drop[file] = map[span]bool{}
		}
		drop[file][pl.span] = true
	}
	out := &union{base: fsys, own: map[string][]byte{}}
	for file, spans := range drop {
		if text, err := fs.ReadFile(fsys, file); err == nil { // otherwise godog says what is wrong
			out.own[file] = blank(text, spans)
		}
	}
	return out
}

// blank empties the lines of the spans.
func blank(text []byte, spans map[span]bool) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for s := range spans {
		for n := s.from; n < min(s.to, int64(len(lines)+1)); n++ {
			lines[n-1] = []byte("\n")
		}
	}
	return bytes.Join(lines, nil)
}
