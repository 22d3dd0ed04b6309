package externalagent

import (
	"cmp"
	"log/slog"
	"time"

	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// Options configures a Server. The zero value runs the built-in cinema and logs into a temporary folder.
type Options struct {
	Logs      string     // folder of the study logs, see host.Options; "": a temporary one, which Close removes
	Store     host.Store // replaces the store in Logs; the server closes it
	LogName   string     // stands for that folder in logFile; default: host.DefaultLogName
	Catalogue string     // a file that replaces the built-in catalogue

	Idle     time.Duration // a host without agents is forgotten after this; default: 10 minutes
	MaxHosts int           // maximum number of hosts; default: 256

	AllowOrigins []string // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Logger       *slog.Logger

	// Relay holds the relay's policy, hooks and limits; the server sets the other fields.
	Relay relay.Options

	// Host returns the options of a host, given those of a correct one. It can make a faulty host. A policy and hooks
	// belong to one host, so it must make new ones at each call. Calls are serialized, and it must not call methods of
	// the Server.
	Host func(session string, o host.Options) host.Options
}

const (
	defaultIdle     = 10 * time.Minute
	defaultMaxHosts = 256
)

func (o Options) withDefaults() Options {
	o.Idle, o.MaxHosts = max(o.Idle, 0), max(o.MaxHosts, 0)
	o.Idle, o.MaxHosts = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.MaxHosts, defaultMaxHosts)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Host == nil {
		o.Host = func(_ string, o host.Options) host.Options { return o }
	}
	return o
}
