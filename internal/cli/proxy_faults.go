package cli

import (
	"context"
	"errors"
	"strings"

	"parley/simulator/proxy"
)

// misbehave has the faults of --faults happen to what passes; nil if there are none.
func (o proxyOptions) misbehave(opts *proxy.Options, s *streams) (*faults, error) {
	if o.faults == "" {
		return nil, nil
	}
	f, err := readFaults(o.faults, o.protocol)
	if err != nil {
		return nil, err
	}
	if len(o.command) > 0 {
		if err := f.set.OverPipe(f.file); err != nil {
			return nil, usagef("%v", err)
		}
	}
	warnOfFaults(s.Err, f.set, f.file, o.protocol)
	opts.Handle = f.x.Handle
	return f, nil
}

// faulty is pipe with faults. The command is reached as a WebSocket server, so that what changes messages between
// sockets stands before it. The exit code is that of the command.
func (o proxyOptions) faulty(ctx context.Context, opts proxy.Options, s *streams,
	live *liveView) (code int, err error) {
	command, end, err := o.wire(&opts, s)
	if err != nil {
		return 0, err
	}
	defer end()
	opts.Listen = "127.0.0.1:0"
	p, err := proxy.Open(opts)
	if err != nil {
		return 0, o.unstarted(err)
	}
	live.follow(p.Stats)
	code, err = command.Run(ctx, strings.Replace(p.URL(), "http", "ws", 1))
	return code, errors.Join(err, p.Close())
}
