package target

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"parley/internal/deadline"
	"parley/internal/procgroup"
)

// env returns the environment variables that describe an agent to a hook.
func (a CustomAgent) env() []string {
	return []string{
		"PARLEY_AGENT_ID=" + a.ID, "PARLEY_AGENT_NAME=" + a.Name, "PARLEY_AGENT_DESCRIPTION=" + a.Description,
		"PARLEY_AGENT_PROMPT=" + a.Prompt, "PARLEY_AGENT_TOOLS=" + strings.Join(a.Tools, ","),
	}
}

// shell is one run of a hook.
type shell struct {
	name, command string
	dir           string
	env           []string
	limit         time.Duration
	stdin         *Lines // nil: nothing
}

// Bounds of what a hook prints. Of its stdout hookKept bytes are read, and the rest is dropped; a hook that prints more
// than hookMost is ended.
const (
	hookKept = 1 << 20
	hookMost = 16 << 20
	hookLook = 20 * time.Millisecond // how often its outputs are measured
)

// lateError is why a hook was ended.
type lateError struct{ limit time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("took longer than %s", e.limit) }

// run returns the hook's stdout. The outputs are files rather than pipes: run ends with the shell even if the hook
// leaves a server running, and that server can keep writing. Whatever the hook leaves running is left alone, except
// that its whole group is killed at the limit.
func (s shell) run(ctx context.Context) ([]byte, error) {
	fail := func(err error, out []byte) error { return &HookError{s.name, err, string(out)} }
	stdout, err := unnamedFile()
	if err != nil {
		return nil, fail(err, nil)
	}
	defer stdout.Close()
	stderr, err := unnamedFile()
	if err != nil {
		return nil, fail(err, nil)
	}
	defer stderr.Close()

	late := &lateError{s.limit}
	ctx, cancel := deadline.WithLimitCause(ctx, s.limit, late)
	defer cancel()
	ctx, over := context.WithCancelCause(ctx)
	defer over(nil)
	defer watchSize(over, stdout, stderr)()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.command)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if s.stdin != nil {
		in, end, err := s.stdin.feed()
		if err != nil {
			return nil, fail(err, nil)
		}
		defer end()
		cmd.Stdin = in
	}
	procgroup.Own(cmd)
	cmd.Cancel = func() error { procgroup.Kill(cmd.Process.Pid); return nil }
	err = cmd.Run()
	if err == nil {
		if err = tooMuch(stdout, stderr); err == nil {
			printed, err := content(stdout)
			return printed, err
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	all := append(ending(stdout), ending(stderr)...)
	return nil, fail(err, all[max(0, len(all)-keptOutput):])
}

// watchSize ends a hook that prints too much. The returned function ends the watch.
func watchSize(over context.CancelCauseFunc, files ...*os.File) (stop func()) {
	done, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(hookLook)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			if err := tooMuch(files...); err != nil {
				over(err)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// tooMuch returns an error if one of a hook's outputs is too large.
func tooMuch(files ...*os.File) error {
	for _, f := range files {
		if info, err := f.Stat(); err == nil && info.Size() > hookMost {
			return fmt.Errorf("printed more than %d MiB", hookMost>>20)
		}
	}
	return nil
}

// unnamedFile returns a file that disappears when it is closed.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "parley-hook-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// content returns the first part of what was written to a file, and says how much was dropped.
func content(f *os.File) ([]byte, error) {
	all, err := io.ReadAll(io.NewSectionReader(f, 0, hookKept))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > int64(len(all)) && len(all) == hookKept {
		all = fmt.Appendf(all, "\n… %d more bytes were dropped\n", info.Size()-int64(len(all)))
	}
	return all, err
}

// ending returns the last part of what was written to a file.
func ending(f *os.File) []byte {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	all, _ := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-keptOutput), keptOutput))
	return all
}
