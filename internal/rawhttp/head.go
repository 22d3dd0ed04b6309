// Package rawhttp reads HTTP/1 messages without changing a byte: the head with its fields as they were written, and
// the body with its framing. net/http normalises both.
//
// It does not interpret a head: [Head.Request] and [Head.Response] call [http.ReadRequest] and [http.ReadResponse]
// for that.
package rawhttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// ErrTooLong reports a head beyond the limit.
var ErrTooLong = errors.New("head too long")

// ReadHead reads up to and including the blank line that ends a head, at most max bytes. An error (ErrTooLong, or that
// of in) is returned together with the bytes read before it.
func ReadHead(in *bufio.Reader, max int) ([]byte, error) {
	var head []byte
	for {
		line, err := in.ReadSlice('\n')
		if len(head)+len(line) > max {
			return append(head, line[:max-len(head)]...), ErrTooLong
		}
		head = append(head, line...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return head, err
		}
		if bytes.HasSuffix(head, []byte("\n\n")) || bytes.HasSuffix(head, []byte("\n\r\n")) {
			return head, nil
		}
	}
}

// Head is the head of a request or response. Its zero value is empty.
type Head struct {
	First []byte // the request or status line, with its line end
	Rest  []Field
	end   []byte // the blank line
}

// Field is a header field as it was written.
type Field struct {
	Name string // canonical; "" if the line has no name
	Raw  []byte // with its line end, and the lines that continue it
}

// ParseHead splits a head into its lines. It never fails: Bytes returns what it was given.
func ParseHead(raw []byte) Head {
	var h Head
	for i := 0; len(raw) > 0; i++ {
		end := bytes.IndexByte(raw, '\n') + 1
		if end == 0 {
			end = len(raw)
		}
		line := raw[:end:end]
		raw = raw[end:]
		switch {
		case i == 0:
			h.First = line
		case len(bytes.TrimRight(line, "\r\n")) == 0:
			h.end = append(h.end, line...)
		case (line[0] == ' ' || line[0] == '\t') && len(h.Rest) > 0:
			last := &h.Rest[len(h.Rest)-1]
			last.Raw = append(last.Raw, line...)
		default:
			name, _, _ := bytes.Cut(line, []byte(":"))
			h.Rest = append(h.Rest, Field{textproto.CanonicalMIMEHeaderKey(string(name)), line})
		}
	}
	return h
}

// Bytes returns the head as it is sent.
func (h *Head) Bytes() []byte {
	b := bytes.Clone(h.First)
	for _, f := range h.Rest {
		b = append(b, f.Raw...)
	}
	if h.end == nil {
		return append(b, '\r', '\n')
	}
	return append(b, h.end...)
}

// Del removes every field of a name.
func (h *Head) Del(name string) {
	name = textproto.CanonicalMIMEHeaderKey(name)
	kept := h.Rest[:0:0]
	for _, f := range h.Rest {
		if f.Name != name {
			kept = append(kept, f)
		}
	}
	h.Rest = kept
}

// Set replaces the first field of a name by a value, and removes the others. A new field is appended.
func (h *Head) Set(name string, values ...string) {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	at := len(h.Rest)
	for i, f := range h.Rest {
		if f.Name == canonical {
			at = i
			break
		}
	}
	var added []Field
	for _, v := range values {
		added = append(added, Field{canonical, []byte(name + ": " + oneLine(v) + "\r\n")})
	}
	before := h.Rest[:at:at]
	after := Head{Rest: h.Rest[at:]}
	after.Del(name)
	h.Rest = append(append(before, added...), after.Rest...)
}

// SetAll sets every field of a header, in the order of their names.
func (h *Head) SetAll(fields http.Header) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		h.Set(name, fields[name]...)
	}
}

// oneLine removes line breaks from a value, which would end its field.
func oneLine(v string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(v) }

// Request parses the head of a request.
func (h *Head) Request() (*http.Request, error) {
	return http.ReadRequest(bufio.NewReader(bytes.NewReader(h.Bytes())))
}

// Response parses the head of a response to a request of a method.
func (h *Head) Response(method string) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(h.Bytes())), &http.Request{Method: method})
}

// ResponseHead makes the head of a response.
func ResponseHead(status int) Head {
	return Head{First: fmt.Appendf(nil, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status)), end: []byte("\r\n")}
}
