package sse

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// block is the result of the fields of one block.
type block struct {
	event   string
	data    string
	hasData bool
	id      string
	hasID   bool
	fields  []Field
}

// readBlock parses the lines of raw, which starts at the start of a line. A
// last line without a line end is read as if it had one. Decoding all of raw at
// once lets names and values share one string.
func readBlock(raw []byte) block {
	var (
		b    block
		few  [8]string
		data = few[:0]
		text = decodeUTF8(raw)
	)
	b.fields = make([]Field, 0, 4) // most blocks have no more
	for text != "" {
		var line string
		line, text, _ = cutLine(text)
		if line == "" || line[0] == ':' {
			continue
		}
		f := splitField(line)
		b.fields = append(b.fields, f)
		switch f.Name {
		case "event":
			b.event = f.Value
		case "data":
			data = append(data, f.Value)
		case "id":
			if strings.IndexByte(f.Value, 0) < 0 {
				b.id, b.hasID = f.Value, true
			}
		}
	}
	b.data, b.hasData = strings.Join(data, "\n"), len(data) > 0
	return b
}

// item returns b as an item of a kind; lastID was in force before it.
func (b block) item(kind Kind, lastID string, raw []byte) Item {
	it := Item{
		Kind:   kind,
		Type:   b.event,
		Data:   b.data,
		ID:     lastID,
		HasID:  b.hasID,
		Fields: b.fields,
		Raw:    bytes.Clone(raw),
	}
	if it.Type == "" {
		it.Type = "message"
	}
	if b.hasID {
		it.ID = b.id
	}
	return it
}

// cutLine returns the first line of s, the text after its line end, and whether
// it has one.
func cutLine(s string) (line, rest string, ended bool) {
	end := strings.IndexAny(s, "\r\n")
	if end < 0 {
		return s, "", false
	}
	line, rest = s[:end], s[end+1:]
	if s[end] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest, true
}

// splitField parses a line that is neither empty nor a comment.
func splitField(line string) Field {
	name, value, _ := strings.Cut(line, ":")
	return Field{Name: name, Value: strings.TrimPrefix(value, " ")}
}

// retryTime returns the number of milliseconds in value. A time too large for
// an int64 is valid by the standard, and capped.
func retryTime(value string) (ms int64, ok bool) {
	if value == "" {
		return 0, false
	}
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return ms, true
}
