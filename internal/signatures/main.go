// Command signatures keeps what mutants broke in the whole suite, compactly, for package diagnosis. What the folder
// does not have stays as it is in the file:
//
//	parley mutants --whole --out FOLDER
//	signatures FOLDER FILE
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"parley/reference-server/bundled"
	"parley/reports"
	"parley/reports/diagnosis"
	"parley/runner"
	"parley/steps/protocols"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: signatures FOLDER FILE")
		os.Exit(2)
	}
	if err := writeSignatures(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "signatures:", err)
		os.Exit(1)
	}
}

// writeSignatures collects the results of a folder in a file.
func writeSignatures(folder, name string) error {
	file := &diagnosis.File{}
	if b, err := os.ReadFile(name); err == nil {
		if file, err = diagnosis.Read(b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	whole := true
	for _, p := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(p) {
			faults, missing, err := collectFaults(folder, p, role)
			if err != nil {
				return err
			}
			if faults, err = keepFaults(file, folder, p, role, faults); err != nil {
				return err
			}
			if len(faults) > 0 {
				file.Add(p, role, faults)
			}
			whole = whole && missing == 0
			fmt.Printf("%s %s: %d mutants, %d not run\n", p, role, len(faults), missing)
		}
	}
	if whole {
		file.Suite = protocols.All.Digest()
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Write(out), out.Close())
}

// keepFaults returns the faults with those that the file has, of mutants without results in the folder.
func keepFaults(file *diagnosis.File, folder, protocol, role string, faults []diagnosis.Fault) ([]diagnosis.Fault,
	error) {
	before, err := file.Faults(protocol, role)
	if err != nil {
		return nil, err
	}
	mutants := bundled.All.Mutants(protocols.Kinds(), protocol, role)
	for _, one := range before {
		_, err := os.Stat(resultFile(folder, protocol, role, one.ID))
		known := slices.ContainsFunc(mutants, func(m runner.Mutant) bool { return m.ID == one.ID })
		if known && errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, one)
		}
	}
	return faults, nil
}

// collectFaults reads what the mutants of a protocol's targets in a role broke, and counts those without results.
func collectFaults(folder, protocol, role string) (faults []diagnosis.Fault, missing int, err error) {
	for _, m := range bundled.All.Mutants(protocols.Kinds(), protocol, role) {
		res, err := readResults(resultFile(folder, protocol, role, m.ID))
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if res.Suite.Digest != protocols.All.Digest() {
			return nil, 0, fmt.Errorf("%s of %s was run with another suite: run it again", m.ID, protocol)
		}
		if found := diagnosis.FindingsOf(&res.Runs[0]); len(found) > 0 {
			faults = append(faults, diagnosis.Fault{ID: m.ID, Why: m.Why, Findings: found})
		}
	}
	return faults, missing, nil
}

// resultFile is the file with the results of a mutant.
func resultFile(folder, protocol, role, id string) string {
	return filepath.Join(folder, protocol+"-"+role, id+".json")
}

func readResults(name string) (*reports.Results, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return res, nil
}
