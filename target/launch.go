package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/internal/freeport"
	"parley/internal/input"
	"parley/internal/unixurl"
	"parley/transport/transcript"
)

// launchProcess starts the process. If another process took its port meanwhile, it tries once more with a new one.
func (in *Instance) launchProcess(ctx context.Context) error {
	if portIn(in.profile.URL) == "" {
		in.locateTarget()
		if socket, _, err := unixurl.Split(in.fill.url); err == nil && unixurl.TooLong(socket) != "" {
			return &StartError{Command: in.resolveCommand(),
				Reason: "is not started: " + unixurl.TooLong(socket) + " (set TMPDIR to a shorter folder): " + socket}
		}
		if checkListens(ctx, in.fill.url, probeWait) == nil { // it would be tested instead of ours
			return &StartError{
				Command: in.resolveCommand(),
				Reason:  fmt.Sprintf("is not started: another process already listens at %s", in.fill.url),
			}
		}
	}
	for try := 1; ; try++ {
		if err := in.pickPorts(); err != nil {
			return err
		}
		in.locateTarget()
		err := in.prepareAndSpawn(ctx)
		var start *StartError
		if try == 2 || !errors.As(err, &start) || in.currentProcess() == nil || !in.portWasTaken(start) {
			return err
		}
		in.releasePorts()
	}
}

// pickPorts picks the process's free ports: {port2}, and {port} unless the profile names the port.
func (in *Instance) pickPorts() (err error) {
	if err = in.setup.pickSecondPort(); err != nil || portIn(in.profile.URL) == "" {
		return err
	}
	if in.picked, err = freeport.Lend(); err != nil {
		return fmt.Errorf("pick a port for the target: %w", err)
	}
	return nil
}

func (in *Instance) releasePorts() {
	in.picked.Release()
	in.second.Release()
}

// portWasTaken reports whether the process exited because another one had taken one of the ports picked for it.
func (in *Instance) portWasTaken(err *StartError) bool {
	return in.picked != nil && portClash(in.picked.Number, err) || portTaken(in.second.Number)
}

func (in *Instance) prepareAndSpawn(ctx context.Context) error {
	if err := in.prepareStart(ctx); err != nil {
		return err
	}
	return in.spawnProcess(ctx)
}

