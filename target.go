package parley

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"parley/target"
)

// Target is what is judged. Make one by [Profile], [URL], [Handler], [HandlerWithModel] or [Serve].
type Target struct {
	name    string // of the function that made it, and what it was given
	profile string // a file
	url     string

	// starts a server on a listener, with the base URL of a model that it may use; nil: not served by this process
	start func(l net.Listener, modelURL string) (stop func(context.Context) error)

	models bool // it uses the model
	fresh  bool // each start makes a new server, so that several can run at once
}

// Profile is the target that a profile describes. A relative path is relative to the working directory, which in a test
// is the folder of its package.
func Profile(file string) Target { return Target{name: "Profile(" + file + ")", profile: file} }

// URL is a running server that follows the default binding of its protocol, which [Protocol] must name. The URL is one
// that `parley run --protocol` accepts: http, https, ws, wss or unix.
func URL(url string) Target { return Target{name: "URL(" + url + ")", url: url} }

// Handler is a server in this process, served on a free loopback port during the run. [Protocol] must name its
// protocol; [Settings] describes it further. All scenarios share it, so it is not restarted.
func Handler(h http.Handler) Target {
	return Target{name: "Handler", start: func(l net.Listener, _ string) func(context.Context) error {
		return serveHTTP(l, h)
	}}
}

// HandlerWithModel is a server in this process that is made by a function: once for the run, and again for each
// scenario that needs a target of its own; one call at a time. modelURL is the base URL of a fake model, without a
// trailing slash, whose answers the scenarios determine; it speaks the chat completions and the messages API, below
// /v1. A handler that has a method Close() error is closed after use.
func HandlerWithModel(newHandler func(modelURL string) http.Handler) Target {
	var mu sync.Mutex // scenarios with targets of their own start them side by side
	one := func(modelURL string) http.Handler {
		mu.Lock()
		defer mu.Unlock()
		return newHandler(modelURL)
	}
	return Target{name: "HandlerWithModel", models: true, fresh: true,
		start: func(l net.Listener, modelURL string) func(context.Context) error {
			h := one(modelURL)
			stop := serveHTTP(l, h)
			return func(ctx context.Context) error {
				err := stop(ctx)
				if c, ok := h.(interface{ Close() error }); ok {
					err = errors.Join(err, c.Close())
				}
				return err
			}
		}}
}

// Serve is a server in this process that serves a listener on a free loopback port. serve runs in a goroutine of its
// own, and must return once the listener is closed, which is at the end of the run. [Protocol] must name the protocol;
// [Settings] describes the server further. All scenarios share it, so it is not restarted.
func Serve(serve func(net.Listener)) Target {
	return Target{name: "Serve", start: func(l net.Listener, _ string) func(context.Context) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			serve(l)
		}()
		return func(ctx context.Context) error {
			err := l.Close()
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			return errors.Join(err, awaitDone(ctx, done, "the function given to parley.Serve has not returned"))
		}
	}}
}

// serveHTTP serves a handler until stop, which ends its connections.
func serveHTTP(l net.Listener, h http.Handler) (stop func(context.Context) error) {
	server, done := &http.Server{Handler: h}, make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	return func(ctx context.Context) error {
		return errors.Join(server.Close(), awaitDone(ctx, done, "the server has not ended"))
	}
}

// awaitDone waits for done, but no longer than ctx.
func awaitDone(ctx context.Context, done <-chan struct{}, late string) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New(late)
	}
}

// resolveTarget returns the profile of a target and its launcher; a nil launcher means that the profile says how.
func (s settings) resolveTarget(t Target) (*target.Profile, target.Launcher, error) {
	kinds := s.suite.Kinds()
	if s.text != "" && t.start == nil {
		return nil, nil, usagef("parley.Settings: %s has a profile of its own (write the keys there)", t.name)
	}
	switch {
	case t.profile != "":
		p, err := kinds.Load(t.profile)
		if err == nil && s.protocol != "" && s.protocol != p.Protocol {
			err = usagef("parley.Protocol(%q): %s speaks %s", s.protocol, t.profile, p.Protocol)
		}
		return p, nil, err
	case t.url == "" && t.start == nil:
		return nil, nil, usagef("the Target is empty (make one by parley.Profile, URL, Handler or Serve)")
	case !slices.Contains(kinds.Protocols(), s.protocol):
		what := "which protocol does it speak? (name it by parley.Protocol or ProtocolDir"
		if s.protocol != "" {
			what = fmt.Sprintf("the protocol %q is unknown (", s.protocol)
		}
		return nil, nil, usagef("parley.%s: %s; known: %s)", t.name, strings.TrimSuffix(what, "("),
			strings.Join(kinds.Protocols(), ", "))
	case t.url != "":
		p, err := kinds.ForURL(s.protocol, t.url)
		return p, nil, err
	}
	p, err := kinds.ForLauncher("parley.Settings", "protocol: "+s.protocol, s.text)
	if err != nil {
		return nil, nil, err
	}
	if p.Name == "" {
		p.Name = "parley." + t.name
	}
	if t.models && p.Model == nil {
		p.Model = &target.Model{}
	}
	return p, local{t}, nil
}

// local launches servers of this process.
type local struct{ t Target }

// Private implements target.Launcher.
func (l local) Private() bool { return l.t.fresh }

// Launch implements target.Launcher.
func (l local) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("parley.%s: %w", l.t.name, err)
	}
	return &served{url: "http://" + listener.Addr().String(), stop: l.t.start(listener, o.ModelURL)}, nil
}

// served is a server of this process while it runs.
type served struct {
	url  string
	once sync.Once
	stop func(context.Context) error
	err  error
}

// BaseURL implements target.Running.
func (s *served) BaseURL() string { return s.url }

// Hook implements target.Running.
func (s *served) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// ConfigBytes implements target.Running.
func (s *served) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "agents.file or hooks.config-digest"}
}

// Restart implements target.Running.
func (s *served) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "command or hooks.restart"}
}

// Stderr implements target.Running.
func (s *served) Stderr() string { return "" }

// Stop implements target.Running.
func (s *served) Stop(ctx context.Context) error {
	s.once.Do(func() { s.err = s.stop(ctx) })
	return s.err
}
