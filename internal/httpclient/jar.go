package httpclient

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"

	"parley/internal/unixurl"
)

// Jar keeps the cookies of one party as a browser does: for all ports of a host, and on loopback also those for secure
// connections. It is safe for concurrent use.
type Jar struct {
	jar  *cookiejar.Jar
	once sync.Once
}

// NewJar returns an empty jar.
func NewJar() *Jar {
	jar, _ := cookiejar.New(nil) // which has no error
	return &Jar{jar: jar}
}

// SetCookies implements http.CookieJar.
func (j *Jar) SetCookies(u *url.URL, cookies []*http.Cookie) { j.jar.SetCookies(cookieURL(u), cookies) }

// Cookies implements http.CookieJar.
func (j *Jar) Cookies(u *url.URL) []*http.Cookie { return j.jar.Cookies(cookieURL(u)) }

// cookieURL returns the URL under which cookies are kept.
func cookieURL(u *url.URL) *url.URL {
	at := *u
	if _, ok := unixurl.HTTP(u.String()); ok {
		at = url.URL{Scheme: "http", Host: unixurl.Host, Path: unixurl.RequestURI(u)}
	} else {
		at.Host = unixurl.Plain(at.Host)
	}
	at.Scheme = strings.Replace(at.Scheme, "ws", "http", 1)
	ip := net.ParseIP(at.Hostname())
	if at.Hostname() == "localhost" || strings.HasSuffix(at.Hostname(), ".localhost") || ip != nil && ip.IsLoopback() {
		at.Scheme = "https"
	}
	return &at
}

// MoveCookies moves the cookies of a request's header into the jar, so that a server can replace them. It does so once:
// what a server has taken away stays away.
func (j *Jar) MoveCookies(at string, header http.Header) http.Header {
	u, err := url.Parse(at)
	var cookies []*http.Cookie
	for _, line := range header.Values("Cookie") {
		more, wrong := http.ParseCookie(line)
		if wrong != nil {
			return header
		}
		cookies = append(cookies, more...)
	}
	if err != nil || len(cookies) == 0 {
		return header
	}
	for _, c := range cookies {
		c.Path = "/"
	}
	j.once.Do(func() { j.SetCookies(u, cookies) })
	header = header.Clone()
	header.Del("Cookie")
	return header
}
