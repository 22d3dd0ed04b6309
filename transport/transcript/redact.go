package transcript

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// Redactor removes secrets from everything that leaves the process. The zero value removes nothing. Safe for
// concurrent use once built.
type Redactor struct{ secrets [][]byte }

// Blank is the replacement for a secret.
const Blank = "«redacted»"

// NewRedactor removes the given values wherever they occur, including their forms in JSON, HTML, a URL and a line of
// a transcript. It ignores values shorter than four characters: they would redact half of the text and hide nothing.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	seen := map[string]bool{}
	for _, s := range secrets {
		if len(s) < 4 {
			continue
		}
		for _, form := range []string{s, quoted(s, true), quoted(s, false), url.QueryEscape(s), url.PathEscape(s),
			printable(s), inHTML.Replace(s), inAttribute.Replace(s)} {
			if !seen[form] {
				seen[form] = true
				r.secrets = append(r.secrets, []byte(form))
			}
		}
	}
	return r
}

// Escapes in HTML, as browsers write them.
var (
	inHTML      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;")
	inAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\u00a0", "&nbsp;")
)

// quoted returns a text as it appears between the quotes of a JSON string.
func quoted(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// Bytes returns p with every secret replaced, overlapping ones together; p itself if it contains none.
func (r *Redactor) Bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	var out []byte
	for at := 0; ; {
		start, end := r.next(p[at:])
		if start < 0 {
			if at == 0 {
				return p
			}
			return append(out, p[at:]...)
		}
		out = append(append(out, p[at:at+start]...), Blank...)
		at += end
	}
}

// next finds the first part of p that is covered by one secret, or by several that overlap.
func (r *Redactor) next(p []byte) (start, end int) {
	start = -1
	for _, s := range r.secrets {
		if i := bytes.Index(p, s); i >= 0 && (start < 0 || i < start || i == start && i+len(s) > end) {
			start, end = i, i+len(s)
		}
	}
	for grown := start >= 0; grown; {
		grown = false
		for _, s := range r.secrets {
			// A secret that starts within the part and ends beyond it extends it.
			from := max(start+1, end-len(s)+1)
			if from >= end {
				continue
			}
			if i := bytes.Index(p[from:min(end+len(s)-1, len(p))], s); i >= 0 {
				end, grown = from+i+len(s), true
			}
		}
	}
	return start, end
}

// String is Bytes for text.
func (r *Redactor) String(s string) string {
	if r == nil || len(r.secrets) == 0 {
		return s
	}
	p := []byte(s)
	out := r.Bytes(p)
	if len(out) == len(p) && (len(p) == 0 || &out[0] == &p[0]) {
		return s
	}
	return string(out)
}
