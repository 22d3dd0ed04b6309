// Package cli is the command line of Parley: every subcommand has a file of its own, with the cobra command that reads
// its flags and a function that does the work: func(ctx, options, *streams) error. What a command finds goes to stdout,
// its messages about its own work to stderr.
//
// Exit codes: 0 conformant or as-expected · 1 non-conformant · 2 wrong usage or profile · 3 target could not be started
// or reached, or does not speak the protocol · 4 harness error · 5 incomplete · 130 interrupted. Wrong usage is one
// line on stderr that says where, and how to mend it.
package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/deadline"
)

// Main runs the command line of this process for the given protocols and targets, and exits with the exit code.
func Main(parts Parts) {
	begin(parts)
	kills, released = parts.Kills, parts.Released
	if parts.Name != "" {
		program, suite.Program = parts.Name, parts.Name
	}
	os.Exit(parley(os.Args[1:], terminal()))
}

// begin makes this process what the command lines of its program need.
func begin(parts Parts) {
	parts.Targets.Child() // a scenario that restarts its target runs this program as the target
	suite, bundle = parts.Protocols, parts.Targets
	tuneGC()
}

// tuneGC makes garbage collection rarer, unless GOGC is set: a run allocates much and lives for about a second, of
// which collection took a quarter. From gcLimit bytes on, the heap is collected as often as needed, but if more than
// three quarters of that is alive, only when the heap has grown by a third. The stacks of a load's many goroutines are
// not part of the heap.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1000)
		debug.SetMemoryLimit(gcLimit)
		new(collected).watch()
	}
}

const gcLimit = 160 << 20

// collected becomes garbage in every collection, so that its finalizer runs after each.
type collected struct{ _ [16]byte }

func (c *collected) watch() { runtime.SetFinalizer(c, (*collected).tune) }

func (c *collected) tune() {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(of)
	if of[0].Value.Kind() == metrics.KindUint64 && of[1].Value.Kind() == metrics.KindUint64 {
		live, stacks := int64(of[0].Value.Uint64()), int64(of[1].Value.Uint64()) // the limit counts both
		debug.SetMemoryLimit(max(gcLimit, 4*live/3+stacks))
	}
	c.watch()
}

// makeRoom returns to the system what a run has left, if that is much, as behind a flood: the reports need memory, too.
func makeRoom() {
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(used)
	if used[0].Value.Kind() == metrics.KindUint64 && used[0].Value.Uint64() > gcLimit/2 {
		debug.FreeOSMemory()
	}
}

// parley runs a command line and returns its exit code.
func parley(args []string, s *streams) int { return execute(args, s, rootCommand) }

// execute runs a command line of a root command.
func execute(args []string, s *streams, rootOf func(*streams) *cobra.Command) int {
	ctx, stop := interruptible()
	defer stop()
	watching, unwatch := context.WithCancel(context.Background())
	defer unwatch()
	go deadline.Watch(watching)
	out := &sink{w: s.Out}
	kept := *s
	kept.Out = out
	root := rootOf(&kept)
	root.SetArgs(args)
	return s.exit(out.lost(root.ExecuteContext(ctx)))
}

// interruptible returns a context that ends at the first SIGINT or SIGTERM. A second signal ends the process at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(verdict.ExitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// subcommands in the order in which help lists them.
func subcommands(s *streams) []*cobra.Command {
	all := []*cobra.Command{
		runCommand(s),
		doctorCommand(s),
		initCommand(s),
		connectCommand(s),
		simulateCommand(s),
		recordingCommand(s),
		replayCommand(s),
		mockCommand(s),
		proxyCommand(s),
		loadCommand(s),
		scenarioCommand(s),
		listCommand(s),
		explainCommand(s),
		mergeCommand(s),
		reportCommand(s),
		diffCommand(s),
		baselineCommand(s),
	}
	all = append(all, keygenCommand(s), certifyCommand(s), verifyCommand(s), siteCommand(s))
	if judge := logJudge(); judge != nil {
		all = append(all, checkLogCommand(judge, s))
	}
	if len(bundle) > 0 {
		all = append(all, mutantsCommand(s), benchCommand(s), serveCommand(s))
	}
	return append(all, manCommand(s), versionCommand(s))
}

func rootCommand(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "Certify implementations of agent-session protocols",
		Long: `Parley certifies implementations of agent-session protocols.

  parley run                           judge the bundled targets
  parley init http://localhost:3000    probe your server and write its profile
  parley doctor --target target.yaml   check that the profile works
  parley run --target target.yaml      judge your server
  parley explain AS-080                show what a clause says and what judges it

Exit codes: 0 conformant or as-expected · 1 non-conformant · 2 wrong usage or profile · 3 the target could not
be started or reached, or does not speak the protocol · 4 harness error · 5 incomplete (0 with --allow-incomplete)
· 130 interrupted.`,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		Args:                  func(c *cobra.Command, args []string) error { return knownCommand(c, args) },
		RunE: func(c *cobra.Command, _ []string) error {
			c.SetOut(s.Err)
			_ = c.Help()
			return exitError{verdict.ExitUsage} // no command given, nothing judged
		},
	}
	root.Version = suite.Version
	root.SetVersionTemplate("{{versionText}}")
	cobra.AddTemplateFunc("versionText", versionText)
	cobra.EnableCommandSorting = false
	root.AddCommand(subcommands(s)...)
	return settled(root, s)
}

// settled completes a root command that has its subcommands.
func settled(root *cobra.Command, s *streams) *cobra.Command {
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	refusingEmpty(root)
	completing(root)
	tidy(root)
	return root
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if found == c.Root() {
				if err := knownCommand(found, rest); err != nil {
					return err
				}
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// knownCommand rejects unknown subcommands of c.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("unknown command %q%s", args[0], suggest(args[0], names, "see parley help"))
}
