// Package httpclient has the HTTP client for requests to targets: it returns the server's response as it is.
package httpclient

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// MaxInformational is the number of informational responses (1xx) after which a final one is no longer waited for.
const MaxInformational = 100

// Bounded makes a request with the context fail after MaxInformational informational responses. Clients of New do so
// for every request.
func Bounded(ctx context.Context) context.Context {
	n := 0 // of one request, whose responses are read one after the other
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			if n++; n > MaxInformational {
				return fmt.Errorf("more than %d informational responses (HTTP %d), and no final one", MaxInformational, code)
			}
			return nil
		}})
}

// New returns a client that does not follow redirects. It accepts the encodings that browsers accept, and decodes the
// bodies of responses (Body). A response with status 101 has no body, and its connection is
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
	req = req.WithContext(Bounded(req.Context()))
	if req.Header.Get("Accept-Encoding") == "" {
		req.Header = req.Header.Clone()
		req.Header.Set("Accept-Encoding", AcceptEncoding)
	}
	resp, err := t.Transport.RoundTrip(req)
	if err == nil {
		Decode(resp)
	}
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
}