// spawnProcess starts the process and waits until it is ready. After an error the process is gone.
func (in *Instance) spawnProcess(ctx context.Context) error {
	matched := make(chan struct{})
	if log := in.profile.Command.Ready.Log; log != "" {
		re, once := regexp.MustCompile(log), sync.OnceFunc(func() { close(matched) }) // Parse has checked it
		in.stdout.expectLine(re, once)
		in.stderr.expectLine(re, once)
	}
	p, err := in.startProcess(in.stdout, in.stderr)
	if err != nil {
		return err
	}
	in.mu.Lock()
	in.proc = p
	in.mu.Unlock()

	err = in.awaitReady(ctx, p, matched)
	in.stdout.expectLine(nil, nil)
	in.stderr.expectLine(nil, nil)
	if err == nil {
		return nil
	}
	left := p.stopGroup(context.Background(), 0)
	if start, ok := err.(*StartError); ok {
		redact := transcript.NewRedactor(in.profile.Secrets...)
		start.Command, start.Stdout, start.Stderr = in.resolveCommand(), redact.String(in.stdout.String()),
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

// restartProcess ends the process and starts it again.
func (in *Instance) restartProcess(ctx context.Context, kill bool) error {
	grace := in.profile.Command.Stop.Duration
	if kill {
		grace = 0
	}
	if err := in.currentProcess().stopGroup(ctx, grace); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("restart target: %w", context.Cause(ctx))
	}
	return in.spawnProcess(ctx)
}

// NewLauncher returns the launcher for a profile. The Running is a Caller if the target Dials, a Piper if it
// PipesOnly, whatever Kind.Launcher makes if that is set, and otherwise an *Instance.
func NewLauncher(p *Profile) Launcher {
	if own := p.kind.Launcher; own != nil {
		if l := own(p); l != nil {
			return l
		}
	}
	switch {
	case p.Dials():
		return agentLauncher{p}
	case p.PipesOnly():
		return pipeLauncher{p}
	}
	return launcher{p}
}

type launcher struct{ p *Profile }

func (l launcher) Launch(ctx context.Context, o LaunchOptions) (Running, error) {
	in, err := Start(ctx, l.p, o)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Private reports whether there is a command on a port or socket of its own and, if scenarios change the configuration,
// one that instances do not share.
func (l launcher) Private() bool {
	file := l.p.Agents.File
	shared := l.p.kind.Configures && file != "" && !strings.HasPrefix(file, "{dir}")
	own := portIn(l.p.URL) != "" || strings.HasPrefix(l.p.URL, "unix://"+anyDir)
	return l.p.Command != nil && own && !shared
}

// Instance is the Running of a profile: a process started by Start, or a target that was already running. It is an
// Exiter, a Piper, a Speaker, a LogKeeper and a Witness.
type Instance struct {
	setup
	lifetime
	picked         *freeport.Port // nil if the profile names a port
	stdout, stderr *output
	piped          started // the piped processes

	mu   sync.Mutex
	proc *process         // nil: not started by us
	late map[string]error // of hooks that took too long, which do not run again
}

var (
	_ Running   = (*Instance)(nil)
	_ Exiter    = (*Instance)(nil)
	_ Process   = (*Instance)(nil)
	_ Piper     = (*Instance)(nil)
	_ Speaker   = (*Instance)(nil)
	_ LogKeeper = (*Instance)(nil)
	_ Witness   = (*Instance)(nil)
)

var errStopped = errors.New("the target is being stopped")

// Start starts the target of a profile and waits until it is ready. If the profile has no command, it checks that a
// server listens at the URL. Ctx bounds the start only. Errors are *UnreachableError, *StartError, *HookError (of
// model.hook), or ctx's cause. Nothing is left running after an error. For a target that Dials or PipesOnly use
// NewLauncher.
func Start(ctx context.Context, p *Profile, o LaunchOptions) (*Instance, error) {
	in := &Instance{stdout: &output{}, stderr: &output{},
		setup: setup{profile: p, fill: filling{model: o.ModelURL, driver: p.driverVariable(WS)}}}
	if o.Stderr != nil {
		tee := &lockedWriter{w: o.Stderr}
		in.stdout.tee, in.stderr.tee = tee, tee
	}
	in.isOpen()
	err := in.beginStart(ctx)
	if err == nil {
		return in, nil
	}
	if left := in.Stop(context.Background()); left != nil { // the process is gone; only the folder may be left
		err = errors.Join(err, left)
	}
	return nil, err
}

func (in *Instance) beginStart(ctx context.Context) error {
	in.life.Lock()
	defer in.life.Unlock()
	if err := in.createScratch(); err != nil {
		return fmt.Errorf("start target: %w", err)
	}
	if in.profile.Command != nil {
		return in.launchProcess(ctx)
	}
	in.locateTarget()
	if err := checkListens(ctx, in.fill.url, in.profile.Limits.Open.Duration); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("reach target: %w", context.Cause(ctx))
		}
		return err
	}
	return in.tellModel(ctx)
}

// locateTarget sets URL and port, from the profile and the ports that were picked.
func (in *Instance) locateTarget() {
	in.fill.port = ""
	if in.picked != nil {
		in.fill.port = strconv.Itoa(in.picked.Number)
	}
	in.fill.url = strings.NewReplacer(anyPort, in.fill.port, anyPort2, in.fill.port2).Replace(in.profile.URL)
	if unixurl.Is(in.fill.url) {
		folders := strings.NewReplacer(anyDir, urlPath(in.fill.dir), anyProfile, urlPath(in.fill.profile))
		in.fill.url = folders.Replace(in.fill.url)
	}
	if in.picked == nil {
		_, in.fill.port = hostPort(in.fill.url)
	}
}

// BaseURL returns where the target listens, without a trailing slash; that of a unix socket ends with a colon.
func (in *Instance) BaseURL() string { return unixurl.Base(in.fill.url) }

// Stderr returns the last 64 KiB that the target wrote to stderr, across restarts.
func (in *Instance) Stderr() string { return in.stderr.String() }

// StderrBetween implements Witness.
func (in *Instance) StderrBetween(from, to time.Time) string { return in.stderr.textBetween(from, to) }

// Exited returns a channel that closes when the process has exited other than by Stop or Restart. Each restart makes
// a new channel. It is nil if the process is not ours.
func (in *Instance) Exited() <-chan struct{} {
	if p := in.currentProcess(); p != nil {
		return p.died
	}
	return nil
}

// PID implements Process.
func (in *Instance) PID() int {
	if p := in.currentProcess(); p != nil {
		return p.group
	}
	return 0
}

// ExitErr says how the process exited ("exit status 3", "signal: killed"); nil while it runs.
func (in *Instance) ExitErr() error {
	if p := in.currentProcess(); p != nil {
		return p.describeExit()
	}
	return nil
}

// Hook runs a hook for an agent, in the profile's folder, within Limits.Hook.
func (in *Instance) Hook(ctx context.Context, name string, agent CustomAgent) error {
	h := in.profile.Hooks
	command := map[string]string{
		HookAddAgent: h.AddAgent, HookChangeAgent: h.ChangeAgent, HookRemoveAgent: h.RemoveAgent,
	}[name]
	if command == "" {
		return &NotDeclaredError{"hooks." + name}
	}
	_, err := in.readerShell(ctx, name, command, agent.hookEnvironment())
	return err
}

