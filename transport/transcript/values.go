package transcript

import (
	"encoding/binary"

	"parley/internal/jsonform"
)

// Tags of the encoded values of an event.
const (
	isNil byte = iota
	isFalse
	isTrue
	isNumber
	isText
	isList
	isObject
)

// appendValue encodes a value of an event. Known is set to false if it has a type that no event decoded from JSON has.
func appendValue(b []byte, v any, known *bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, isNil)
	case bool:
		if v {
			return append(b, isTrue)
		}
		return append(b, isFalse)
	case jsonform.Number:
		return appendText(append(b, isNumber), string(v))
	case string:
		return appendText(append(b, isText), v)
	case []any:
		if v == nil {
			break
		}
		b = appendInt(append(b, isList), int64(len(v)))
		for _, one := range v {
			b = appendValue(b, one, known)
		}
		return b
	case map[string]any:
		if v == nil {
			break
		}
		b = appendInt(append(b, isObject), int64(len(v)))
		for name, one := range v {
			b = appendValue(appendText(b, name), one, known)
		}
		return b
	}
	*known = false
	return append(b, isNil)
}

func appendInt(b []byte, all ...int64) []byte {
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func appendText(b []byte, all ...string) []byte {
	for _, s := range all {
		b = append(appendInt(b, int64(len(s))), s...)
	}
	return b
}

// decoder decodes encoded values. After an error it is broken, and returns zero values.
type decoder struct {
	in     []byte
	broken bool
}

func (d *decoder) readInt() int64 {
	n, size := binary.Varint(d.in)
	if size <= 0 {
		d.in, d.broken = nil, true
		return 0
	}
	d.in = d.in[size:]
	return n
}

func (d *decoder) readByte() byte {
	if len(d.in) == 0 {
		d.broken = true
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

func (d *decoder) readText() string {
	n := d.readInt()
	if n < 0 || n > int64(len(d.in)) {
		d.in, d.broken = nil, true
		return ""
	}
	s := string(d.in[:n])
	d.in = d.in[n:]
	return s
}

func (d *decoder) readValue() any {
	switch d.readByte() {
	case isFalse:
		return false
	case isTrue:
		return true
	case isNumber:
		return jsonform.Number(d.readText())
	case isText:
		return d.readText()
	case isList:
		list := []any{}
		for n := d.readInt(); n > 0 && !d.broken; n-- {
			list = append(list, d.readValue())
		}
		return list
	case isObject:
		object := map[string]any{}
		for n := d.readInt(); n > 0 && !d.broken; n-- {
			name := d.readText()
			object[name] = d.readValue()
		}
		return object
	}
	return nil
}

// valueSize returns the approximate memory size of a value of an event.
func valueSize(v any) int {
	switch v := v.(type) {
	case jsonform.Number:
		return 16 + len(v)
	case string:
		return 16 + len(v)
	case []any:
		n := 24
		for _, one := range v {
			n += 16 + valueSize(one)
		}
		return n
	case map[string]any:
		n := objectSize(len(v))
		for name, one := range v {
			n += 16 + len(name) + valueSize(one)
		}
		return n
	}
	return 0
}

// objectSize is the memory of an object with n members, without these.
func objectSize(n int) int { return 48 + (n+6)/7*mapGroup }

// mapGroup is the memory of up to seven members of a map.
const mapGroup = 288
