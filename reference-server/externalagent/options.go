package externalagent

import (
	"log/slog"
	"time"

	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// Options configures a Server. The zero value plays the built-in cinema, and logs into a temporary folder.
type Options struct {
	Logs      string     // folder of the study logs, see host.Options; "": a temporary one, which Close removes
	Store     host.Store // in place of the one that Logs names; the server closes it
	LogName   string     // what logFile begins with in the place of that folder; host.DefaultLogName without it
	Catalogue string     // a file in place of the built-in catalogue

	Idle     time.Duration // a host without agents for so long is forgotten; 10 minutes without it
	MaxHosts int           // kept at a time; 256 without it

	AllowOrigins []string // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Logger       *slog.Logger

	// Relay are the relay's policy, hooks and limits; its other fields are set by the server.
	Relay relay.Options

	// Host is asked for the options of each host: o are those of a correct one. Faulty hosts are made by it. A policy and
	// hooks belong to one host, so it makes them anew at each call. Called one at a time; it may call no method of the Server.
	Host func(session string, o host.Options) host.Options
}

const (
	defaultIdle     = 10 * time.Minute
	defaultMaxHosts = 256
)

func (o Options) withDefaults() Options {
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.MaxHosts <= 0 {
		o.MaxHosts = defaultMaxHosts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Host == nil {
		o.Host = func(_ string, o host.Options) host.Options { return o }
	}
	return o
}
