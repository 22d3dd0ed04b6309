// Package httpclient has the HTTP client for requests to targets: it returns the server's response as it is.
package httpclient

import "net/http"

// New returns a client that does not follow redirects. A response with status 101 has no body, and its connection is
// closed: the client requests no protocol upgrade, and net/http returns the connection as the body of such a response,
// whose reads end with neither the response nor the context. It is safe for concurrent use.
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
