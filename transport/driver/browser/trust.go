package browser

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/security"

	"parley/internal/deadline"
	"parley/internal/unixurl"
)

// The browser checks certificates by itself, and knows no authority but the system's. With other authorities we
// therefore check the certificate of the page's host, and the browser accepts its key: a switch of the whole browser.

// pinTime bounds the check of a host's certificate.
const pinTime = 5 * time.Second

// pinFlag is the switch that names accepted keys.
const pinFlag = "--ignore-certificate-errors-spki-list="

// pin returns the key that the browser must accept to open a URL; "" if the browser decides alone. The host's
// certificate is checked first.
func (d *Driver) pin(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || d.o.TLS == nil || d.o.TLS.InsecureSkipVerify || d.o.TLS.RootCAs == nil {
		return "", err
	}
	limited, cancel := deadline.WithLimit(ctx, pinTime)
	defer cancel()
	c, err := unixurl.DialTLS(limited, "tcp", place(address), d.o.TLS)
	if err != nil {
		return "", fmt.Errorf("check the certificate of %s: %w", u.Host, err)
	}
	defer c.Close()
	leaf := c.(*tls.Conn).ConnectionState().PeerCertificates[0]
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

// trust prepares a tab for the certificates and headers of its page, before it navigates.
func (c *Conn) trust(o Options) {
	if o.TLS != nil && o.TLS.InsecureSkipVerify {
		start(c.s, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
	}
	u, err := url.Parse(c.o.URL)
	if err != nil || len(o.Header) == 0 || u.Host == "" {
		return
	}
	c.header = o.Header
	start(c.s, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: u.Scheme + "://" + u.Host + "/*", RequestStage: fetch.RequestStageRequest}}})
}

// pausedEvent has the relevant fields of a request that waits for its headers.
type pausedEvent struct {
	RequestID fetch.RequestID `json:"requestId"`
	Request   struct {
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// onPaused lets a request to the page's own origin go on with our headers.
func (c *Conn) onPaused(e pausedEvent) {
	var all []*fetch.HeaderEntry
	for name, value := range e.Request.Headers {
		if c.header.Get(name) == "" {
			all = append(all, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	for name, values := range c.header {
		all = append(all, &fetch.HeaderEntry{Name: http.CanonicalHeaderKey(name), Value: strings.Join(values, ", ")})
	}
	start(c.s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID, Headers: all})
}
