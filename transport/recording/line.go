package recording

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/transport/transcript"
)

// appendRecord appends the line of a record, as encoding/json writes a line: members without a value are left out.
func appendRecord(b []byte, r *transcript.Record, redact *transcript.Redactor) []byte {
	b = append(b, '{')
	b = appendNumber(b, "n", r.N)
	b = append(millis(r.At).append(appendMember(b, "at_ms")), ',')
	b = appendText(b, "party", r.Conn)
	b = appendText(b, "dir", string(r.Dir))
	b = appendText(b, "kind", string(r.Kind))
	b = appendText(b, "label", redact.String(r.MaskedLabel()))
	b = appendNumber(b, "status", r.Status)
	b = appendText(b, "type", r.Type)
	b = appendText(b, "id", redact.String(r.ID))
	b = appendText(b, "traceparent", redact.String(r.Trace))
	b = appendText(b, "headers", redact.String(r.Headers))
	if r.Bytes != nil {
		b = appendPayload(b, redact.Bytes(r.Bytes))
	}
	b = appendNumber(b, "cut", r.Cut)
	b = appendNumber(b, "to", r.Reply)
	b = appendTrue(b, "flushed", r.Flushed)
	b = appendTrue(b, "late", r.Late)
	if r.Event != nil {
		b = appendText(b, "event", r.Event.Type)
	}
	b[len(b)-1] = '}' // there is a time at least, which a comma follows
	return append(b, '\n')
}

func appendMember(b []byte, name string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":`...)
}

func appendNumber(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return append(strconv.AppendInt(appendMember(b, name), int64(n), 10), ',')
}

func appendTrue(b []byte, name string, is bool) []byte {
	if !is {
		return b
	}
	return append(appendMember(b, name), "true,"...)
}

func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	b = appendMember(b, name)
	if !utf8.ValidString(s) {
		quoted, _ := json.Marshal(s, jsonform.Escaped) // it replaces what is not UTF-8, and has no error
		return append(append(b, quoted...), ',')
	}
	return append(appendQuoted(b, s), ',')
}

// appendPayload appends text, or what is not UTF-8 in base64.
func appendPayload(b, p []byte) []byte {
	if utf8.Valid(p) {
		return append(appendQuoted(appendMember(b, "text"), p), ',')
	}
	b = append(appendMember(b, "base64"), '"')
	return append(base64.StdEncoding.AppendEncode(b, p), `",`...)
}

// append appends the milliseconds with three decimals.
func (m millis) append(b []byte) []byte {
	us := time.Duration(m).Microseconds()
	b = append(strconv.AppendInt(b, us/1000, 10), '.')
	us %= 1000
	return append(b, byte('0'+us/100), byte('0'+us/10%10), byte('0'+us%10))
}

// plain are the bytes that a string has unchanged. Those with which U+2028 and U+2029 start are looked at.
var plain = func() (is [256]bool) {
	for c := range is {
		is[c] = c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0xE2
	}
	return is
}()

// escapes maps a byte to the letter of its escape; 0 for none.
var escapes = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendQuoted appends s, which is UTF-8, as a JSON string with the escapes of encoding/json: those of HTML, too.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		if c == 0xE2 {
			if s[i+1] == 0x80 && s[i+2]&^1 == 0xA8 {
				b = append(append(b, s[from:i]...), `\u202`...)
				b = append(b, hex[s[i+2]&0xF])
				from = i + 3
			}
			i += 2
			continue
		}
		b = append(b, s[from:i]...)
		if e := escapes[c]; e != 0 {
			b = append(b, '\\', e)
		} else {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		}
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}
