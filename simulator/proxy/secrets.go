package proxy

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/internal/rawhttp"
	"parley/transport/transcript"
)

// maxSecrets bounds the secrets that are collected from requests; further ones are not redacted, but header fields are
// never kept.
const maxSecrets = 1000

// secrets collects the credentials in requests, which must not be kept. It is safe for concurrent use.
type secrets struct {
	mu    sync.Mutex
	known []string
	made  *transcript.Redactor
}

func (s *secrets) addValues(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if v != "" && len(s.known) < maxSecrets && !slices.Contains(s.known, v) {
			s.known, s.made = append(s.known, v), nil
		}
	}
}

// requestSecrets collects the credentials of a request.
func (s *secrets) requestSecrets(r *http.Request) {
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Api-Key"} {
		for _, v := range r.Header.Values(name) {
			s.addValues(v)
			if _, credentials, ok := strings.Cut(v, " "); ok {
				s.addValues(strings.TrimSpace(credentials))
			}
		}
	}
	for _, c := range r.Cookies() {
		s.addValues(c.Value)
	}
	s.addValues(transcript.URLSecrets(r.RequestURI)...)
}

// maxSecret bounds the length of a secret in a message, in bytes.
const maxSecret = 8 << 10

// named finds members of a message that hold a secret, by their names.
var named = regexp.MustCompile(`(?i)"[\w-]*(?:token|api[_-]?key|password|secret|authorization)"\s*:\s*` +
	`("(?:[^"\\]|\\.){8,}")`)

// hints are parts of such names; a search for them is cheap.
var hints = [][]byte{[]byte("oken\""), []byte("OKEN\""), []byte("ey\""), []byte("EY\""), []byte("assword\""),
	[]byte("ASSWORD\""), []byte("ecret\""), []byte("ECRET\""), []byte("uthorization\"")}

// messageSecrets collects the secrets in a message, by the names of its members.
func (s *secrets) messageSecrets(p []byte) {
	if !slices.ContainsFunc(hints, func(h []byte) bool { return bytes.Contains(p, h) }) {
		return
	}
	for _, found := range named.FindAllSubmatch(p, 100) {
		var text string
		if len(found[1]) < maxSecret && json.Unmarshal(found[1], &text, jsonform.Lenient) == nil {
			s.addValues(text)
		}
	}
}

// newRedactor returns a redactor for the secrets collected so far.
func (s *secrets) newRedactor() *transcript.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = transcript.NewRedactor(s.known...)
	}
	return s.made
}

// checkToken checks that a request has a token, and removes the token from it. It returns why a request is refused; ""
// if it is not.
func checkToken(h *rawhttp.Head, r *http.Request, token string) string {
	want := sha256.Sum256([]byte(token))
	is := func(given string) bool {
		got := sha256.Sum256([]byte(given))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		return "" // a browser's preflight cannot carry one
	}
	scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") && is(strings.TrimSpace(given)) {
		h.Del("Authorization")
		return ""
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	var rest []string
	found := false
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		if name == "token" && is(value) {
			found = true
		} else if part != "" {
			rest = append(rest, part)
		}
	}
	if !found {
		return "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN"
	}
	if len(rest) > 0 {
		path += "?" + strings.Join(rest, "&")
	}
	h.First = bytes.Replace(h.First, []byte(" "+r.RequestURI+" "), []byte(" "+path+" "), 1)
	return ""
}
