// Package unixurl has the URLs of servers on unix sockets: unix:///run/server.sock is the server, and
// unix:///run/server.sock:/events a path of it. Such servers are spoken to over plain HTTP/1.1, as localhost.
package unixurl

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Host is the host that requests name.
const Host = "localhost"

// suffix ends the host names by which a transport tells sockets apart; they never leave the process.
const suffix = ".unix-socket"

// Is reports whether a URL is that of a unix socket.
func Is(raw string) bool { return strings.HasPrefix(raw, "unix:") }

// Split returns the path of the socket in a URL, and what follows it: "" or a path with its query.
func Split(raw string) (socket, rest string, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", "", err
	case u.Scheme != "unix" || u.Opaque != "" || u.Host != "" || u.User != nil || u.Fragment != "":
		return "", "", errors.New("it is not of the form unix:///path.sock:/path")
	}
	escaped, rest, more := strings.Cut(u.EscapedPath(), ":/")
	if more {
		rest = "/" + rest
	}
	if socket, err = url.PathUnescape(strings.TrimSuffix(escaped, ":")); err != nil {
		return "", "", err
	}
	if u.RawQuery != "" {
		rest += "?" + u.RawQuery
	}
	if !strings.HasPrefix(socket, "/") || strings.HasSuffix(socket, "/") {
		return "", "", errors.New("it names no socket")
	}
	return socket, rest, nil
}

// Base returns a URL to which paths can be appended: that of a socket ends with a colon. Other URLs stay as they are.
func Base(raw string) string {
	if socket, rest, err := Split(raw); Is(raw) && err == nil && rest == "" {
		return "unix://" + (&url.URL{Path: socket}).EscapedPath() + ":"
	}
	return raw
}

// Shown is the opposite of Base, for people.
func Shown(base string) string {
	if Is(base) {
		return strings.TrimSuffix(base, ":")
	}
	return base
}

// HTTP returns the http URL of a request to a unix socket, whose host a transport of Teach understands, and reports
// whether raw is the URL of a unix socket.
func HTTP(raw string) (at string, ok bool) {
	socket, rest, err := Split(raw)
	if !Is(raw) || err != nil {
		return raw, false
	}
	if rest == "" {
		rest = "/"
	}
	return "http://" + hex.EncodeToString([]byte(socket)) + suffix + rest, true
}

// RequestURI is that of u, of which the socket is no part.
func RequestURI(u *url.URL) string {
	if u.Scheme == "unix" {
		if _, rest, err := Split(u.String()); err == nil {
			return "/" + strings.TrimPrefix(rest, "/")
		}
	}
	return u.RequestURI()
}

// Plain replaces the host names of sockets in a text by what requests name.
func Plain(text string) string {
	for {
		end := strings.Index(text, suffix)
		if end < 0 {
			return text
		}
		start := end
		for start > 0 && strings.IndexByte("0123456789abcdef", text[start-1]) >= 0 {
			start--
		}
		text = text[:start] + Host + text[end+len(suffix):]
	}
}

// Dialer is the dialer of a transport.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial wraps a dialer of TCP, so that it connects to sockets too, and to localhost at either address of loopback. nil
// is the usual dialer.
func Dial(tcp Dialer) Dialer {
	if tcp == nil {
		tcp = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || !strings.HasSuffix(host, suffix) {
			return dialLoopback(ctx, tcp, network, addr)
		}
		socket, err := hex.DecodeString(strings.TrimSuffix(host, suffix))
		if err != nil {
			return nil, err
		}
		return Connect(ctx, string(socket))
	}
}

// Loopback returns the addresses of the name localhost, and of names below it, beside those that a resolver gives: many
// know only that of IPv4, and programs listen at one only. It is nil for other hosts.
func Loopback(host string) []string {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return []string{"127.0.0.1", "::1"}
	}
	return nil
}

// dialLoopback dials an address of TCP; if nobody is there, the other addresses of localhost. The error is the first.
func dialLoopback(ctx context.Context, tcp Dialer, network, addr string) (net.Conn, error) {
	c, err := tcp(ctx, network, addr)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	host, port, _ := net.SplitHostPort(addr)
	for _, at := range Loopback(host) {
		if c, err := tcp(ctx, network, net.JoinHostPort(at, port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// DialTLS is Dial(nil) with a TLS handshake. conf may be nil.
func DialTLS(ctx context.Context, network, addr string, conf *tls.Config) (net.Conn, error) {
	c, err := Dial(nil)(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if conf = conf.Clone(); conf == nil {
		conf = &tls.Config{}
	}
	if conf.ServerName == "" {
		conf.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(c, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return secure, nil
}

// Connect connects to a socket.
func Connect(ctx context.Context, socket string) (net.Conn, error) {
	if why := TooLong(socket); why != "" {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: errors.New(why)}
	}
	return new(net.Dialer).DialContext(ctx, "unix", socket)
}

// TooLong says why a path is too long for a socket; "" if it is not.
func TooLong(socket string) string {
	if len(socket) <= most {
		return ""
	}
	return fmt.Sprintf("the path of the socket has %d bytes, and systems allow %d", len(socket), most)
}

// most bounds the path of a socket, in bytes: what Linux allows; others allow less, and say so themselves.
const most = 107

// Teach makes a transport accept requests to unix URLs. It returns the transport.
func Teach(t *http.Transport) *http.Transport {
	t.DialContext = Dial(t.DialContext)
	t.RegisterProtocol("unix", sockets{t})
	return t
}

// sockets sends requests to unix URLs by their http ones.
type sockets struct{ t *http.Transport }

// RoundTrip implements http.RoundTripper.
func (s sockets) RoundTrip(req *http.Request) (*http.Response, error) {
	at, ok := HTTP(req.URL.String())
	if !ok {
		return nil, errors.New("not the URL of a unix socket")
	}
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL = u
	if out.Host == "" {
		out.Host = Host
	}
	return s.t.RoundTrip(out)
}
