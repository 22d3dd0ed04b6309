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
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/internal/freeport"
	"parley/internal/procgroup"
)

// hookEnvironment returns the environment variables that describe an agent to a hook.
func (a CustomAgent) hookEnvironment() []string {
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

// runHook returns the hook's stdout. The outputs are files rather than pipes: run ends with the shell even if the hook
// leaves a server running, and that server can keep writing. Whatever the hook leaves running is left alone, except
// that its whole group is killed at the limit.
func (s shell) runHook(ctx context.Context) ([]byte, error) {
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
		in, end, err := s.stdin.feedProcess()
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
			printed, err := readStart(stdout)
			return printed, err
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	all := append(readEnd(stdout), readEnd(stderr)...)
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

// readStart returns the first part of what was written to a file, and says how much was dropped.
func readStart(f *os.File) ([]byte, error) {
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

// readEnd returns the last part of what was written to a file.
func readEnd(f *os.File) []byte {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	all, _ := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-keptOutput), keptOutput))
	return all
}

// setup holds what a process of a profile is started with.
type setup struct {
	profile *Profile
	fill    filling
	second  *freeport.Port // the port of {port2}; nil: none
}

// createScratch creates the scratch folder.
func (s *setup) createScratch() error {
	base, err := filepath.Abs(s.profile.Dir)
	if err != nil {
		return err
	}
	scratch, err := procgroup.Folder("target")
	if err != nil {
		return err
	}
	s.fill.dir, s.fill.profile = scratch, base
	return nil
}

// findProgram checks that the program exists.
func (s *setup) findProgram() error {
	program, dir := s.profile.Command.Run[0], s.profile.Command.Dir
	if settledLater(program) || settledLater(dir) {
		return nil
	}
	program, dir = s.fill.fillPlaceholders(program), s.resolvePath(dir)
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if filepath.Base(program) != program && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	_, err := exec.LookPath(program)
	return err
}

// settledLater reports whether a path is unknown until the process is started.
func settledLater(path string) bool {
	placeholders := []string{"{dir}", "{url}", anyPort, anyPort2, anySession}
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(path, p) })
}

// prepareStart does what precedes the start: it copies files and announces the model stub.
func (s *setup) prepareStart(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.profile.Command.Copy)) {
		from := s.resolvePath(s.profile.Command.Copy[name])
		if err := copyFile(from, filepath.Join(s.fill.dir, name)); err != nil {
			return &StartError{Command: s.resolveCommand(), Reason: "is not started: command.copy", Err: err}
		}
	}
	return s.tellModel(ctx)
}

// startProcess starts the process. The error is a *StartError.
func (s *setup) startProcess(stdout, stderr *output) (*process, error) {
	failed := &StartError{Command: s.resolveCommand(), Reason: "cannot be started"}
	cmd := exec.Command(failed.Command[0], failed.Command[1:]...)
	cmd.Dir, cmd.Env = s.resolvePath(s.profile.Command.Dir), s.processEnvironment()
	if _, failed.Err = os.Stat(cmd.Dir); failed.Err != nil {
		return nil, failed
	}
	p, err := startProcess(cmd, stdout, stderr)
	if err != nil {
		failed.Err = err
		return nil, failed
	}
	return p, nil
}

// tellModel runs the hook that tells the target the model stub's address.
func (s *setup) tellModel(ctx context.Context) error {
	if m := s.profile.Model; m != nil && m.Hook != "" && s.fill.model != "" {
		_, err := s.newShell(ctx, HookModel, m.Hook, nil)
		return err
	}
	return nil
}

func (s *setup) newShell(ctx context.Context, name, command string, env []string) ([]byte, error) {
	return s.newHook(name, command, env).runHook(ctx)
}

// newHook returns a hook to run.
func (s *setup) newHook(name, command string, env []string) shell {
	return shell{
		name: name, command: command, dir: s.fill.profile, env: append(s.fill.fillEnvironment(), env...),
		limit: s.profile.Limits.Hook.Duration,
	}
}

// resolvePath returns a path of the profile with its placeholders replaced, relative to the profile's folder.
func (s *setup) resolvePath(path string) string {
	path = s.fill.fillPlaceholders(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.fill.profile, path)
}

// resolveCommand returns the command with its placeholders replaced.
func (s *setup) resolveCommand() []string {
	argv := make([]string, len(s.profile.Command.Run))
	for i, arg := range s.profile.Command.Run {
		argv[i] = s.fill.fillPlaceholders(arg)
	}
	return argv
}

// processEnvironment returns the harness's own environment with the profile's additions; the last entry of a name
// counts.
func (s *setup) processEnvironment() []string {
	env := append(os.Environ(), s.fill.fillEnvironment()...)
	add := func(m map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			env = append(env, name+"="+s.fill.fillPlaceholders(m[name]))
		}
	}
	add(s.profile.Command.Env)
	if s.profile.Model != nil && s.fill.model != "" {
		add(s.profile.Model.Env)
	}
	return env
}

// copyFile copies a file with its mode, and creates the folders it needs.
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
		return fmt.Errorf("%s is not a file", from)
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

// lifetime ends pending operations when a Running is stopped. It must be opened first.
type lifetime struct {
	stopping context.Context // Stop ends it, and thereby hooks, restarts and calls
	cancel   context.CancelFunc
	life     sync.RWMutex // writers: start, restart, stop; readers: hooks, calls
}

func (l *lifetime) isOpen() { l.stopping, l.cancel = context.WithCancel(context.Background()) }

// boundByStop returns a ctx that also ends with Stop.
func (l *lifetime) boundByStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if l.stopping.Err() != nil {
		cancel(errStopped) // AfterFunc alone would be too late
	}
	unhook := context.AfterFunc(l.stopping, func() { cancel(errStopped) })
	return ctx, func() { unhook(); cancel(nil) }
}
