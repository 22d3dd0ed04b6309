// Package spread spreads a load over several processes, on this machine or on others, which speak through NATS. A
// coordinator divides the load into tasks, one for each worker, and merges what they report (load.Crew,
// load.Collector); a worker carries out one task (load.Worker). Without a server of the user's own the coordinator
// starts one within its process, on loopback.
//
// Every message of a worker is a request, which the coordinator answers. A worker that the coordinator does not hear
// for Silence, or whose process ends, is lost: what it had reported counts, and the result says what is missing. A
// worker that gets no answers for as long ends its part.
//
// Whoever may use the subjects of a load on the server may take part in it. Messages are bounded (maxMessage), and the
// coordinator judges the evidence of workers itself.
//
// It is a package of its own so that only the program parley-load contains NATS.
package spread

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"parley/internal/jsonform"
	"parley/internal/procgroup"
	"parley/internal/words"
	"parley/simulator/load"
)

// Options describe the workers of a load.
type Options struct {
	Workers int // at least 1
	Remote  int // how many of them are started by somebody else; the others are processes that start with Command

	Access                // an empty URL: a server within this process, which may have a token
	Listen  string        // address of that server; "": a free port on loopback
	Name    string        // tells apart the loads of one server; "": "load"
	Within  time.Duration // for all workers to join; 0: 1 minute
	Silence time.Duration // how long a worker may not be heard; 0: Silence
	Suite   string        // digest of the suite, which has to be that of the workers
	Hosts   []string      // beyond loopback to which the workers started here may send a load

	// Command starts a worker: this program again, which calls Child. nil: this program with the argument "worker".
	Command []string

	// Tell is called with lines for the user, such as the URL where workers join. nil: no calls.
	Tell func(line string)
}

// Crew are workers that speak through NATS. It implements load.Crew.
type Crew struct {
	o      Options
	server *server.Server // nil: the user's
	conn   *nats.Conn
}

