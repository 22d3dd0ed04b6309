package spread

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/internal/procgroup"
	"parley/simulator/load"
)

// The environment of workers.
const (
	EnvToken = "PARLEY_LOAD_TOKEN" // of the NATS server
	envChild = "PARLEY_LOAD_CHILD" // a childhood in JSON: this process is a worker that a coordinator has started
)

// childhood is what a worker is told by the coordinator that starts it.
type childhood struct {
	Access
	Name  string   `json:"name"`
	Local int      `json:"local"` // its number, from 1
	Hosts []string `json:"hosts,omitempty"`
}

// leaving is how long a worker may take to end by itself after its last report.
const leaving = 5 * time.Second

// child is a worker that the coordinator has started.
type child struct {
	n     int // from 1
	mark  string
	group int
	err   *tail
	done  chan struct{} // closed when it has ended
	how   string
}

// start starts a worker, in a process group of its own: an interrupt at the terminal is not for it.
func (o Options) start(n int) (*child, error) {
	command := o.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, "worker"}
	}
	told, err := json.Marshal(childhood{Access: o.Access, Name: o.Name, Local: n, Hosts: o.Hosts})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	c := &child{n: n, err: &tail{}, done: make(chan struct{})}
	cmd.Env = append(os.Environ(), envChild+"="+string(told))
	cmd.Stderr = c.err
	cmd.WaitDelay = leaving
	procgroup.Own(cmd)
	procgroup.DieWithParent(cmd)
	c.mark = procgroup.Mark(cmd)
	started := make(chan error)
	go c.run(cmd, started)
	return c, <-started
}

// run follows the process. It keeps its thread, as the kernel ends the process with the thread that started it.
func (c *child) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	c.group = cmd.Process.Pid
	started <- nil
	err := cmd.Wait()
	c.how = "has ended"
	if err != nil {
		c.how = "has ended: " + err.Error()
	}
	if last := c.err.last(); last != "" {
		c.how += " (" + last + ")"
	}
	procgroup.KillMarked(c.mark)
	close(c.done)
}

// wait returns how it has ended.
func (c *child) wait() string {
	<-c.done
	return c.how
}

// end waits until it has ended, which takes it no longer than leaving.
func (c *child) end() {
	select {
	case <-c.done:
	case <-time.After(leaving):
		c.kill()
	}
}

// kill ends it at once.
func (c *child) kill() {
	select {
	case <-c.done: // its id may be that of another group
	default:
		procgroup.Kill(c.group)
	}
}

const maxTail = 4096

// tail keeps the last bytes that a process has written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if len(t.b) > maxTail {
		t.b = append([]byte(nil), t.b[len(t.b)-maxTail:]...)
	}
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(lines[len(lines)-1]), ""))
}

// Child runs this process as the worker that a coordinator has started it for, and exits; in any other process it
// returns at once. The hosts are those that the coordinator names.
func Child(shop load.Workshop) {
	text := os.Getenv(envChild)
	if text == "" {
		return
	}
	_ = os.Unsetenv(envChild)
	var c childhood
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		shop.Hosts = c.Hosts
		err = Work(ctx, WorkerOptions{Access: c.Access, Name: c.Name, Workshop: shop, local: c.Local})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
