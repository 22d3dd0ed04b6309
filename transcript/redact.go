package transcript

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// Redactor blanks secrets in whatever leaves the process. The zero value blanks nothing. Safe for concurrent use
// once built.
type Redactor struct{ secrets [][]byte }

// Blank replaces a secret.
const Blank = "«redacted»"

// NewRedactor blanks the given values wherever they stand, also as they look within JSON, HTML, a URL and on a line of
// a transcript. Values shorter than four characters are left alone: they would blank half of the text and hide nothing.
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

// How a text stands in HTML, as browsers write it.
var (
	inHTML      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;")
	inAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\u00a0", "&nbsp;")
)

// quoted is a text as it stands between the quotes of a JSON string.
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

// Bytes returns p with every secret blanked, those that overlap together; p itself when there is none in it.
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

// next finds the first stretch of p that secrets cover: one of them, or several that overlap.
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
			// One that starts within the stretch and ends beyond it.
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
	return string(r.Bytes([]byte(s)))
}
