package cli

import (
	"time"

	"github.com/spf13/pflag"

	"parley/reports/lang"
)

// runOptions are the flags of parley run.
type runOptions struct {
	protocols, drivers, roles []string
	target, tags, baseline    string
	writeBaseline             string
	targetVersion             string
	ids                       []string // plain arguments, which tags contains
	besides                   string   // --tags, where there are ids
	features                  []string
	faults                    string
	out, format               string
	strict, allowIncomplete   bool
	verbose, noColor          bool
	concurrency, explore      int
	exploring                 bool // --explore was given
	cutPoints                 bool
	differential              bool
	link                      linkOptions
	quiet, failFast, watch    bool
	shard                     string
	suite                     string // the version or digest that must judge
	lang                      string
	spoken                    lang.Lang // what lang names
	seed                      int64
	deadline                  time.Duration
}

// declare defines the flags of a run.
func (o *runOptions) declare(f *pflag.FlagSet) {
	f.StringArrayVar(&o.protocols, "protocol", nil,
		"`PROTOCOL` to judge by; may be repeated (default that of the target; all without --target)")
	f.StringVar(&o.target, "target", "",
		"profile `FILE|URL` of the target, or the folder of a page (default the bundled targets)")
	o.link.declare(f)
	f.StringVar(&o.targetVersion, "target-version", "",
		"`VERSION` of the target, for the reports that compare versions")
	f.StringSliceVar(&o.drivers, "driver", nil,
		"`DRIVER` to test over: sse, ws, stdio, browser, r3labs, or all; may be repeated "+
			"(default those that the target declares; all adds r3labs to sse)")
	f.StringSliceVar(&o.roles, "role", nil,
		"`ROLE` of the target: server, client, host, relay, agent, or all; may be repeated without --target "+
			"(default that of the profile; without one, the first role of the protocol: server, client or host)")
	f.StringArrayVar(&o.features, "features", nil,
		"run the scenarios of `FILE|DIR` instead of the suite's; with --features suite, besides them; may be repeated; "+
			"such a run never certifies")
	f.StringVar(&o.faults, "faults", "",
		"inject the faults in `FILE` between the harness and the target; such a run never certifies")
	f.StringVar(&o.tags, "tags", "",
		"run only scenarios whose tags match `EXPR`, such as 'AS-042 and not @exclusive', @MUST or @4.1; makes the run "+
			"incomplete")
	f.BoolVar(&o.strict, "strict", false,
		"count a broken SHOULD as a failure, and read conflicting clauses strictly")
	f.IntVar(&o.concurrency, "concurrency", 0, "run `N` scenarios in parallel (default what the profile allows)")
	f.StringVar(&o.baseline, "baseline", "",
		"`FILE` of clauses that are known to fail: if they fail and nothing else does, "+
			"the verdict is as-expected, exit 0; rows of protocols that are not run are ignored")
	f.StringVar(&o.writeBaseline, "write-baseline", "",
		"write `FILE`, a baseline of all clauses that fail; it must not exist yet")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "exit 0 if nothing failed, even if not everything was tested")
	f.IntVar(&o.explore, "explore", 0,
		"run `N` random sequences after the scenarios, and shrink the first one that "+
			"breaks a clause; --tags @explored runs only these")
	f.BoolVar(&o.cutPoints, "cut-points", false,
		"after the scenarios, cut a connection after each record of a course, by reset, close, FIN and kill, and judge "+
			"what follows; --tags @cut runs only this")
	f.BoolVar(&o.differential, "differential", false,
		"run two targets under the same scenarios and list where they differ: --differential A B, each a FILE|URL, "+
			"bundled, or the name of a mutant")
	f.StringVar(&o.suite, "suite", "",
		"judge by the suite with this `VERSION` or digest, or not at all: refused unless this program has it")
	f.DurationVar(&o.deadline, "deadline", 0,
		"end the run after `TIME`, such as 5m, whatever the targets do; what is not judged by then is not tested "+
			"(default 30m, or twice limits.scenario if that is longer)")
	f.Int64Var(&o.seed, "seed", 0, "seed `NUMBER` of the random sequences")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVar(&o.failFast, "fail-fast", false,
		"begin no more scenarios once a clause has failed; such a run is never conformant")
	f.BoolVar(&o.watch, "watch", false,
		"judge again whenever the profile, the folder of a page or the command's files change, until Ctrl-C")
	f.StringVar(&o.shard, "shard", "",
		"run the part `I/N` of the scenarios, such as 2/4; incomplete until parley merge puts all parts together")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only failures and the verdict")
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"report every failure in full, observations, and clauses that do not apply")
	declareLang(f, &o.lang)
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
}
