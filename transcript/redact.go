package transcript

import (
	"bytes"
	"sort"
)

// Redactor blanks secrets in whatever leaves the process. The zero value blanks nothing. Safe for concurrent use
// once built.
type Redactor struct{ secrets [][]byte }

// Blank replaces a secret.
const Blank = "«redacted»"

// NewRedactor blanks the given values wherever they stand. Values shorter than four characters are left alone: they
// would blank half of the text and hide nothing.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) >= 4 {
			r.secrets = append(r.secrets, []byte(s))
		}
	}
	sort.Slice(r.secrets, func(i, j int) bool { return len(r.secrets[i]) > len(r.secrets[j]) })
	return r
}

// Bytes returns p with every secret blanked; p itself when there is none in it.
func (r *Redactor) Bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	for _, s := range r.secrets {
		if bytes.Contains(p, s) {
			p = bytes.ReplaceAll(p, s, []byte(Blank))
		}
	}
	return p
}

// String is Bytes for text.
func (r *Redactor) String(s string) string {
	if r == nil || len(r.secrets) == 0 {
		return s
	}
	return string(r.Bytes([]byte(s)))
}
