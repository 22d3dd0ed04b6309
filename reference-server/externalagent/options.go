package externalagent

import (
	"cmp"
	"log/slog"
	"time"

	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// Options configures a Server. The zero value plays the built-in cinema, and logs into a temporary folder.
type Options struct {
	Logs      string     // folder of the study logs, see host.Options; "": a temporary one, which Close removes
	Store     host.Store // used instead of a store in Logs; the server closes it
	LogName   string     // what logFile has in place of that folder; default: host.DefaultLogName
	Catalogue string     // a file to use instead of the built-in catalogue

	Idle     time.Duration // a host without agents for so long is forgotten; default: 10 minutes
	MaxHosts int           // hosts at a time; default: 256

	AllowOrigins []string // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Logger       *slog.Logger

	// Relay has the relay's policy, hooks and limits; the server sets its other fields.
	Relay relay.Options

	// Host returns the options of each host; o are those of a correct one. Faulty hosts are made by it. A policy and hooks
	// belong to one host, so it makes them anew at each call. It is called one at a time, and may call no method of the
	// Server.
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
