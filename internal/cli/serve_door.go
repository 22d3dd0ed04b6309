package cli

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// watch logs the end of the connections at the given paths.
func watch(log *slog.Logger, sockets []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		if slices.Contains(sockets, r.URL.Path) {
			after := time.Since(began).Round(time.Millisecond)
			log.Info("connection ended", "path", r.URL.Path, "remote", r.RemoteAddr, "after", after)
		}
	})
}

// guard rejects requests without the token. It admits CORS preflights of browsers, which cannot carry one.
func guard(token string, next http.Handler) http.Handler {
	return guardWith(token, next, func(w http.ResponseWriter, text string) {
		http.Error(w, text, http.StatusUnauthorized)
	})
}

// guardWith is guard with the answer for requests without the token.
func guardWith(token string, next http.Handler, refuse func(w http.ResponseWriter, text string)) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		// Comparing digests keeps the timing from revealing the length too.
		got := sha256.Sum256([]byte(carried(r)))
		if !preflight && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Access-Control-Allow-Origin", "*") // any page may learn that it needs a token, but nothing else
			refuse(w, "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN")
			return
		}
		next.ServeHTTP(w, withoutToken(r))
	})
}

// carried returns the token of a request.
func carried(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("token")
}

// withoutToken returns a request with its token removed.
func withoutToken(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	q := r.URL.Query()
	if q.Has("token") {
		q.Del("token")
		r.URL.RawQuery = q.Encode()
		r.RequestURI = r.URL.RequestURI()
	}
	return r
}