// New connects to the NATS server, or starts one. The error is a *runner.UsageError if the options are at fault.
func New(o Options) (*Crew, error) {
	o.Name, o.Within = cmp.Or(o.Name, "load"), cmp.Or(o.Within, time.Minute)
	o.Silence = cmp.Or(o.Silence, Silence)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if err := o.checkOptions(); err != nil {
		return nil, err
	}
	c := &Crew{o: o}
	var err error
	if o.URL != "" {
		c.conn, err = o.connectServer()
		return c, err
	}
	if o.Token == "" {
		c.o.Token = rand.Text() // only the workers started here need it
	}
	if c.server, c.o.URL, err = embedServer(cmp.Or(o.Listen, own), c.o.Token, 2*o.Workers+16); err != nil {
		return nil, err
	}
	if c.conn, err = c.o.connectServer(nats.InProcessServer(c.server)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkOptions checks the options.
func (o Options) checkOptions() error {
	switch {
	case o.Workers < 1 || o.Workers > 1000:
		return usagef("--workers %d: a load has 1 to 1000 workers", o.Workers)
	case o.Remote < 0 || o.Remote > o.Workers:
		return usagef("--remote %d: of %d workers that is not possible", o.Remote, o.Workers)
	case !nameOf.MatchString(o.Name):
		return usagef("--name %q: letters, digits, _ and - make a name", o.Name)
	case o.URL != "" && o.Listen != "":
		return usagef("--listen: with --nats there is no server to listen here (leave one out)")
	case o.URL != "":
		return o.Access.checkAccess()
	case o.Remote > 0 && o.Token == "":
		return usagef("--remote %d: workers that others start need a token (set %s here and there)", o.Remote, EnvToken)
	}
	if host, _, err := net.SplitHostPort(cmp.Or(o.Listen, own)); err != nil {
		return usagef("--listen: %v (write it like %s)", err, own)
	} else if !isLoopback(host) && (o.Token == "" || !o.Insecure) {
		return usagef("--listen %s: other machines could reach it, and read along (use a NATS server of yours with TLS, "+
			"with --nats; or set %s, and give --nats-insecure)", o.Listen, EnvToken)
	}
	return nil
}

// own is the address of the server within this process.
const own = "127.0.0.1:0"

// Close ends the connection, and the server if it is ours.
func (c *Crew) Close() {
	if c.conn != nil {
		c.conn.Close()
	}
	if c.server != nil {
		c.server.Shutdown()
		c.server.WaitForShutdown()
	}
}

// Size implements load.Crew.
func (c *Crew) Size() int { return c.o.Workers }

// RunTasks implements load.Crew.
func (c *Crew) RunTasks(ctx context.Context, tasks []load.Task, d *load.Collector) error {
	g := newGang(c, tasks, d)
	if c.isAnswered() {
		return usagef("--name %s: another load of this name is under way on this server (give it another name)", c.o.Name)
	}
	if err := g.subscribeWorkers(); err != nil {
		return err
	}
	defer g.leaveLoad()
	if err := g.gatherWorkers(ctx); err != nil {
		return err
	}
	if err := g.assignTasks(ctx); err != nil {
		return err
	}
	d.Begin()
	g.orderAll(order{Do: doOpen})
	g.followLoad(ctx)
	return nil
}

// isAnswered reports whether somebody answers those who want to join the load.
func (c *Crew) isAnswered() bool {
	b, _ := encodeMessage(hello{Version: version})
	_, err := c.conn.Request(subjectOf(c.o.Name, joining), b, answering)
	return !errors.Is(err, nats.ErrNoResponders)
}

// gatherWorkers starts workers and waits until all have joined.
func (g *workerGroup) gatherWorkers(ctx context.Context) error {
	o := g.c.o
	if o.Remote > 0 {
		g.printJoinURL()
	}
	for n := range o.Workers - o.Remote {
		child, err := o.startWorker(n + 1)
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		g.children = append(g.children, child)
		g.work.Go(func() { g.watchWorker(child) })
	}
	late := time.NewTimer(o.Within)
	defer late.Stop()
	for {
		joined, failed := g.countJoined()
		switch {
		case failed != "":
			return errors.New(failed)
		case joined == o.Workers:
			return nil
		}
		select {
		case <-g.changed:
		case <-late.C:
			return usagef("only %d of %d workers have joined within %v (start the others, or give more time with --within)",
				joined, o.Workers, o.Within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// printJoinURL says where workers join.
func (g *workerGroup) printJoinURL() {
	line := "parley-load worker --nats " + printableURL(g.c.o.URL)
	if g.c.o.Name != "load" {
		line += " --name " + g.c.o.Name
	}
	g.c.o.Tell(fmt.Sprintf("waiting for %s: %s", words.Counted(g.c.o.Remote, "worker"), line))
}

// assignTasks gives each worker its task. The first that cannot carry it out ends the load.
func (g *workerGroup) assignTasks(ctx context.Context) error {
	errs := make(chan error, len(g.joinedWorkers()))
	for i, m := range g.joinedWorkers() {
		g.d.SetProcess(i, m.pid, m.host)
		go func() { errs <- g.handTask(ctx, m, g.tasks[i]) }()
	}
	var all []error
	for range g.joinedWorkers() {
		if err := <-errs; err != nil {
			all = append(all, err)
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// handTask gives a worker its task, and waits until it says that it can carry it out.
func (g *workerGroup) handTask(ctx context.Context, m *member, t load.Task) error {
	b, err := encodeMessage(order{Do: doTask, Task: &t})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*answering)
	defer cancel()
	r, err := g.c.conn.RequestWithContext(ctx, subjectOf(g.c.o.Name, ordering)+"."+m.id, b)
	if err != nil {
		return fmt.Errorf("%s does not take its task: %w", m.workerName(), err)
	}
	var a answer
	switch err := decodeMessage(r.Data, &a); {
	case err != nil:
		return fmt.Errorf("%s answers its task: %w", m.workerName(), err)
	case a.Usage:
		return usagef("%s: %s", m.workerName(), a.Error)
	case a.Error != "":
		return fmt.Errorf("%s cannot carry out its task: %s", m.workerName(), a.Error)
	}
	return nil
}

// machineName is the name of this machine.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func printableURL(url string) string {
	before, after, found := strings.Cut(url, "@")
	if !found {
		return url
	}
	scheme, _, _ := strings.Cut(before, "://")
	return scheme + "://…@" + after
}

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

// startWorker starts a worker, in a process group of its own: an interrupt at the terminal is not for it.
func (o Options) startWorker(n int) (*child, error) {
	command := o.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, "worker"}
	}
	told, err := json.Marshal(childhood{Access: o.Access, Name: o.Name, Local: n, Hosts: o.Hosts}, jsonform.Escaped)
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
	go c.followProcess(cmd, started)
	return c, <-started
}

// followProcess follows the process. It keeps its thread, as the kernel ends the process with the thread that started
// it.
func (c *child) followProcess(cmd *exec.Cmd, started chan<- error) {
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
	if last := c.err.lastLine(); last != "" {
		c.how += " (" + last + ")"
	}
	procgroup.KillMarked(c.mark)
	close(c.done)
}

// awaitEnd returns how it has ended.
func (c *child) awaitEnd() string {
	<-c.done
	return c.how
}

// awaitLeaving waits until it has ended, which takes it no longer than leaving.
func (c *child) awaitLeaving() {
	select {
	case <-c.done:
	case <-time.After(leaving):
		c.killProcess()
	}
}

// killProcess ends it at once.
func (c *child) killProcess() {
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

// lastLine returns the last line.
func (t *tail) lastLine() string {
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
	err := json.Unmarshal([]byte(text), &c, jsonform.Lenient)
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
