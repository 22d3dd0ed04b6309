package cli

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
)

// remember lets a page in which was opened with ?token=: what it loads, and its WebSocket, carry no token of their own.
// Who has shown the token gets a cookie, which stands for it until the server ends. It is no copy of the token, since
// servers at other ports of the same machine see it too. A browser that has the cookie may call from the server's own
// origin, whatever that is called. Without a token there is nothing to remember.
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

// same compares secrets.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
