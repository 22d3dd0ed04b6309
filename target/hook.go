package target

import (
	"context"
	"errors"
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
}

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

	late := fmt.Errorf("took longer than %s", s.limit)
	ctx, cancel := deadline.WithLimitCause(ctx, s.limit, late)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.command)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	procgroup.Own(cmd)
	cmd.Cancel = func() error { procgroup.Kill(cmd.Process.Pid); return nil }
	err = cmd.Run()
	printed, readErr := content(stdout)
	if err = errors.Join(err, readErr); err == nil {
		return printed, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	complaint, _ := content(stderr)
	all := append(printed, complaint...)
	return nil, fail(err, all[max(0, len(all)-keptOutput):])
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

// content returns all that was written to a file.
func content(f *os.File) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
