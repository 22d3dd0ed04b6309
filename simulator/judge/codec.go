package judge

import (
	"context"
	"errors"

	"parley/driver"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// codec decodes the records of a program in a role of a protocol, by the default names on the wire.
type codec struct {
	profile  *target.Profile
	env      *steps.Env
	frames   func(*transcript.Record)
	others   func(*transcript.Record)
	observed func([]transcript.Record) []transcript.Record
}

// newCodec makes a codec. The protocol's binding depends on the driver that would have recorded: frames are those of a
// WebSocket, and everything else is HTTP.
func newCodec(p steps.Protocol, role, base string) (*codec, error) {
	kind := p.Kind()
	profile := kind.New()
	profile.Protocol, profile.Role, profile.Name, profile.URL = kind.Protocol, role, "your program", base
	if base != "" && kind.Locate != nil {
		kind.Locate(profile) // a URL may have the path of the socket
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	by := map[string]func(*transcript.Record){}
	c := &codec{profile: profile, observed: func(all []transcript.Record) []transcript.Record { return all }}
	for _, name := range kind.Drivers {
		env := &steps.Env{Profile: profile, Role: role, Driver: unused(name), Ledger: ledger,
			Redact: transcript.NewRedactor()}
		if c.env == nil {
			c.env = env
		}
		by[name] = p.Bind(env, program(profile.URL))
	}
	first := func(names ...string) func(*transcript.Record) {
		for _, name := range names {
			if by[name] != nil {
				return by[name]
			}
		}
		return func(*transcript.Record) {}
	}
	c.frames = first(target.WS, target.Stdio, target.SSE, target.Browser)
	c.others = first(target.SSE, target.Browser, target.WS, target.Stdio)
	if w, ok := p.(steps.Witness); ok {
		c.observed = func(all []transcript.Record) []transcript.Record { return w.Observed(role, all) }
	}
	return c, nil
}

func (c *codec) decode(r *transcript.Record) {
	if r.Kind == transcript.Frame {
		c.frames(r)
		return
	}
	c.others(r)
}

// unused is a driver of which only the name counts.
type unused string

// Name implements driver.Driver.
func (u unused) Name() string { return string(u) }

// Open implements driver.Driver.
func (u unused) Open(context.Context, driver.OpenOptions, driver.Sink) (driver.Conn, error) {
	return nil, errors.New("a play opens no connection to judge by")
}

// program is a target.Running that the harness leaves alone. It is the program's base URL.
type program string

// BaseURL implements target.Running.
func (p program) BaseURL() string { return string(p) }

// Hook implements target.Running.
func (p program) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// ConfigBytes implements target.Running.
func (p program) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "configuration of your program"}
}

// Restart implements target.Running.
func (p program) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "way to restart your program"}
}

// Stderr implements target.Running.
func (p program) Stderr() string { return "" }

// Stop implements target.Running.
func (p program) Stop(context.Context) error { return nil }
