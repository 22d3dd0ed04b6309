package counterpart

import (
	"strings"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// into returns a sink that puts a gate's records into a transcript, and labels messages with their types.
func (p *Play) into(t *transcript.Transcript) driver.Sink {
	return func(r transcript.Record) int {
		if text := p.unreachable(r.Label); r.Kind == transcript.Failure && text != "" {
			r.Label = text
			if _, told := p.told.LoadOrStore(text, true); !told && p.o.Unreachable != nil {
				p.o.Unreachable(text)
			}
		}
		return t.Append(p.named(r))
	}
}

// unreachable returns the words of a gate for a program that it cannot reach, in those of a play; "" for other words.
func (p *Play) unreachable(words string) string {
	rest, ok := strings.CutPrefix(words, "the peer at ")
	if !ok || p.o.Connect == "" || !strings.Contains(rest, "cannot be reached") {
		return ""
	}
	if where, why, ok := strings.Cut(rest, ": dial "); ok {
		rest = where + ": " + why[strings.LastIndex(why, ": ")+len(": "):]
	}
	return "your program at " + strings.TrimSpace(rest)
}

// named labels a message with its type.
func (p *Play) named(r transcript.Record) transcript.Record {
	if typ := p.o.TypeOf(r.Bytes); typ != "" {
		switch r.Kind {
		case transcript.Stream, transcript.Frame:
			r.Label = typ
		case transcript.Request:
			r.Label += " " + typ
		}
	}
	return r
}
