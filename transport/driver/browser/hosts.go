package browser

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pages reach loopback, their own host, and what the profile allows. Everything else is sent to a proxy on loopback
// that refuses it, so that nothing leaves the machine, not even name lookups.

// loopback lists what is always reachable, in the syntax of a proxy bypass list. It replaces the browser's own
// definition, which includes link-local addresses.
const loopback = "<-loopback>;localhost;*.localhost;127.0.0.0/8;[::1]"

// bypass returns the bypass list of the proxy.
func bypass(hosts []string) string { return strings.Join(append([]string{loopback}, hosts...), ";") }

// hostShape matches a name or an address, with or without a port.
var hostShape = regexp.MustCompile(`^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// allowed lists what a page at address may request besides loopback: its own host, and what the profile allows.
func allowed(address string, allow []string) ([]string, error) {
	var out []string
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if h := u.Hostname(); h != "" && !isLoopback(h) {
		if strings.Contains(h, ":") {
			h = "[" + h + "]"
		}
		allow = append([]string{h}, allow...)
	}
	for _, h := range allow {
		if ip, err := netip.ParseAddr(h); err == nil && ip.Is6() {
			h = "[" + h + "]"
		}
		if !hostShape.MatchString(h) {
			return nil, fmt.Errorf("%q is not a host that could be allowed", h)
		}
		out = append(out, strings.ToLower(h))
	}
	return out, nil
}

func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Is4() && ip.IsLoopback() || ip == netip.IPv6Loopback())
}

// place returns a URL's host and port; "" if it is not on a network.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	port := map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]
	if port == "" {
		return ""
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// fence is the refusing proxy of one profile.
type fence struct {
	hosts []string // allowed besides loopback
	tcp   net.Listener
	serve http.Server
	work  sync.WaitGroup

	mu       sync.Mutex
	attempts []string // refused requests: a method, and a URL or a host and port
}

// maxAttempts bounds the refused requests that are remembered.
const maxAttempts = 1000

func newFence(hosts []string) (*fence, error) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fence{hosts: hosts, tcp: tcp}
	f.serve = http.Server{Handler: http.HandlerFunc(f.refuse), ReadHeaderTimeout: time.Minute}
	f.serve.SetKeepAlivesEnabled(false)
	f.work.Go(func() { _ = f.serve.Serve(tcp) })
	return f, nil
}

func (f *fence) address() string { return f.tcp.Addr().String() }

func (f *fence) refuse(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if len(f.attempts) < maxAttempts {
		f.attempts = append(f.attempts, r.Method+" "+r.RequestURI)
	}
	f.mu.Unlock()
	http.Error(w, "pages may not send requests to this host", http.StatusForbidden)
}

// lets reports whether a page may request a URL.
func (f *fence) lets(address string) bool {
	at := place(address)
	host, port, err := net.SplitHostPort(at)
	if err != nil || isLoopback(host) {
		return true
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return slices.Contains(f.hosts, host) || slices.Contains(f.hosts, host+":"+port)
}

func (f *fence) close() {
	_ = f.serve.Close()
	f.work.Wait()
}
