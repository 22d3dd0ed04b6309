package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"parley/internal/deadline"
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

// await retries until try succeeds or ctx ends, and returns the last failure that ctx did not cause.
func await(ctx context.Context, try func(context.Context) error) error {
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
	err := in.probe(ctx, r, matched)
	if err == nil && !closed(p.exited) {
		return nil
	}
	if err == nil { // another process answered
		cancel(errEnded)
	}
	cancel(nil) // no effect if one of the others came first
	<-watching
	switch cause := context.Cause(ctx); cause {
	case errEnded:
		return &StartError{Reason: "ended before it was ready", Err: p.how()}
	case errLate:
		return &StartError{Reason: fmt.Sprintf("was not ready within %s%s", r.Within, in.portHint()), Err: err}
	default:
		return cause
	}
}

// probe waits until the target is ready by the profile's definition, or ctx ends.
func (in *Instance) probe(ctx context.Context, r Ready, matched <-chan struct{}) error {
	switch {
	case r.Log != "":
		select {
		case <-matched:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no line matched %q", r.Log)
		}
	case r.Path != "":
		client := prober(in.profile)
		defer client.CloseIdleConnections()
		return await(ctx, func(ctx context.Context) error {
			return answers(ctx, client, in.BaseURL()+r.Path, in.profile.Headers)
		})
	}
	return await(ctx, func(ctx context.Context) error { return listens(ctx, in.fill.url, probeWait) })
}

// portHint explains the commonest mistake.
func (in *Instance) portHint() string {
	c := in.profile.Command
	placeholder := portIn(in.profile.URL)
	if placeholder == "" || c.mentions(placeholder) || c.mentions("{url}") {
		return ""
	}
	_, port := hostPort(in.fill.url)
	return fmt.Sprintf(" on port %s, which neither command.run nor command.env passes to it (%s, {url})", port,
		placeholder)
}

// answers checks that a GET returns a status below 500.
func answers(ctx context.Context, client *http.Client, url string, headers map[string]string) error {
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

// prober returns a client without keep-alives and proxies that does not follow redirects.
func prober(p *Profile) *http.Client {
	return httpclient.New(unixurl.Teach(&http.Transport{DisableKeepAlives: true, TLSClientConfig: p.TLSConfig()}))
}

// dial connects to an address. The limit excludes time in which this process could not run.
func dial(ctx context.Context, at string, within time.Duration) (net.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(limited, "tcp", at)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = os.ErrDeadlineExceeded
	}
	return conn, err
}

// listens checks that a server accepts connections at a base URL; *UnreachableError if not. Every address of the host
// gets an equal share of the time.
func listens(ctx context.Context, base string, within time.Duration) error {
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
		conn, err := dial(ctx, at, within/time.Duration(len(addrs)))
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
		if conn, err := dial(ctx, net.JoinHostPort(addr, port), within/time.Duration(len(addrs))); err == nil {
			return conn.Close()
		}
	}
	return failed
}
