// Command parley-load puts a server under the load of sessions in several processes, on this machine or on others.
package main

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"parley/internal/cli"
	"parley/reference-server/bundled"
	"parley/simulator/load"
	"parley/simulator/load/spread"
	"parley/steps/protocols"
)

func main() {
	cli.MainLoad(cli.Parts{Protocols: protocols.All, Targets: bundled.All}, cli.Spread{
		Name: "parley-load", Long: about, Example: examples, Worker: aboutWorkers, WorkerExample: workerExamples,
		Child: spread.Child, Flags: crewFlags, Join: joinFlags})
}

const (
	about = `Put a server under the load of sessions in several processes, and judge every message that arrives, as parley
load does in one. --workers processes share the sessions and the rate: together they do the same, at the same times, as
one process with all sessions. Their latencies, errors, findings and memory are merged into one result.

They speak through NATS. Without --nats the server is part of this program, on loopback. --remote of the workers are
not started here: they join by parley-load worker, with the same token in PARLEY_LOAD_TOKEN. A NATS server that other
machines can reach needs TLS and credentials, unless --nats-insecure is given.

A worker that ends before its time, or is not heard for 15 s, is lost: the result says with which sessions and since
when, what it had reported counts, and the exit code is not 0.

Every worker refuses a target beyond its own machine, unless whoever starts it names the host with --allow-host.

Exit codes: 0 nothing broken, all thresholds kept, and no worker lost · 1 a MUST is broken, or a threshold exceeded ·
2 wrong usage · 3 no session could be opened · 5 a worker was lost, or not everything could be judged.`

	examples = `  parley-load --protocol PROTOCOL --workers 4 --sessions 8000 --duration 1m --rate 2000
  parley-load --target my.yaml --workers 3 --remote 2 --listen 127.0.0.1:4222 --sessions 3000
  parley-load --target my.yaml --workers 6 --remote 6 --nats tls://nats.example:4222 --allow-host staging.example`

	aboutWorkers = `Carry out a part of a load that somebody else begins with parley-load --remote, and end. The
worker waits for the load; it gets the profile of the target, starts nothing, and runs no hook.

A target beyond this machine is refused, unless you name its host with --allow-host.`

	workerExamples = `  parley-load worker --nats nats://127.0.0.1:4222
  parley-load worker --nats tls://nats.example:4222 --nats-creds load.creds --allow-host staging.example`
)

// accessFlags adds the flags by which a process reaches the NATS server.
func accessFlags(f *pflag.FlagSet, a *spread.Access, name *string, within *time.Duration, hosts *[]string) {
	f.StringVar(&a.Creds, "nats-creds", "", "`FILE` of credentials for the NATS server")
	f.StringVar(&a.CA, "nats-ca", "", "`FILE` of the authorities for the NATS server (default those of the system)")
	f.BoolVar(&a.Insecure, "nats-insecure", false, "let other machines read along and take part: no TLS or credentials")
	f.StringVar(name, "name", "load", "`NAME` of the load, which tells loads of one NATS server apart")
	f.DurationVar(within, "within", time.Minute, "`TIME` for the others to be there")
	f.StringArrayVar(hosts, "allow-host", nil, "`HOST` beyond this machine that may be put under load (repeatable)")
}

// crewFlags adds the flags of the coordinator.
func crewFlags(f *pflag.FlagSet) func(o *load.Options, tell func(string)) (func(), error) {
	o := &spread.Options{}
	f.IntVar(&o.Workers, "workers", 2, "share the load among `N` processes")
	f.IntVar(&o.Remote, "remote", 0, "`N` of the workers are not started here, but join")
	f.StringVar(&o.URL, "nats", "", "`URL` of a NATS server (default: one in this program)")
	f.StringVar(&o.Listen, "listen", "", "`ADDR` of the NATS server in this program (default a free port on loopback)")
	accessFlags(f, &o.Access, &o.Name, &o.Within, &o.Hosts)
	return func(lo *load.Options, tell func(string)) (func(), error) {
		o.Token, o.Suite, o.Tell = os.Getenv(spread.EnvToken), lo.Protocols.Digest(), tell
		crew, err := spread.New(*o)
		if err != nil {
			return nil, err
		}
		lo.Crew, lo.Hosts = crew, o.Hosts
		return crew.Close, nil
	}
}

// joinFlags adds the flags of a worker.
func joinFlags(f *pflag.FlagSet) func(ctx context.Context, shop load.Workshop, tell func(string)) error {
	o := &spread.WorkerOptions{}
	var hosts []string
	f.StringVar(&o.URL, "nats", "", "`URL` of the NATS server (default nats://127.0.0.1:4222)")
	accessFlags(f, &o.Access, &o.Name, &o.Within, &hosts)
	return func(ctx context.Context, shop load.Workshop, tell func(string)) error {
		shop.Hosts = hosts
		o.URL, o.Token = cmp.Or(o.URL, "nats://127.0.0.1:4222"), os.Getenv(spread.EnvToken)
		o.Workshop, o.Tell = shop, tell
		return spread.Work(ctx, *o)
	}
}
