package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/internal/procgroup"
)

const (
	groupPace = 5 * time.Millisecond   // between checks whether a group is gone
	killWait  = 10 * time.Second       // for killed processes to disappear, which disk I/O may delay
	drainWait = 250 * time.Millisecond // for output of processes that left the group and still hold the pipes
)

// process is one process with its group, from its start until the last of them has ended.
type process struct {
	stdout, stderr *output
	// the pipes of a process started without stdout: its stdin, and the reading end of its stdout; the owner closes them
	stdin, speech *os.File
	mark          string        // by which processes are found that have left the group
	group         int           // process id of the leader, and group id
	exited        chan struct{} // closed when the leader has exited
	died          chan struct{} // closed when it has exited without being asked to
	gone          chan struct{} // closed when the whole group has ended and its output has been read

	mu    sync.Mutex
	asked bool  // stop was called
	err   error // how the leader exited
	hurry context.Context
	kill  context.CancelFunc // ends hurry: no more grace
}

// startProcess runs cmd in its own process group. Its output goes to stdout and stderr. If stdout is nil, stdin and
// speech become our ends of its pipes.
func startProcess(cmd *exec.Cmd, stdout, stderr *output) (*process, error) {
	p := &process{
		stdout: stdout, stderr: stderr,
		exited: make(chan struct{}), died: make(chan struct{}), gone: make(chan struct{}),
	}
	p.hurry, p.kill = context.WithCancel(context.Background())
	// Pipes of our own: with those of os/exec, Wait would block on children that outlive their parent.
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errs, errsW, err := os.Pipe()
	if err != nil {
		closeAll(out, outW)
		return nil, err
	}
	ours, theirs := []*os.File{out, errs}, []*os.File{outW, errsW}
	if stdout == nil {
		in, inW, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...)...)
			return nil, err
		}
		ours, theirs = append(ours, inW), append(theirs, in)
		cmd.Stdin, p.stdin, p.speech = in, inW, out
	}
	cmd.Stdout, cmd.Stderr = outW, errsW
	procgroup.Own(cmd)
	procgroup.DieWithParent(cmd)
	p.mark = procgroup.Mark(cmd)
	started := make(chan error)
	go p.run(cmd, out, errs, started)
	err = <-started
	closeAll(theirs...)
	if err != nil {
		closeAll(ours...)
		return nil, err
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// run starts cmd and follows it to the end of its group. It locks its thread, because the kernel kills the process
// when the thread that started it ends.
func (p *process) run(cmd *exec.Cmd, out, errs *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.kill()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.group = cmd.Process.Pid
	captured := []*os.File{errs}
	var reading sync.WaitGroup
	reading.Go(func() { p.stderr.copyFrom(errs) })
	if p.stdout != nil {
		captured = append(captured, out)
		reading.Go(func() { p.stdout.copyFrom(out) })
	}
	started <- nil

	err := cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.mu.Lock()
	p.err = err
	if !p.asked {
		p.kill() // its children are of no use without it
		close(p.died)
	}
	close(p.exited)
	p.mu.Unlock()

	awaitGroup(p.hurry, p.group)
	procgroup.Kill(p.group) // before the id can be reused: once the group is gone, it may belong to another
	last, cancel := deadline.WithLimit(context.Background(), killWait)
	awaitGroup(last, p.group)
	cancel()
	procgroup.KillMarked(p.mark)
	for _, f := range captured {
		_ = f.SetReadDeadline(time.Now().Add(drainWait))
	}
	reading.Wait()
	closeAll(captured...)
	close(p.gone)
}

// awaitGroup waits until no process of the group runs or ctx ends. It polls, as the exits of processes that are not
// our children are not signalled.
func awaitGroup(ctx context.Context, group int) {
	pace := time.NewTicker(groupPace)
	defer pace.Stop()
	for procgroup.Alive(group) {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// stop asks the group to exit, kills the rest after the grace period or when ctx ends, and waits until it is gone.
// Without grace it kills at once. It may be called again, and concurrently.
func (p *process) stop(ctx context.Context, grace time.Duration) error {
	p.mu.Lock()
	p.asked = true
	if grace > 0 && !closed(p.exited) {
		procgroup.Terminate(p.group)
	}
	p.mu.Unlock()
	ctx, cancel := deadline.WithLimit(ctx, grace)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.kill()
	if !closed(p.exited) {
		procgroup.Kill(p.group)
	}
	p.mu.Unlock()
	last, enough := deadline.WithLimit(context.Background(), 2*killWait)
	defer enough()
	select {
	case <-p.gone:
		return nil
	case <-last.Done():
		return fmt.Errorf("stop target: process group %d was killed but has not ended", p.group)
	}
}

// how says how the leader exited; nil while it runs.
func (p *process) how() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
