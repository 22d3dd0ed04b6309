package spread

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

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
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Crew{o: o}
	var err error
	if o.URL != "" {
		c.conn, err = o.connect()
		return c, err
	}
	if o.Token == "" {
		c.o.Token = rand.Text() // only the workers started here need it
	}
	if c.server, c.o.URL, err = embed(cmp.Or(o.Listen, own), c.o.Token, 2*o.Workers+16); err != nil {
		return nil, err
	}
	if c.conn, err = c.o.connect(nats.InProcessServer(c.server)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// check checks the options.
func (o Options) check() error {
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
		return o.Access.check()
	case o.Remote > 0 && o.Token == "":
		return usagef("--remote %d: workers that others start need a token (set %s here and there)", o.Remote, EnvToken)
	}
	if host, _, err := net.SplitHostPort(cmp.Or(o.Listen, own)); err != nil {
		return usagef("--listen: %v (write it like %s)", err, own)
	} else if !loopback(host) && (o.Token == "" || !o.Insecure) {
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

// Carry implements load.Crew.
func (c *Crew) Carry(ctx context.Context, tasks []load.Task, d *load.Desk) error {
	g := newGang(c, tasks, d)
	if c.taken() {
		return usagef("--name %s: another load of this name is under way on this server (give it another name)", c.o.Name)
	}
	if err := g.listen(); err != nil {
		return err
	}
	defer g.leave()
	if err := g.gather(ctx); err != nil {
		return err
	}
	if err := g.assign(ctx); err != nil {
		return err
	}
	d.Begin()
	g.order(order{Do: doOpen})
	g.follow(ctx)
	return nil
}

// taken reports whether somebody answers those who want to join the load.
func (c *Crew) taken() bool {
	b, _ := encode(hello{Version: version})
	_, err := c.conn.Request(subject(c.o.Name, joining), b, answering)
	return !errors.Is(err, nats.ErrNoResponders)
}

// gather starts workers and waits until all have joined.
func (g *gang) gather(ctx context.Context) error {
	o := g.c.o
	if o.Remote > 0 {
		g.tell()
	}
	for n := range o.Workers - o.Remote {
		child, err := o.start(n + 1)
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		g.children = append(g.children, child)
		g.work.Go(func() { g.watch(child) })
	}
	late := time.NewTimer(o.Within)
	defer late.Stop()
	for {
		joined, failed := g.joined()
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

// tell says where workers join.
func (g *gang) tell() {
	line := "parley-load worker --nats " + printed(g.c.o.URL)
	if g.c.o.Name != "load" {
		line += " --name " + g.c.o.Name
	}
	g.c.o.Tell(fmt.Sprintf("waiting for %s: %s", words.Counted(g.c.o.Remote, "worker"), line))
}

// assign gives each worker its task. The first that cannot carry it out ends the load.
func (g *gang) assign(ctx context.Context) error {
	errs := make(chan error, len(g.members()))
	for i, m := range g.members() {
		g.d.Introduce(i, m.pid, m.host)
		go func() { errs <- g.hand(ctx, m, g.tasks[i]) }()
	}
	var all []error
	for range g.members() {
		if err := <-errs; err != nil {
			all = append(all, err)
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// hand gives a worker its task, and waits until it says that it can carry it out.
func (g *gang) hand(ctx context.Context, m *member, t load.Task) error {
	b, err := encode(order{Do: doTask, Task: &t})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*answering)
	defer cancel()
	r, err := g.c.conn.RequestWithContext(ctx, subject(g.c.o.Name, ordering)+"."+m.id, b)
	if err != nil {
		return fmt.Errorf("%s does not take its task: %w", m.name(), err)
	}
	var a answer
	switch err := decode(r.Data, &a); {
	case err != nil:
		return fmt.Errorf("%s answers its task: %w", m.name(), err)
	case a.Usage:
		return usagef("%s: %s", m.name(), a.Error)
	case a.Error != "":
		return fmt.Errorf("%s cannot carry out its task: %s", m.name(), a.Error)
	}
	return nil
}

// here is the name of this machine.
func here() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func printed(url string) string {
	before, after, found := strings.Cut(url, "@")
	if !found {
		return url
	}
	scheme, _, _ := strings.Cut(before, "://")
	return scheme + "://…@" + after
}