// Say runs hooks.user-says, in the profile's folder, within Limits.Hook.
func (in *Instance) Say(ctx context.Context, relaySession, text string) error {
	command := in.profile.Hooks.UserSays
	if command == "" {
		return &NotDeclaredError{"hooks." + HookUserSays}
	}
	_, err := in.readerShell(ctx, HookUserSays, command,
		[]string{"PARLEY_TEXT=" + text, "PARLEY_RELAY_SESSION=" + relaySession})
	return err
}

// Pipe starts another process of the command, to be reached by its stdin and stdout. It is independent of the one
// that listens, and survives a restart of that.
func (in *Instance) Pipe(ctx context.Context) (Piped, error) {
	if !slices.Contains(in.profile.Drivers, Stdio) || in.profile.Command == nil {
		return nil, &NotDeclaredError{"driver " + Stdio}
	}
	return startPiped(ctx, &in.lifetime, in.setup, &in.piped, in.stderr)
}

// maxConfig bounds the bytes of agents.file.
const maxConfig = 16 << 20

// ConfigBytes returns the output of hooks.config-digest or, without that hook, the bytes of agents.file.
func (in *Instance) ConfigBytes() ([]byte, error) {
	if command := in.profile.Hooks.ConfigDigest; command != "" {
		return in.readerShell(context.Background(), HookConfigDigest, command, nil)
	}
	if in.profile.Agents.File == "" {
		return nil, &NotDeclaredError{"agents.file or hooks.config-digest"}
	}
	b, err := input.Read(in.resolvePath(in.profile.Agents.File), maxConfig)
	if err != nil {
		return nil, fmt.Errorf("agents.file: %w", err)
	}
	return b, nil
}

// Restart restarts the process at the same port, with the same folder and environment. Without a command it runs
// hooks.restart, and then waits up to Limits.Hook until the target listens again. It may be retried after an error.
func (in *Instance) Restart(ctx context.Context, kill bool) error {
	in.life.Lock()
	defer in.life.Unlock()
	ctx, cancel := in.boundByStop(ctx)
	defer cancel()
	if in.profile.Command != nil {
		return in.restartProcess(ctx, kill)
	}
	if in.profile.Hooks.Restart == "" {
		return &NotDeclaredError{"command or hooks.restart"}
	}
	how := "PARLEY_KILL=0"
	if kill {
		how = "PARLEY_KILL=1"
	}
	if _, err := in.newShell(ctx, HookRestart, in.profile.Hooks.Restart, []string{how}); err != nil {
		return err
	}
	up, cancel := deadline.WithLimit(ctx, in.profile.Limits.Hook.Duration)
	defer cancel()
	return awaitSuccess(up, func(ctx context.Context) error { return checkListens(ctx, in.fill.url, probeWait) })
}

// Stop ends the process and its group: SIGTERM, then SIGKILL after the grace period or when ctx ends. Then it removes
// the scratch folder. It aborts a pending restart or hook. It may be called again.
func (in *Instance) Stop(ctx context.Context) error {
	in.cancel()
	in.life.Lock()
	defer in.life.Unlock()
	err := in.piped.stopAll(ctx)
	if p := in.currentProcess(); p != nil {
		err = errors.Join(err, p.stopGroup(ctx, in.profile.Command.Stop.Duration))
	}
	in.releasePorts()
	return errors.Join(err, os.RemoveAll(in.fill.dir))
}

func (in *Instance) currentProcess() *process {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.proc
}

// readerShell runs a hook under the read lock, so that the target neither stops nor restarts meanwhile.
func (in *Instance) readerShell(ctx context.Context, name, command string, env []string) ([]byte, error) {
	in.life.RLock()
	defer in.life.RUnlock()
	ctx, cancel := in.boundByStop(ctx)
	defer cancel()
	in.mu.Lock()
	late, others := in.late[name], len(in.late)
	in.mu.Unlock()
	if late != nil {
		return nil, late
	}
	if limit := in.profile.Limits.Hook.Duration / hurriedHook; others > 0 {
		var over context.CancelFunc
		ctx, over = deadline.WithLimitCause(ctx, limit, &lateError{limit})
		defer over()
	}
	out, err := in.newShell(ctx, name, command, env)
	if _, slow := errors.AsType[*lateError](err); slow {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.late == nil {
			in.late = map[string]error{}
		}
		in.late[name] = err
	}
	return out, err
}

// hurriedHook shortens the limit of hooks once another one has taken too long, so that a run does not wait for each.
const hurriedHook = 6
