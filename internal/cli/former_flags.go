package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formerFlags are the names that flags had before, by command. They are read for one version, and a line on stderr
// gives the new one. One name means the same in every command (TestOneMeaningPerFlag), so that a few had to give way.
var formerFlags = map[string]map[string]string{
	"run":         formerLink,
	"doctor":      formerLink,
	"init":        {"cert": "client-cert", "key": "client-key", "out": "output"},
	"connect":     formerLink,
	"load":        formerLink,
	"parley-load": formerLink,
	"simulate":    {"addr": "console", "insecure": "allow-remote", "to": "upstream"},
	"replay":      {"against": "target", "serve": "listen"},
	"mock":        {"against": "target", "addr": "listen"},
	"proxy":       {"to": "target", "cert": "tls-cert", "key": "tls-key", "open": "allow-remote"},
	"keygen":      {"out": "output"},
	"certify":     {"key": "signing-key", "out": "output"},
	"verify":      {"key": "public-key", "rerun": "target"},
	"mutants":     {"matrix": "output"},
	"bench":       {"json": "output"},
	"diff":        {"out": "output"},
	"serve":       formerServe,
}

var (
	formerLink  = map[string]string{"cert": "client-cert", "key": "client-key"}
	formerServe = map[string]string{"addr": "listen", "insecure": "allow-remote"}
)

// readFormerFlags makes the subcommands of a root command read the names that their flags had before.
func readFormerFlags(root *cobra.Command, s *streams) {
	acceptFormer(root, formerFlags[root.Name()], s)
	for _, c := range root.Commands() {
		acceptFormer(c, formerFlags[c.Name()], s)
		for _, sub := range c.Commands() { // parley serve PROTOCOL
			if c.Name() == "serve" {
				acceptFormer(sub, formerServe, s)
			}
		}
	}
}

// acceptFormer makes a command read other names of its flags, and say once that each has a new one.
func acceptFormer(c *cobra.Command, names map[string]string, s *streams) {
	if len(names) == 0 {
		return
	}
	said := map[string]bool{}
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		now, former := names[name]
		if !former {
			return pflag.NormalizedName(name)
		}
		if !said[name] {
			said[name] = true
			fmt.Fprintf(s.Err, "%s: --%s is --%s now; the next version no longer reads --%[2]s\n",
				strings.TrimSpace(c.CommandPath()), name, now)
		}
		return pflag.NormalizedName(now)
	})
}
