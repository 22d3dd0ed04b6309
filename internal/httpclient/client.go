// Package httpclient has the HTTP client by which targets are asked: it shows what a server answers, and does no more.
package httpclient

import "net/http"

// New returns a client that does not follow redirects. A response with status 101 has no body, and its connection is
// closed: the client asks for no other protocol, and what net/http returns as the body of such a response is the
// connection, whose reads end with neither the response nor the context. It is safe for concurrent use.
func New(t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct{ *http.Transport }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
}
