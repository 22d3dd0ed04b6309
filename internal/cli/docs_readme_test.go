package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/tier"
)

// inlineMake finds the commands that the text of the README tells a reader to run.
var inlineMake = regexp.MustCompile("`(make [a-z-]+)`")

// readmeCommands returns the commands of a README with the output shown, in the order of the page: of its sh and
// console blocks, and those of make in its text.
func readmeCommands(t *testing.T, page string) []shownCommand {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[int]part{} // by the line that opens them
	for _, p := range readPage(t, page) {
		blocks[p.line] = p
	}
	var all []shownCommand
	fenced := false
	for i, l := range strings.Split(string(text), "\n") {
		switch p, opens := blocks[i+1]; {
		case opens && p.kind == "sh":
			for command := range strings.Lines(p.text) {
				all = append(all, shownCommand{command: strings.TrimSpace(command)})
			}
		case opens && p.kind == "console":
			all = append(all, exchanges(p)...)
		case !fenced:
			for _, m := range inlineMake.FindAllStringSubmatch(l, -1) {
				all = append(all, shownCommand{command: m[1]})
			}
		}
		if strings.HasPrefix(l, "```") {
			fenced = !fenced
		}
	}
	return all
}

// TestReadmeCommands: the READMEs have the same commands, and those of parley print what is shown and exit as the page
// says where nothing is given: no HOME, no terminal, no input, LANG=C, and no program but parley on the PATH.
func TestReadmeCommands(t *testing.T) {
	all := readmeCommands(t, "README.md")
	var names []string
	for _, e := range all {
		names = append(names, e.command)
	}
	want := []string{"make build", "export PATH=$PWD/bin:$PATH", "parley demo", "make run",
		"parley init http://localhost:3000", "parley doctor --target target.yaml", "parley run --target target.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("TestReadme needs to know the exit code of each command:\n%s", diff)
	}
	zh := readmeCommands(t, "README.zh.md")
	same := func(a, b shownCommand) bool { return a.command == b.command && slices.Equal(a.shown, b.shown) }
	if !slices.EqualFunc(all, zh, same) {
		t.Errorf("README.zh.md has other commands or output: %q", zh)
	}
	program, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{t: t, dir: t.TempDir(), outputs: t.TempDir(), env: []string{"LANG=C", "PATH=" + filepath.Dir(program)}}
	n.session = exampleServer(t)
	n.follow(all[2:3])
	n.follow(all[4:6]) // the run takes seconds: TestReadme
}

// TestReadme follows the README in a fresh clone with empty caches, in an environment that has a PATH with Go, make,
// git and the programs of the Makefile, and what a container without HOME must tell Go. There is no terminal and no
// input. If the test runs as root and somebody else can run Go, that one follows. Once the clone can only be read.
func TestReadme(t *testing.T) {
	tier.Night(t)
	root := readable(t)
	bin, cache, modules := filepath.Join(root, "bin"), filepath.Join(root, "cache"), filepath.Join(root, "modules")
	outputs, proxy := filepath.Join(root, "outputs"), filepath.Join(root, "proxy")
	for _, d := range []string{bin, cache, modules, outputs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	told := goEnv(t, "GOROOT", "GOMODCACHE")
	link(t, filepath.Join(told[0], "bin", "go"), bin)
	for _, name := range []string{"sh", "make", "git", "find", "mktemp"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		link(t, program, bin)
	}
	// An empty cache of modules is filled from the full one, not from the network.
	if err := os.CopyFS(proxy, os.DirFS(filepath.Join(told[1], "cache", "download"))); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin, "LANG=C", "TMPDIR=" + root, "GOCACHE=" + cache, "GOMODCACHE=" + modules,
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",off"}
	n := &newcomer{t: t, env: env, outputs: outputs}
	n.become(root)
	commands := readmeCommands(t, "README.md")

	t.Run("read-only", func(t *testing.T) {
		n.t, n.dir = t, clone(t, filepath.Join(root, "read-only"))
		everywhere(t, n.dir, func(m fs.FileMode) fs.FileMode { return m &^ 0o222 })
		before := listing(t, n.dir)
		n.follow(commands[3:4]) // make run: the others write in the checkout
		if diff := cmp.Diff(before, listing(t, n.dir)); diff != "" {
			t.Errorf("the checkout has changed:\n%s", diff)
		}
	})
	t.Run("in order", func(t *testing.T) {
		n.t, n.dir = t, clone(t, filepath.Join(root, "clone"))
		everywhere(t, n.dir, func(m fs.FileMode) fs.FileMode { return m | m&0o700>>3 | m&0o700>>6 })
		n.session = exampleServer(t)
		n.follow(commands)
		if left := n.script("git -c safe.directory='*' status --porcelain"); left != "?? target.yaml\n" {
			t.Errorf("git does not ignore all that was made:\n%s", left)
		}
	})
}

