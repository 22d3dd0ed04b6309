package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/reports/certificate"
)

func keygenCommand(s *streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "keygen",
		Short: "Make a key that signs certificates",
		Long: `Make an Ed25519 key that signs certificates, and write it in PEM: the private key, readable only by you, and
beside it the public one (.pub), which others need to check that a certificate is yours. Existing files are not
replaced.`,
		Example: `  parley keygen
  parley keygen --out keys/release.key`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return keygen(out, s) },
	}
	c.Flags().StringVar(&out, "out", "parley.key", "`FILE` for the private key; the public one has the ending .pub")
	return c
}

func keygen(out string, s *streams) error {
	public := strings.TrimSuffix(out, filepath.Ext(out)) + ".pub"
	if public == out {
		return usagef("--out: %s is the name of the public key (choose another, such as parley.key)", out)
	}
	if err := hasFolder("--out", out); err != nil {
		return err
	}
	for _, name := range []string{out, public} {
		if _, err := os.Lstat(name); err == nil {
			return usagef("keygen: %s exists, and a key is not replaced (name another file with --out)", name)
		}
	}
	private, pub, err := certificate.NewKey()
	if err != nil {
		return err
	}
	holder, err := certificate.ParsePublic(pub)
	if err != nil {
		return err
	}
	if err := writeNew(newFile{out, private, 0o600}, newFile{public, pub, 0o644}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "private key  %s  keep it secret\npublic key   %s\nkey id       %s\n", out, public,
		certificate.KeyID(holder))
	return err
}

// writeNew writes files that must not exist yet, all or none.
func writeNew(files ...newFile) error {
	var made []string
	for _, f := range files {
		w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if err == nil {
			made = append(made, f.path)
			_, err = w.Write(f.body)
			err = errors.Join(err, w.Sync(), w.Close())
		}
		if err != nil {
			for _, name := range made {
				_ = os.Remove(name)
			}
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return nil
}
