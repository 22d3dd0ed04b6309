package target

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"parley/internal/freeport"
	"parley/internal/unixurl"
	"parley/transport/transcript"
)

// launch starts the process. If another process took its port meanwhile, it tries once more with a new one.
func (in *Instance) launch(ctx context.Context) error {
	if portIn(in.profile.URL) == "" {
		in.locate()
		if socket, _, err := unixurl.Split(in.fill.url); err == nil && unixurl.TooLong(socket) != "" {
			return &StartError{Command: in.argv(),
				Reason: "is not started: " + unixurl.TooLong(socket) + " (set TMPDIR to a shorter folder): " + socket}
		}
		if listens(ctx, in.fill.url, probeWait) == nil { // it would be tested instead of ours
			return &StartError{
				Command: in.argv(), Reason: fmt.Sprintf("is not started: another process already listens at %s", in.fill.url),
			}
		}
	}
	for try := 1; ; try++ {
		if err := in.lend(); err != nil {
			return err
		}
		in.locate()
		err := in.prepareAndSpawn(ctx)
		var start *StartError
		if try == 2 || !errors.As(err, &start) || in.process() == nil || !in.clashed(start) {
			return err
		}
		in.release()
	}
}

// lend picks the process's free ports: {port2}, and {port} unless the profile names the port.
func (in *Instance) lend() (err error) {
	if err = in.setup.lend(); err != nil || portIn(in.profile.URL) == "" {
		return err
	}
	if in.picked, err = freeport.Lend(); err != nil {
		return fmt.Errorf("pick a port for the target: %w", err)
	}
	return nil
}

func (in *Instance) release() {
	in.picked.Release()
	in.second.Release()
}

// clashed reports whether the process exited because another one had taken one of the ports picked for it.
func (in *Instance) clashed(err *StartError) bool {
	return in.picked != nil && portClash(in.picked.Number, err) || portTaken(in.second.Number)
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