// newcomer follows a page in a folder, with the environment given and no more.
type newcomer struct {
	t       *testing.T
	dir     string   // where the commands run
	outputs string   // where their output is kept
	env     []string // all that there is
	as      *syscall.SysProcAttr
	session *session // has the server on the port of the page; nil if no command needs one
}

// readmeExits has the exit codes of the commands that do not exit with 0: clauses are not tested, as the page says.
var readmeExits = map[string]int{"parley run --target target.yaml": 5}

// follow runs commands in one shell, as the page has them, and compares their output and their exit codes.
func (n *newcomer) follow(all []shownCommand) {
	n.t.Helper()
	var script strings.Builder
	out := func(i int, kind string) string { return filepath.Join(n.outputs, strconv.Itoa(i)+"."+kind) }
	for i, e := range all {
		command := e.command
		if n.session != nil {
			command = strings.ReplaceAll(command, "3000", n.session.ports["3000"])
		}
		errs := "'" + out(i, "err") + "'"
		if strings.HasPrefix(command, "parley init") {
			errs = "&1" // a reader sees both
		}
		fmt.Fprintf(&script, "{ %s\n} > '%s' 2>%s; echo $? > '%s'\n", command, out(i, "out"), errs, out(i, "exit"))
	}
	n.script(script.String())
	for i, e := range all {
		printed, err := os.ReadFile(out(i, "out"))
		code, err2 := os.ReadFile(out(i, "exit"))
		if err := errors.Join(err, err2); err != nil {
			n.t.Fatalf("$ %s: %v", e.command, err)
		}
		errs, _ := os.ReadFile(out(i, "err")) // none where it is among the output
		if want := strconv.Itoa(readmeExits[e.command]); strings.TrimSpace(string(code)) != want {
			n.t.Errorf("$ %s: exit %s, want %s\n%s%s", e.command, strings.TrimSpace(string(code)), want, printed, errs)
		}
		if e.command == "make run" && !strings.Contains(string(printed), "\nCONFORMANT  ") {
			n.t.Errorf("$ make run prints no verdict:\n%s%s", printed, errs)
		}
		if len(e.shown) > 0 {
			n.session.compare("README.md", e, n.session.documentPorts(string(printed)))
		}
	}
}

// script runs a script in the folder, and returns what it prints.
func (n *newcomer) script(text string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = n.dir, n.env, n.as
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("%v: %s", err, errs.String())
	}
	return string(out)
}

// nobody is the user and the group that own nothing.
const nobody = 65534

// become has the newcomer be nobody if the test runs as root, for whom no folder is read-only; and where nobody may not
// run Go, or not reach the temporary folder, it stays root.
func (n *newcomer) become(root string) {
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		return
	}
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	probe := exec.Command("/bin/sh", "-c", "cd '"+root+"' && go version")
	probe.Env, probe.SysProcAttr = n.env, as
	if out, err := probe.CombinedOutput(); err != nil {
		n.t.Logf("as root, because nobody cannot follow: %v %s", err, out)
		return
	}
	everywhere(n.t, root, func(m fs.FileMode) fs.FileMode { return m | m&0o700>>3 | m&0o700>>6 })
	n.as = as
}

// exampleServer starts the Python example for which the README shows the output.
func exampleServer(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, root: t.TempDir(), ports: map[string]string{}}
	s.open()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	s.run("python3 examples/servers/python/agent_select.py --port 3000 "+
		"--agents examples/servers/python/main-agents.toml &", 1)
	return s
}

// readable returns a temporary folder into which everybody may look, and which goes even if parts of it are read-only.
func readable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "parley-readme")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		everywhere(t, dir, func(m fs.FileMode) fs.FileMode { return m | 0o200 })
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// clone clones the checkout, or skips the test where there is only its source.
func clone(t *testing.T, to string) string {
	t.Helper()
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("not a checkout")
	}
	if out, err := exec.Command("git", "clone", "--quiet", filepath.Join("..", ".."), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// everywhere changes the modes of a folder and of all that is in it, apart from links.
func everywhere(t *testing.T, dir string, mode func(fs.FileMode) fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil || mode(info.Mode().Perm()) == info.Mode().Perm() {
			return err
		}
		return os.Chmod(path, mode(info.Mode().Perm()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// listing returns the files of a checkout with their modes, sizes and times, apart from the results that root may write
// into what only others cannot.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if os.Geteuid() == 0 && d.Name() == "parley-results" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		when := info.ModTime()
		if d.IsDir() {
			when = time.Time{} // it is among what its files are
		}
		all = append(all, fmt.Sprintf("%s %v %d %v", path, info.Mode(), info.Size(), when))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goEnv returns what go env says of each name.
func goEnv(t *testing.T, names ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// link puts a program into a folder.
func link(t *testing.T, program, folder string) {
	t.Helper()
	if err := os.Symlink(program, filepath.Join(folder, filepath.Base(program))); err != nil {
		t.Fatal(err)
	}
}
