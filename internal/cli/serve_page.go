package cli

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
)

// remember admits a page that was opened with ?token=, although the files it loads and its WebSocket carry no token.
// A client that has shown the token gets a cookie that replaces it until the server ends. The cookie is not a copy of
// the token, since servers on other ports of the same machine see it too. With the cookie, a browser may call from
// the server's own origin, whatever its name. Without a token, remember does nothing.
func remember(token string, at net.Addr, secure bool, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	name, value := "parley", rand.Text()
	if _, port, err := net.SplitHostPort(at.String()); err == nil {
		name += "-" + port
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := carried(r)
		if shown == "" {
			if c, err := r.Cookie(name); err == nil && same(c.Value, value) {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", "Bearer "+token)
				if from, err := url.Parse(r.Header.Get("Origin")); err == nil && from.Host == r.Host {
					r.Header.Del("Origin")
				}
			}
		} else if r.URL.Path == "/" && same(shown, token) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: secure,
				SameSite: http.SameSiteStrictMode})
		}
		next.ServeHTTP(w, r)
	})
}

// same compares secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
