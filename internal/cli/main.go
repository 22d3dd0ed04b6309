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
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/clidoc"
	"parley/internal/deadline"
	"parley/reference-server/launch"
	"parley/steps"
)

// Main runs the command line of this process for the given protocols and targets, and exits with the exit code.
func Main(parts Parts) {
	beginProcess(parts)
	kills, released = parts.Kills, parts.Released
	if parts.Name != "" {
		program, suite.Program = parts.Name, parts.Name
	}
	os.Exit(runParley(os.Args[1:], processStreams()))
}

// beginProcess makes this process what the command lines of its program need.
func beginProcess(parts Parts) {
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
		new(collected).watchCollections()
	}
}

const gcLimit = 160 << 20

// collected becomes garbage in every collection, so that its finalizer runs after each.
type collected struct{ _ [16]byte }

func (c *collected) watchCollections() { runtime.SetFinalizer(c, (*collected).tuneCollector) }

func (c *collected) tuneCollector() {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(of)
	if of[0].Value.Kind() == metrics.KindUint64 && of[1].Value.Kind() == metrics.KindUint64 {
		live, stacks := int64(of[0].Value.Uint64()), int64(of[1].Value.Uint64()) // the limit counts both
		debug.SetMemoryLimit(max(gcLimit, 4*live/3+stacks))
	}
	c.watchCollections()
}

// makeRoom returns to the system what a run has left, if that is much, as behind a flood: the reports need memory, too.
func makeRoom() {
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(used)
	if used[0].Value.Kind() == metrics.KindUint64 && used[0].Value.Uint64() > gcLimit/2 {
		debug.FreeOSMemory()
	}
}

// runParley runs a command line and returns its exit code.
func runParley(args []string, s *streams) int { return executeCommand(args, s, rootCommand) }

// executeCommand runs a command line of a root command.
func executeCommand(args []string, s *streams, rootOf func(*streams) *cobra.Command) int {
	ctx, stop := interruptibleContext()
	defer stop()
	watching, unwatch := context.WithCancel(context.Background())
	defer unwatch()
	go deadline.Watch(watching)
	out := &sink{w: s.Out}
	kept := *s
	kept.Out = out
	args, err := loadPacks(args)
	if err != nil {
		return s.exitWith(out.outputError(err))
	}
	root := rootOf(&kept)
	root.SetArgs(args)
	return s.exitWith(out.outputError(root.ExecuteContext(ctx)))
}

// interruptibleContext returns a context that ends at the first SIGINT or SIGTERM. A second signal ends the process at
// once.
func interruptibleContext() (context.Context, func()) {
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

// newSubcommands in the order in which help lists them.
func newSubcommands(s *streams) []*cobra.Command {
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
		newProtocolCommand(s),
		mergeCommand(s),
		reportCommand(s),
		diffCommand(s),
		baselineCommand(s),
	}
	if demoTarget() != nil {
		all = append(all, demoCommand(s))
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
	root.AddCommand(newSubcommands(s)...)
	return completeRoot(root, s)
}

// completeRoot completes a root command that has its subcommands.
func completeRoot(root *cobra.Command, s *streams) *cobra.Command {
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	refusingEmpty(root)
	readFormerFlags(root, s)
	addCompletion(root)
	wrapHelp(root)
	return root
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
	return usagef("unknown command %q%s", args[0], suggestWord(args[0], names, "see parley help"))
}

// Parts configures the command line of a program.
type Parts struct {
	Name      string           // of the program in help and hints; "": parley
	Protocols *steps.Protocols // that it can judge
	Targets   launch.Targets   // bundled targets to judge and to serve; may be nil

	// Kills are the kill matrices of the suite, which parley mutants -o wrote, for certificates; may be nil.
	Kills []byte
	// Released are the digests of the suites of released versions, by version, which certificates may name; may be nil.
	Released map[string]string
}

// hasSuite rejects the version or digest of a suite that this program does not have; "" is any.
func hasSuite(name string) error {
	switch {
	case name == "" || name == suite.Version || name == suite.Digest():
		return nil
	case strings.HasPrefix(name, digestScheme) && len(name) >= minDigest && strings.HasPrefix(suite.Digest(), name):
		return nil
	}
	return usagef("--suite: this program has suite %s (%s), not %s (run the version of %s that has it)", suite.Version,
		suite.Digest(), name, program)
}

const (
	digestScheme = "sha256:"
	minDigest    = len(digestScheme) + 12 // of an abbreviated digest
)

// program, suite and bundle are the parts of this program. Only Main sets them.
var (
	program = parleyName
	suite   *steps.Protocols
	bundle  launch.Targets

	kills    []byte
	released map[string]string
)

func versionCommand(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the digest of the suite",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runVersion(c.Context(), s) },
	}
}

func runVersion(_ context.Context, s *streams) error {
	_, err := fmt.Fprint(s.Out, versionText())
	return err
}

// versionText is what parley version and parley --version print.
func versionText() string {
	return fmt.Sprintf("%s %s%s\nsuite  %s\n%s %s/%s\n",
		program, suite.Version, buildCommit(), suite.Digest(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildCommit returns the commit of the build, if known.
func buildCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	if commit == "" {
		return ""
	}
	return " (" + commit + dirty + ")"
}

// manCommand is hidden: it is for those who package the program.
func manCommand(s *streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:    "man",
		Hidden: true,
		Short:  "Write the man pages of all commands",
		Args:   noArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return runMan(c.Context(), c.Root(), out, s) },
	}
	c.Flags().StringVar(&out, "out", "", "`DIR` for the pages")
	return c
}

// runMan writes a page for each command.
func runMan(_ context.Context, root *cobra.Command, out string, s *streams) error {
	if out == "" {
		return usagef("man: --out is missing (name the folder of the pages, such as share/man/man1)")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return usagef("man: --out: %v", err)
	}
	all := clidoc.Commands(root)
	for _, c := range all {
		err := writeFile(filepath.Join(out, clidoc.ManName(c)), func(w io.Writer) error {
			_, err := io.WriteString(w, clidoc.Man(c, suite.Version))
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.Err, "%d man pages are in %s\n", len(all), out)
	return err
}
