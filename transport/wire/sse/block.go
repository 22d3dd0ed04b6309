package sse

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
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
// last line without a line end is read as if it had one. count is the most fields
// that it has. If raw is UTF-8, names and values share one string.
func readBlock(raw []byte, count int, slab *slab) block {
	var (
		b     block
		few   [8]string
		data  = few[:0]
		valid = utf8.Valid(raw)
		whole string
	)
	if valid {
		whole = slab.plain(raw)
	}
	b.fields = slab.fields(count)
	for at, ends := 0, unknown; at < len(raw); {
		end := ends.next(raw, at)
		from := at
		if at = end + 1; at < len(raw) && raw[end] == '\r' && raw[at] == '\n' {
			at++
		}
		if from == end || raw[from] == ':' {
			continue
		}
		line := ""
		if valid {
			line = whole[from:end]
		} else {
			line = decodeUTF8(raw[from:end])
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
	b.fields = slab.took(b.fields)
	b.data, b.hasData = strings.Join(data, "\n"), len(data) > 0
	return b
}

// item returns b as an item of a kind; lastID was in force before it. It keeps
// raw.
func (b block) item(kind Kind, lastID string, raw []byte) Item {
	it := Item{
		Kind:   kind,
		Type:   b.event,
		Data:   b.data,
		ID:     lastID,
		HasID:  b.hasID,
		Fields: b.fields,
		Raw:    raw,
	}
	if it.Type == "" {
		it.Type = "message"
	}
	if b.hasID {
		it.ID = b.id
	}
	return it
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
