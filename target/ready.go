package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/internal/deadline"
	"parley/internal/freeport"
	"parley/internal/httpclient"
	"parley/internal/unixurl"
)

// The pause between two checks of a target that is not ready is an eighth of the time spent so far, within these
// bounds: a quick target loses little, and a slow one is not kept busy.
const (
	readyFirst = time.Millisecond
	readyPace  = 20 * time.Millisecond
)

// Why the wait for a target ended before it was ready.
var (
	errLate  = errors.New("late")
	errEnded = errors.New("ended")
)

// probeWait bounds one check.
const probeWait = 2 * time.Second

// awaitSuccess retries until try succeeds or ctx ends, and returns the last failure that ctx did not cause.
func awaitSuccess(ctx context.Context, try func(context.Context) error) error {
	begun := time.Now()
	pace := time.NewTimer(0)
	defer pace.Stop()
	var last error
	for {
		one, cancel := deadline.WithLimit(ctx, probeWait)
		err := try(one)
		cancel()
		switch {
		case err == nil:
			return nil
		case last == nil || ctx.Err() == nil:
			last = err
		}
		pace.Reset(min(max(time.Since(begun)/8, readyFirst), readyPace))
		select {
		case <-pace.C:
		case <-ctx.Done():
			return last
		}
	}
}

// awaitReady waits until the process may be used. If it exits or is late, the error is a *StartError with only a
// reason and its cause; if ctx ends, it is ctx's cause.
func (in *Instance) awaitReady(ctx context.Context, p *process, matched <-chan struct{}) error {
	r := in.profile.Command.Ready
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	stop := deadline.In(r.Within.Duration).AfterFunc(func() { cancel(errLate) })
	defer stop()
	go func() {
		defer close(watching)
		select {
		case <-p.exited:
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	err := in.probeUntilReady(ctx, r, matched)
	if err == nil && !isClosed(p.exited) {
		return nil
	}
	if err == nil { // another process answered
		cancel(errEnded)
	}
	cancel(nil) // no effect if one of the others came first
	<-watching
	switch cause := context.Cause(ctx); cause {
	case errEnded:
		return &StartError{Reason: "ended before it was ready", Err: p.describeExit()}
	case errLate:
		return &StartError{Reason: fmt.Sprintf("was not ready within %s%s", r.Within, in.portHint()), Err: err}
	default:
		return cause
	}
}

// probeUntilReady waits until the target is ready by the profile's definition, or ctx ends.
func (in *Instance) probeUntilReady(ctx context.Context, r Ready, matched <-chan struct{}) error {
	switch {
	case r.Log != "":
		select {
		case <-matched:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no line matched %q", r.Log)
		}
	case r.Path != "":
		client := newProber(in.profile)
		defer client.CloseIdleConnections()
		return awaitSuccess(ctx, func(ctx context.Context) error {
			return checkAnswers(ctx, client, in.BaseURL()+r.Path, in.profile.Headers)
		})
	}
	return awaitSuccess(ctx, func(ctx context.Context) error { return checkListens(ctx, in.fill.url, probeWait) })
}

// portHint explains the commonest mistake.
func (in *Instance) portHint() string {
	c := in.profile.Command
	placeholder := portIn(in.profile.URL)
	if placeholder == "" || c.mentionsPlaceholder(placeholder) || c.mentionsPlaceholder("{url}") {
		return ""
	}
	_, port := hostPort(in.fill.url)
	return fmt.Sprintf(" on port %s, which neither command.run nor command.env passes to it (%s, {url})", port,
		placeholder)
}

// checkAnswers checks that a GET returns a status below 500.
func checkAnswers(ctx context.Context, client *http.Client, url string, headers map[string]string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	setHeaders(req, headers)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	return nil
}

func setHeaders(req *http.Request, headers map[string]string) {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
}

// newProber returns a client without keep-alives and proxies that does not follow redirects.
func newProber(p *Profile) *http.Client {
	return httpclient.New(unixurl.Teach(&http.Transport{DisableKeepAlives: true, TLSClientConfig: p.TLSConfig()}))
}

// dialAddress connects to an address. The limit excludes time in which this process could not run.
func dialAddress(ctx context.Context, at string, within time.Duration) (net.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(limited, "tcp", at)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = os.ErrDeadlineExceeded
	}
	return conn, err
}

// checkListens checks that a server accepts connections at a base URL; *UnreachableError if not. Every address of the
// host gets an equal share of the time.
func checkListens(ctx context.Context, base string, within time.Duration) error {
	ctx, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	if unixurl.Is(base) {
		return listensAt(ctx, base)
	}
	host, port := hostPort(base)
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return &UnreachableError{base, []Attempt{{host, err}}}
	}
	failed := &UnreachableError{URL: base}
	for _, addr := range addrs {
		at := net.JoinHostPort(addr, port)
		conn, err := dialAddress(ctx, at, within/time.Duration(len(addrs)))
		if err == nil {
			return conn.Close()
		}
		if errors.Is(err, syscall.ECONNRESET) {
			return nil // accepted, then closed at once
		}
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // without the address, which is shown next to it
		}
		failed.Tried = append(failed.Tried, Attempt{at, err})
	}
	for _, addr := range unixurl.Loopback(host) { // which the resolver may not give
		if conn, err := dialAddress(ctx, net.JoinHostPort(addr, port), within/time.Duration(len(addrs))); err == nil {
			return conn.Close()
		}
	}
	return failed
}

