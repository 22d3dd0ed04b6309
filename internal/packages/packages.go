// Command packages wraps a built program for npm and for pip: the npm package of its platform, the small npm package
// that finds it there and starts it, and a wheel. A release runs it for each of its programs (.goreleaser.yaml).
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const summary = "Certifies implementations of agent-session protocols"

//go:embed readme.md
var readme []byte

// platform is what a release has a program for, in the words of Go, of npm and of wheels.
type platform struct {
	goos, goarch string
	os, cpu      string
	tags         []string
}

// platforms are those of the release. A static program needs no C library: one wheel serves systems with glibc and with
// musl. The version of macOS is the oldest that Go's programs run on.
var platforms = []platform{
	{"linux", "amd64", "linux", "x64",
		[]string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
	{"linux", "arm64", "linux", "arm64",
		[]string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
	{"darwin", "amd64", "darwin", "x64", []string{"macosx_12_0_x86_64"}},
	{"darwin", "arm64", "darwin", "arm64", []string{"macosx_12_0_arm64"}},
	{"windows", "amd64", "win32", "x64", []string{"win_amd64"}},
	{"windows", "arm64", "win32", "arm64", []string{"win_arm64"}},
}

// release is a program, and what its packages are called.
type release struct {
	platform
	program         []byte
	license         []byte
	version         string // as 1.2.3 or 1.2.3-rc.1
	npmName, pyName string
}

// executable is the file name of the program.
func (r release) executable() string {
	if r.goos == "windows" {
		return "parley.exe"
	}
	return "parley"
}

// entry is a file in a package.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "packages: %v\n", err)
		os.Exit(1)
	}
}

// run writes the packages of one program. NPM_NAME and PYTHON_NAME in the environment are names
// other than parley, such as @you/parley: a registry has each name once.
func run(args []string) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	version := flags.String("version", "", "`VERSION` of the packages, as 1.2.3 or 1.2.3-rc.1")
	goos := flags.String("os", runtime.GOOS, "`GOOS` of the program")
	goarch := flags.String("arch", runtime.GOARCH, "`GOARCH` of the program")
	out := flags.String("out", filepath.Join("bin", "packages"), "`DIR` for the packages")
	license := flags.String("license", "LICENSE", "`FILE` of the license")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d files are given (give one, the built program, after the flags)", flags.NArg())
	}
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.goos == *goos && p.goarch == *goarch })
	if i < 0 {
		return fmt.Errorf("there are no packages for %s/%s (add it to the table of platforms)", *goos, *goarch)
	}
	r := release{platform: platforms[i], version: *version,
		npmName: cmp.Or(os.Getenv("NPM_NAME"), "parley"), pyName: cmp.Or(os.Getenv("PYTHON_NAME"), "parley")}
	var err error
	if r.program, err = os.ReadFile(flags.Arg(0)); err != nil {
		return err
	}
	if r.license, err = os.ReadFile(*license); err != nil {
		return err
	}
	return r.write(*out)
}

// write writes the packages of a release into a folder. The npm package that starts the program is written with each
// platform, and is the same file each time.
func (r release) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	wheel, files, err := r.wheel()
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		files []entry
		pack  func([]entry) ([]byte, error)
	}{
		{tarballName(r.npmName, r.version), r.launcherPackage(), packTarball},
		{tarballName(r.platformName(r.platform), r.version), r.platformPackage(), packTarball},
		{wheel, files, packWheel},
	} {
		b, err := p.pack(p.files)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := replaceFile(filepath.Join(dir, p.name), b); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a file whole: several programs are packed at once, and share one package.
func replaceFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+strings.TrimPrefix(filepath.Base(name), ".")+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(content)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
