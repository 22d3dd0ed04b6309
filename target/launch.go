package target

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"parley/internal/freeport"
	"parley/internal/unixurl"
	"parley/transcript"
)

// launch starts the process. If another process took its port meanwhile, it tries once more with a new one.
func (in *Instance) launch(ctx context.Context) error {
	if !strings.Contains(in.profile.URL, anyPort) {
		in.locate(0)
		if socket, _, err := unixurl.Split(in.fill.url); err == nil && unixurl.TooLong(socket) != "" {
			return &StartError{Command: in.argv(),
				Reason: "is not started: " + unixurl.TooLong(socket) + " (set TMPDIR to a shorter folder): " + socket}
		}
		if listens(ctx, in.fill.url, probeWait) == nil { // it would be tested instead of ours
			return &StartError{
				Command: in.argv(), Reason: fmt.Sprintf("is not started: another process already listens at %s", in.fill.url),
			}
		}
		return in.prepareAndSpawn(ctx)
	}
	for try := 1; ; try++ {
		port, err := freeport.Lend()
		if err != nil {
			return fmt.Errorf("pick a port for the target: %w", err)
		}
		in.picked = port
		in.locate(port.Number)
		err = in.prepareAndSpawn(ctx)
		var start *StartError
		if try == 2 || !errors.As(err, &start) || in.process() == nil || !portClash(port.Number, start) {
			return err
		}
		port.Release()
	}
}

func (in *Instance) prepareAndSpawn(ctx context.Context) error {
	if err := in.prepare(ctx); err != nil {
		return err
	}
	return in.spawn(ctx)
}

// spawn starts the process and waits until it is ready. After an error the process is gone.
func (in *Instance) spawn(ctx context.Context) error {
	matched := make(chan struct{})
	if log := in.profile.Command.Ready.Log; log != "" {
		re, once := regexp.MustCompile(log), sync.OnceFunc(func() { close(matched) }) // Parse has checked it
		in.stdout.expect(re, once)
		in.stderr.expect(re, once)
	}
	p, err := in.run(in.stdout, in.stderr)
	if err != nil {
		return err
	}
	in.mu.Lock()
	in.proc = p
	in.mu.Unlock()

	err = in.awaitReady(ctx, p, matched)
	in.stdout.expect(nil, nil)
	in.stderr.expect(nil, nil)
	if err == nil {
		return nil
	}
	left := p.stop(context.Background(), 0)
	if start, ok := err.(*StartError); ok {
		redact := transcript.NewRedactor(in.profile.Secrets...)
		start.Command, start.Stdout, start.Stderr = in.argv(), redact.String(in.stdout.String()),
			redact.String(in.stderr.String())
		for i, word := range start.Command {
			start.Command[i] = redact.String(word)
		}
	} else {
		err = fmt.Errorf("start target: %w", err)
	}
	if left != nil {
		err = errors.Join(err, left)
	}
	return err
}

// relaunch ends the process and starts it again.
func (in *Instance) relaunch(ctx context.Context, kill bool) error {
	grace := in.profile.Command.Stop.Duration
	if kill {
		grace = 0
	}
	if err := in.process().stop(ctx, grace); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("restart target: %w", context.Cause(ctx))
	}
	return in.spawn(ctx)
}