// Placeholders for the free ports of a command.
const (
	anyPort  = "{port}"
	anyPort2 = "{port2}"
)

// portIn returns the placeholder for a port that a URL has; "" if it has none.
func portIn(url string) string {
	for _, p := range []string{anyPort, anyPort2} {
		if strings.Contains(url, p) {
			return p
		}
	}
	return ""
}

// SampleURL returns a URL of a profile with a port in place of the placeholder, so that it can be parsed.
func SampleURL(url string) string { return strings.Replace(url, cmp.Or(portIn(url), anyPort), "1", 1) }

// pickSecondPort picks the second port, {port2}. Release gives it back.
func (s *setup) pickSecondPort() (err error) {
	if s.second, err = freeport.Lend(); err != nil {
		return fmt.Errorf("pick a port for the target: %w", err)
	}
	s.fill.port2 = strconv.Itoa(s.second.Number)
	return nil
}

var inUse = regexp.MustCompile(`(?i)EADDRINUSE|address (is )?already in use|port \d+ is (already )?in use|only ` +
	`one usage of each socket address`)

// portClash reports whether a process exited during its start because another one had taken its port.
func portClash(port int, err *StartError) bool {
	if inUse.MatchString(err.Stderr) || inUse.MatchString(err.Stdout) {
		return true
	}
	return portTaken(port)
}

// portTaken reports whether a process listens on a port.
func portTaken(port int) bool {
	l, listen := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if listen != nil {
		return errors.Is(listen, syscall.EADDRINUSE)
	}
	_ = l.Close()
	return false
}

// hostPort returns the host and port to dial for a base URL; none of a unix socket.
func hostPort(base string) (host, port string) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "unix" {
		return "", ""
	}
	port = u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname(), port
}

// Placeholders that the URL of a unix socket may have: the folders of the process and of the profile.
const (
	anyDir     = "{dir}"
	anyProfile = "{profile}"
)

// checkSocket checks a URL of a unix socket.
func (c *Checker) checkSocket() error {
	const mend = "write it like unix:///run/server.sock, or unix:///run/server.sock:/base"
	p := c.Profile
	if slices.Contains(p.Drivers, Browser) {
		return c.Fail("url", "a browser opens no page at a unix socket", "let the server listen on a port")
	}
	if portIn(p.URL) != "" {
		return c.Fail("url", "a unix socket has no port", mend)
	}
	if strings.Contains(p.URL, anyDir) && p.Command == nil {
		return c.Fail("url", "{dir} is the folder of a command, but there is no command", "give the path, or a command")
	}
	at := p.URL
	for _, folder := range []string{anyDir, anyProfile} {
		at = strings.Replace(at, "unix://"+folder, "unix:///folder", 1)
	}
	_, rest, err := unixurl.Split(at)
	switch {
	case err != nil:
		return c.Fail("url", fmt.Sprintf("%q is not the URL of a unix socket", p.URL), mend)
	case strings.ContainsAny(rest, "?"):
		return c.Fail("url", fmt.Sprintf("%q is more than a base URL", p.URL), "no query; see "+c.restKey())
	}
	if at == p.URL {
		p.URL = strings.TrimSuffix(unixurl.Base(p.URL), "/")
	}
	p.URL = unixurl.Shown(p.URL)
	return nil
}

// urlPath writes a path as in a URL.
func urlPath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// socketName names the target at a unix socket: by its file.
func socketName(raw string) string {
	socket, _, err := unixurl.Split(raw)
	if err != nil {
		return raw
	}
	return filepath.Base(socket)
}

// listensAt checks that a server accepts connections at a unix socket; *UnreachableError if not.
func listensAt(ctx context.Context, base string) error {
	socket, _, err := unixurl.Split(base)
	if err != nil {
		return &UnreachableError{unixurl.Shown(base), []Attempt{{base, err}}}
	}
	conn, err := unixurl.Connect(ctx, socket)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the address, which is shown next to it
	}
	return &UnreachableError{unixurl.Shown(base), []Attempt{{socket, err}}}
}

// Listens checks that a server accepts connections at a base URL, within limits.open; *UnreachableError if not.
func (p *Profile) Listens(ctx context.Context, base string) error {
	return checkListens(ctx, base, p.Limits.Open.Duration)
}
