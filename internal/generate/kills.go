package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"parley/internal/generate/sources"
	"parley/reference-server/bundled"
	"parley/reports/certificate"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
)

const (
	killsFile   = "reference-server/bundled/kills.json"
	program     = "bin/parley"
	onlyMutants = "bin/signatures" // where the results of whole suites are kept
)

// writeKills writes the kill matrix of each role whose scenarios, clauses, mutants or sources are others than those
// that its matrix is of.
func writeKills(ctx context.Context) error {
	b, err := os.ReadFile(killsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := &certificate.Kills{}
	if err == nil {
		if old, err = certificate.ReadKills(b); err != nil {
			return err
		}
	}
	built := false
	all := &certificate.Kills{Roles: slices.Clone(old.Roles)}
	var failed error // a role that fails is told at the end, and the others are made all the same
	for _, r := range pagesLast() {
		made, err := killsOf(ctx, old, r.Protocol, r.Role, &built)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s %s: %w", r.Protocol, r.Role, err))
			continue
		}
		putMatrix(all, made)
		if b, err = certificate.WriteKills(all); err == nil {
			err = os.WriteFile(killsFile, b, 0o644) // after each role, so that an interrupted call goes on
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// pagesLast returns the roles of all protocols, those of pages last: they take longer than all others together.
func pagesLast() (out []certificate.RoleKills) {
	var pages []certificate.RoleKills
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			r := certificate.RoleKills{Protocol: protocol, Role: role}
			if k, _ := protocols.Kinds().Find(protocol); k.Drivers[0] == target.Browser {
				pages = append(pages, r)
			} else {
				out = append(out, r)
			}
		}
	}
	return append(out, pages...)
}

// putMatrix replaces the kill matrix of a role, or adds it.
func putMatrix(all *certificate.Kills, made certificate.RoleKills) {
	for i, r := range all.Roles {
		if r.Protocol == made.Protocol && r.Role == made.Role {
			all.Roles[i] = made
			return
		}
	}
	all.Roles = append(all.Roles, made)
}

// killsOf returns the kill matrix of a role: the old one if it is of what there is, else a new one.
func killsOf(ctx context.Context, old *certificate.Kills, protocol, role string, built *bool) (certificate.RoleKills,
	error) {
	var r certificate.RoleKills
	of, err := runner.ProofDigest(protocols.All, protocol, role, bundled.All.Mutants(protocols.Kinds(), protocol, role))
	if err != nil {
		return r, err
	}
	now, err := sources.Digest(os.DirFS("."), protocol, role)
	if err != nil {
		return r, err
	}
	for _, o := range old.Roles {
		if o.Protocol == protocol && o.Role == role && o.Of == of && o.Sources == now {
			fmt.Println("the kill matrix of", protocol, role, "is up to date")
			return o, nil
		}
	}
	fmt.Println("the kill matrix of", protocol, role, "is made anew")
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if !*built {
		if err := run(ctx, "go", "build", "-buildvcs=false", "-o", program, "./cmd/parley"); err != nil {
			return r, err
		}
		*built = true
	}
	made := filepath.Join(dir, "kills.json")
	if err := run(ctx, program, "mutants", "--protocol", protocol, "--role", role, "--output", made); err != nil {
		return r, err
	}
	b, err := os.ReadFile(made)
	if err != nil {
		return r, err
	}
	k, err := certificate.ReadKills(b)
	if err != nil {
		return r, err
	}
	k.Roles[0].Sources = now
	return k.Roles[0], nil
}

// writeSignatures runs every mutant through the whole suite and keeps what it breaks, for package diagnosis. An
// interrupted call continues.
func writeSignatures(ctx context.Context) error {
	if err := run(ctx, "go", "build", "-buildvcs=false", "-o", program, "./cmd/parley"); err != nil {
		return err
	}
	if err := run(ctx, program, "mutants", "--whole", "--missing", "--out", onlyMutants); err != nil {
		return err
	}
	return run(ctx, "go", "run", "./internal/signatures", onlyMutants, "reports/diagnosis/signatures.json.gz")
}
