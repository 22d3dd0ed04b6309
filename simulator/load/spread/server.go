package spread

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"parley/internal/freeport"
	"parley/runner"
)

// Access is how a process reaches the NATS server.
type Access struct {
	URL      string `json:"url"` // nats:// or tls://, or several, separated by commas
	Token    string `json:"token,omitempty"`
	Creds    string `json:"creds,omitempty"`    // file of credentials
	CA       string `json:"ca,omitempty"`       // file of certificates of authorities
	Insecure bool   `json:"insecure,omitempty"` // a server beyond loopback needs neither TLS nor credentials
}

func usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// checkAccess rejects what would send profiles over a network in the clear, or to anybody.
func (a Access) checkAccess() error {
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return usagef("--nats %s: not the URL of a NATS server (write it like nats://127.0.0.1:4222)", printableURL(one))
		}
		known := a.Token != "" || a.Creds != "" || u.User != nil
		if !isLoopback(u.Hostname()) && !a.Insecure && (u.Scheme != "tls" || !known) {
			return usagef("--nats %s: other machines can read along (write tls:// and give a token, --nats-creds, or a user in "+
				"the URL; or give --nats-insecure)", u.Redacted())
		}
	}
	return nil
}

// connectServer connects to the server.
func (a Access) connectServer(options ...nats.Option) (*nats.Conn, error) {
	options = append(options, nats.Name("parley-load"), nats.Timeout(10*time.Second),
		nats.MaxReconnects(int(Silence/time.Second)), nats.ReconnectWait(time.Second), nats.ReconnectBufSize(4*maxMessage))
	if a.Token != "" {
		options = append(options, nats.Token(a.Token))
	}
	if a.Creds != "" {
		options = append(options, nats.UserCredentials(a.Creds))
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	conn, err := nats.Connect(a.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS server: %w", err)
	}
	if conn.MaxPayload() < maxMessage {
		conn.Close()
		return nil, usagef("--nats: the server takes messages of %d bytes at most (set its max_payload to %d or more)",
			conn.MaxPayload(), maxMessage)
	}
	return conn, nil
}

// embedServer starts a NATS server within this process, and returns the URL that reaches it on this machine.
// connections bounds those of workers.
func embedServer(listen, token string, connections int) (*server.Server, string, error) {
	try, err := net.Listen("tcp", listen) // the server itself does not say why it cannot listen
	if err != nil {
		why, mend, _ := freeport.WhyNot(listen, err)
		return nil, "", usagef("--listen: %s (%s)", why, mend)
	}
	_ = try.Close()
	host, port, _ := net.SplitHostPort(listen)
	n := server.RANDOM_PORT
	if port != "0" {
		n = try.Addr().(*net.TCPAddr).Port
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: n, ServerName: "parley-load", NoSigs: true, NoLog: true,
		Authorization: token, MaxPayload: maxMessage + 4096,
		MaxPending: 64 << 20, MaxConn: connections, MaxSubs: 1000, MaxControlLine: 4096})
	if err != nil {
		return nil, "", fmt.Errorf("start a NATS server: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, "", errors.New("start a NATS server: it is not ready on " + listen + " after 10 s")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return s, "nats://" + net.JoinHostPort(host, strconv.Itoa(s.Addr().(*net.TCPAddr).Port)), nil
}

// isLoopback reports whether a host is reachable from this machine only. The empty host means all of its addresses.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
