package transcript

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
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
		for _, form := range []string{s, quoteJSON(s, jsonform.Escaped), quoteJSON(s, jsonform.Unescaped),
			url.QueryEscape(s), url.PathEscape(s), escapeUnprintable(s), inHTML.Replace(s), inAttribute.Replace(s)} {
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

// quoteJSON returns a text as it appears between the quotes of a JSON string.
func quoteJSON(s string, form json.Options) string {
	text, err := json.Marshal(s, form)
	if err != nil {
		return s
	}
	return string(text[1 : len(text)-1])
}

// Bytes returns p with every secret replaced, overlapping ones together; p itself if it contains none.
func (r *Redactor) Bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	var out []byte
	for at := 0; ; {
		start, end := r.nextSecret(p[at:])
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

// nextSecret finds the first part of p that is covered by one secret, or by several that overlap.
func (r *Redactor) nextSecret(p []byte) (start, end int) {
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

var (
	// the part of a URL before its host that has a name and a password
	userInfo = regexp.MustCompile(`(://)([^\s/?#"'<>]+)@`)
	// a parameter of a query, of a fragment or of a form
	parameter = regexp.MustCompile(`([?&;#])([^=&;?#\s"'<>]+)=([^&;#\s"'<>]+)`)
)

// MaskURLs returns a text in which each URL and request target has no credentials: a user and password before the
// host, and the values of parameters whose names say that they are secret, are replaced by Blank.
func MaskURLs(text string) string {
	if !strings.ContainsAny(text, "?&#@") {
		return text
	}
	text = userInfo.ReplaceAllString(text, "${1}"+Blank+"@")
	return parameter.ReplaceAllStringFunc(text, func(found string) string {
		if name, _, _ := strings.Cut(found[1:], "="); SecretName(unescapeURL(name)) {
			return found[:1] + name + "=" + Blank
		}
		return found
	})
}

// URLSecrets returns the credentials in the URLs and request targets of a text, as they are written and without the
// escapes of a URL; those of a user also as a browser sends them.
func URLSecrets(text string) (out []string) {
	if !strings.ContainsAny(text, "?&#@") {
		return nil
	}
	add := func(value string) { out = append(out, value, unescapeURL(value)) }
	for _, found := range userInfo.FindAllStringSubmatch(text, -1) {
		name, password, _ := strings.Cut(found[2], ":")
		if password == "" {
			add(name) // a token in place of a user
			continue
		}
		add(password)
		pair := url.UserPassword(unescapeURL(name), unescapeURL(password))
		plain, _ := pair.Password()
		out = append(out, base64.StdEncoding.EncodeToString([]byte(pair.Username()+":"+plain)))
	}
	for _, value := range SecretParameters(text) {
		add(value)
	}
	return out
}

// SecretParameters returns the parameters in the URLs and request targets of a text that hold a secret, by their names,
// as they are written.
func SecretParameters(text string) map[string]string {
	out := map[string]string{}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		if SecretName(unescapeURL(found[2])) && !strings.Contains(found[3], Blank) {
			out[found[2]] = found[3]
		}
	}
	return out
}

// SecretName reports whether a parameter of a URL holds a secret, by its name.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "secret", "password", "passwd", "apikey", "api_key", "api-key", "signature",
		"credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "key" || name == "auth" || name == "sig" || name == "pwd" || name == "jwt"
}

// unescapeURL returns a value of a URL without its escapes.
func unescapeURL(v string) string {
	if out, err := url.QueryUnescape(v); err == nil {
		return out
	}
	return v
}
