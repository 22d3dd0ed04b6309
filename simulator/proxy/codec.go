package proxy

import (
	"context"
	"errors"

	"parley/features/verdict"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Codec decodes the records of a program that is only observed, in a role of its protocol. The protocol's binding
// depends on the driver that would have made the records: frames are those of a WebSocket or of stdio, and everything
// else is HTTP.
type Codec struct {
	Env *steps.Env // for judging

	protocol steps.Protocol
	base     string                // URL of the program, if it is a server
	envs     map[string]*steps.Env // by driver
}

// NewCodec makes a codec for a program that uses the default wire names. base is its base URL if it is a server.
func NewCodec(p steps.Protocol, role, base string) (*Codec, error) {
	kind := p.Kind()
	profile := kind.New()
	profile.Protocol, profile.Role, profile.Name, profile.URL = kind.Protocol, role, "your program", base
	if base != "" && kind.Locate != nil {
		kind.Locate(profile) // a URL may contain the path of the socket
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	return newCodec(p, profile, ledger, false, profile.URL), nil
}

// CodecOf makes a codec for a target with the wire names of its profile. base is its base URL.
func CodecOf(p steps.Protocol, profile *target.Profile, strict bool, base string) (*Codec, error) {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	return newCodec(p, profile, ledger, strict, base), nil
}

func newCodec(p steps.Protocol, profile *target.Profile, ledger *verdict.Ledger, strict bool, base string) *Codec {
	c := &Codec{protocol: p, base: base, envs: map[string]*steps.Env{}}
	for _, name := range p.Kind().Drivers {
		c.envs[name] = &steps.Env{Profile: profile, Role: profile.Role, Driver: unused(name), Ledger: ledger, Strict: strict,
			Redact: transcript.NewRedactor()}
		if c.Env == nil {
			c.Env = c.envs[name]
		}
	}
	return c
}

// Decoder returns a decoder of records with its own state.
func (c *Codec) Decoder() func(*transcript.Record) {
	by := map[string]func(*transcript.Record){}
	for name, env := range c.envs {
		by[name] = c.protocol.Bind(env, observed(c.base))
	}
	pick := func(names ...string) func(*transcript.Record) {
		for _, name := range names {
			if by[name] != nil {
				return by[name]
			}
		}
		return func(*transcript.Record) {}
	}
	frames := pick(target.WS, target.Stdio, target.SSE, target.Browser)
	others := pick(target.SSE, target.Browser, target.WS, target.Stdio)
	return func(rec *transcript.Record) {
		if rec.Kind == transcript.Frame {
			frames(rec)
			return
		}
		others(rec)
	}
}

// Observed returns the records that a tester of the role would have: see steps.Witness. filters reports whether it may
// omit records.
func (c *Codec) Observed(records []transcript.Record) (out []transcript.Record, filters bool) {
	if w, ok := c.protocol.(steps.Witness); ok {
		return w.Observed(c.Env.Role, records), true
	}
	return records, false
}

// unused is a driver of which only the name is used.
type unused string

// Name implements driver.Driver.
func (u unused) Name() string { return string(u) }

// Open implements driver.Driver.
func (u unused) Open(context.Context, driver.OpenOptions, driver.Sink) (driver.Conn, error) {
	return nil, errors.New("who only observes opens no connection")
}

// observed is a target.Running that the harness does not control. Its value is the program's base URL.
type observed string

// BaseURL implements target.Running.
func (o observed) BaseURL() string { return string(o) }

// Hook implements target.Running.
func (o observed) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// ConfigBytes implements target.Running.
func (o observed) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "configuration of a program that is only observed"}
}

// Restart implements target.Running.
func (o observed) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "way to restart a program that is only observed"}
}

// Stderr implements target.Running.
func (o observed) Stderr() string { return "" }

// Stop implements target.Running.
func (o observed) Stop(context.Context) error { return nil }
