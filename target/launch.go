package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// launch starts the process for the first time, and once more at another port when somebody took the first one meanwhile.
func (in *Instance) launch(ctx context.Context) error {
	if !strings.Contains(in.profile.URL, anyPort) {
		in.locate(0)
		if listens(ctx, in.fill.url, probeWait) == nil { // it would be judged in place of ours
			return &StartError{
				Command: in.argv(), Reason: fmt.Sprintf("is not started: somebody listens at %s already", in.fill.url),
			}
		}
		return in.prepareAndSpawn(ctx)
	}
	for try := 1; ; try++ {
		port, err := reservePort()
		if err != nil {
			return fmt.Errorf("pick a port for the target: %w", err)
		}
		in.locate(port)
		err = in.prepareAndSpawn(ctx)
		var start *StartError
		if try == 2 || !errors.As(err, &start) || in.process() == nil || !portClash(port, start) {
			return err
		}
		releasePort(port)
	}
}

func (in *Instance) prepareAndSpawn(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(in.profile.Command.Copy)) {
		from := in.resolve(in.profile.Command.Copy[name])
		if err := copyFile(from, filepath.Join(in.fill.dir, name)); err != nil {
			return &StartError{Command: in.argv(), Reason: "is not started: command.copy", Err: err}
		}
	}
	if err := in.tellModel(ctx); err != nil {
		return err
	}
	return in.spawn(ctx)
}

// spawn starts the process and waits until it is ready. After an error it has gone.
func (in *Instance) spawn(ctx context.Context) error {
	failed := &StartError{Command: in.argv(), Reason: "cannot be started"}
	cmd := exec.Command(failed.Command[0], failed.Command[1:]...)
	cmd.Dir, cmd.Env = in.resolve(in.profile.Command.Dir), in.environ()
	if _, err := os.Stat(cmd.Dir); err != nil {
		failed.Err = err
		return failed
	}
	matched := make(chan struct{})
	if log := in.profile.Command.Ready.Log; log != "" {
		re, once := regexp.MustCompile(log), sync.OnceFunc(func() { close(matched) }) // Parse compiled it
		in.stdout.expect(re, once)
		in.stderr.expect(re, once)
	}
	p, err := startProcess(cmd, in.stdout, in.stderr)
	if err != nil {
		failed.Err = err
		return failed
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
		start.Command, start.Stdout, start.Stderr = failed.Command, in.stdout.String(), in.stderr.String()
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

// argv is the command with its placeholders replaced.
func (in *Instance) argv() []string {
	argv := make([]string, len(in.profile.Command.Run))
	for i, arg := range in.profile.Command.Run {
		argv[i] = in.fill.fill(arg)
	}
	return argv
}

// environ is the harness's own environment with the profile's additions; the last of a name counts.
func (in *Instance) environ() []string {
	env := append(os.Environ(), in.fill.env()...)
	add := func(m map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			env = append(env, name+"="+in.fill.fill(m[name]))
		}
	}
	add(in.profile.Command.Env)
	if in.profile.Model != nil && in.model != "" {
		add(in.profile.Model.Env)
	}
	return env
}

// copyFile copies a file with its mode, making the folders on the way.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", from)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
