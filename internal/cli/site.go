package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/reports/certificate"
	"parley/reports/certificate/site"
)

// siteOptions are the flags of parley site.
type siteOptions struct{ dir, out, keys, lang string }

func siteCommand(s *streams) *cobra.Command {
	var o siteOptions
	c := &cobra.Command{
		Use:   "site DIR",
		Short: "Make a static site from a folder of certificates",
		Long: `Make a static site from the certificates in a folder, at any depth: a matrix of implementations and
protocols, the outcome of every clause, badges, and the results and transcripts that are beside a certificate. It
needs no server.

Certificates that parley verify does not accept are not listed; a line says why, and the exit code is 1. Expired
ones are listed as expired. With --keys only the certificates of these holders are listed, by name.`,
		Example: `  parley site certificates
  parley site certificates --keys holders --out public`,
		Args: oneArg("site", "a folder of certificates"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.dir = args[0]
			return makeSite(o, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "",
		"`DIR` for the site; an earlier site is replaced (default site, in the folder of the certificates)")
	declareLangOf(f, &o.lang, "the site, and of what is printed: en or zh; certificates and badges are the same in each")
	f.StringVar(&o.keys, "keys", "", "`DIR` of public keys, HOLDER.pub (default any key)")
	takeFolder(c)
	return c
}

func makeSite(o siteOptions, s *streams) error {
	if o.out == "" {
		o.out = filepath.Join(o.dir, "site")
	}
	if info, err := os.Stat(o.dir); err != nil {
		return usagef("site: %v", err)
	} else if !info.IsDir() {
		return usagef("site: %s is not a folder", o.dir)
	}
	l, err := parseLang(o.lang)
	if err != nil {
		return err
	}
	holders, err := readHolders(o.keys)
	if err != nil {
		return err
	}
	known, err := knownSuite("")
	if err != nil {
		return err
	}
	n, refused, err := site.Build(site.Options{Dir: o.dir, Out: o.out, Suite: known, Keys: holders, Now: time.Now(),
		Program: program, Lang: l})
	var foreign *site.ForeignError
	if errors.As(err, &foreign) {
		return usagef("--out: %v (name another folder)", err)
	}
	if err != nil {
		return err
	}
	for _, r := range refused {
		fmt.Fprintf(s.Err, "%s\n", l.Say("not listed: %s: %s", escapeControl(r.Path), escapeControl(oneLine(r.Why))))
	}
	fmt.Fprintln(s.Out, l.Say("%s in %s", l.Count(n, "certificate"), filepath.Join(o.out, "index.html")))
	if len(refused) > 0 {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// readHolders reads the public keys in a folder; "" has none.
func readHolders(dir string) ([]certificate.Holder, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.pub"))
	if err != nil {
		return nil, usagef("--keys: %v", err)
	}
	var out []certificate.Holder
	for _, name := range files {
		h, err := readHolder(name)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	if len(out) == 0 {
		return nil, usagef("--keys: there is no public key *.pub in %s", dir)
	}
	return out, nil
}
