package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the digest of the suite",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return version(c.Context(), s) },
	}
}

func version(_ context.Context, s *streams) error {
	_, err := fmt.Fprint(s.Out, versionText())
	return err
}

// versionText is what parley version and parley --version print.
func versionText() string {
	return fmt.Sprintf("%s %s%s\nsuite  %s\n%s %s/%s\n",
		program, suite.Version, revision(), suite.Digest(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision returns the commit of the build, if known.
func revision() string {
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
