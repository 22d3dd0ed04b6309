package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/freeport"
)

// session runs the console blocks of one page in a temporary folder with the checkout's examples and profiles.
type session struct {
	t     *testing.T
	root  string
	dir   string            // where the commands run
	ports map[string]string // port in the page → the actual port
	end   func()            // stops the running server, if any
}

func (s *session) open() {
	s.dir, s.end = s.root, func() {}
	s.t.Cleanup(func() { s.end() })
	for _, name := range []string{"examples"} {
		from, err := filepath.Abs(filepath.Join("..", "..", name))
		if err == nil {
			err = os.Symlink(from, filepath.Join(s.root, name))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for _, p := range []string{"3000", "3001", "8124"} {
		free, err := freeport.Lend()
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(free.Release)
		s.ports[p] = strconv.Itoa(free.Number)
	}
}

// take processes a part of a page as a reader would: it saves a profile, patches a file, or runs commands and
// compares their output.
func (s *session) take(page string, p part, used []bool) {
	switch p.kind {
	case "yaml":
		if p.file != "" {
			s.write(p.file, p.text)
		}
	case "diff":
		s.patch(p)
	case "console":
		for _, e := range exchanges(p) {
			where := fmt.Sprintf("%s:%d", page, p.line)
			parses(s.t, where, e.command)
			if skip := s.skipped(page, e.command, used); skip || e.command == "" {
				continue
			}
			s.prepare(page, e.command)
			s.compare(where, e, s.run(e.command, len(e.shown)))
		}
	}
}

// patch changes a file as a diff says, whose first line is a comment that names it. A line need not be whole.
func (s *session) patch(p part) {
	head, lines, _ := strings.Cut(p.text, "\n")
	name, _, _ := strings.Cut(strings.TrimLeft(head, " #/"), ",")
	file := filepath.Join(s.dir, name)
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	var before, after []string
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		if line[0] != '+' {
			before = append(before, line[1:])
		}
		if line[0] != '-' {
			after = append(after, line[1:])
		}
	}
	was, is := strings.Join(before, "\n"), strings.Join(after, "\n")
	if strings.Count(string(text), was) != 1 {
		s.t.Fatalf("%s has not one\n%s", name, was)
	}
	s.write(name, strings.Replace(string(text), was, is, 1))
}

func (s *session) skipped(page, command string, used []bool) bool {
	for i, u := range unrun {
		if u.page == page && strings.Contains(command, u.command) {
			used[i] = true
			return u.reason != slow && u.reason != browsing || os.Getenv("PARLEY_DOCS") != "all"
		}
	}
	return false
}

// prepare sets up what the text around a command assumes.
func (s *session) prepare(page, command string) {
	switch {
	case page == "docs/test-your-server.md" && strings.HasPrefix(command, "parley init"):
		s.run("cp examples/servers/python/*.py examples/servers/python/main-agents.toml .", 1)
		s.run("python3 agent_select.py --port 3000 --agents main-agents.toml &", 1)
	case strings.HasPrefix(command, "parley check-log"):
		s.logs()
	}
}

// logs writes the four logs that the documents judge: a good one and three flawed ones.
func (s *session) logs() {
	s.run("parley serve --protocol external-agent --logs made", 1)
	s.run("parley serve --protocol external-agent --role agent --url ws://127.0.0.1:8124/agent/ws", 1)
	made, err := filepath.Glob(filepath.Join(s.dir, "made/study/*.jsonl"))
	if err != nil || len(made) != 1 {
		s.t.Fatalf("logs %q, %v", made, err)
	}
	b, err := os.ReadFile(made[0])
	if err != nil {
		s.t.Fatal(err)
	}
	id := strings.TrimSuffix(filepath.Base(made[0]), ".jsonl")
	study := func(n, text string) {
		s.write("logs/study/s-20261121-"+n+".jsonl", strings.ReplaceAll(text, id, "s-20261121-"+n))
	}
	lines := strings.SplitAfter(string(b), "\n")
	study("001", string(b))
	broken := append([]string(nil), lines[:20]...)
	twice := strings.NewReplacer(`"eventIndex":8`, `"eventIndex":7`, `"direction":"in"`, `"direction":"out"`)
	broken[7] = twice.Replace(broken[7])
	when := regexp.MustCompile(`"timestamp":"[^"]*"(,"type":"tool.result")`)
	broken[9] = when.ReplaceAllString(broken[9], `"timestamp":"noon"$1`)
	study("002", strings.Join(broken, ""))
	study("003", strings.Join(lines[:12], "")+`{"direction":"internal","eventIndex":13,"payl`)
	study("004", "")
}

func (s *session) write(name, text string) {
	file := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

var entered = regexp.MustCompile(`^mkdir ([a-z-]+) && cd [a-z-]+$`)

// run returns the output of a command. A command that keeps running, like a server, is stopped at the end of the
// test; run returns its first lines.
func (s *session) run(command string, lines int) string {
	if m := entered.FindStringSubmatch(command); m != nil {
		s.dir = filepath.Join(s.root, m[1])
		if err := os.Mkdir(s.dir, 0o755); err != nil {
			s.t.Fatal(err)
		}
		return ""
	}
	command = regexp.MustCompile(`3000|3001|8124`).ReplaceAllStringFunc(command, func(in string) string {
		return s.ports[in] // at once: a port may contain another number of these
	})
	command, background := strings.CutSuffix(command, " &")
	if strings.HasPrefix(command, "parley serve") && !strings.Contains(command, "--role agent") {
		command, background = command+" --listen 127.0.0.1:"+s.ports["8124"], true
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+command)
	if strings.HasPrefix(command, "(") || strings.HasPrefix(command, "cp ") {
		cmd.Args[2] = command
	}
	cmd.Dir = s.dir
	if background {
		return s.serve(cmd, max(lines, 1), cancel)
	}
	defer cancel()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, nil
	if strings.HasPrefix(command, "parley init") {
		cmd.Stderr = &out // a reader sees both
	}
	_ = cmd.Run() // the output shows failures
	return s.documentPorts(out.String())
}

// serve starts a server, and returns its first lines of output.
func (s *session) serve(cmd *exec.Cmd, lines int, cancel func()) string {
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.end() // one server per page at a time
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.end = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cancel()
		_ = cmd.Wait()
		s.end = func() {}
	}
	var said strings.Builder
	for r := bufio.NewReader(out); lines > 0; lines-- {
		l, err := r.ReadString('\n')
		said.WriteString(l)
		if err != nil {
			s.t.Errorf("%q ended: %v", cmd.Args, err)
			break
		}
	}
	return s.documentPorts(said.String())
}

// documentPorts replaces the actual ports by those of the document, but not within longer numbers such as dates.
func (s *session) documentPorts(text string) string {
	for in, port := range s.ports {
		text = regexp.MustCompile(`\b`+port+`\b`).ReplaceAllString(text, in)
	}
	return text
}

// moving matches what differs between runs: times, ports of started targets, dates and ids.
var moving = regexp.MustCompile(`\+?\d+(\.\d+)? ?(ms|s)\b|127\.0\.0\.1:\d+|\d{8}-\d{3}|\b\d\d:\d\d:\d\d\.\d+`)

// compare compares the documented output with the actual one.
func (s *session) compare(where string, e shownCommand, printed string) {
	s.t.Helper()
	still := func(text string) string {
		return strings.TrimRight(regexp.MustCompile(` +\n`).ReplaceAllString(moving.ReplaceAllString(text, "~"), "\n"), "\n")
	}
	shown := still(strings.Join(e.shown, "\n"))
	if shown == "" {
		return
	}
	var expr strings.Builder
	expr.WriteString(`(?s)^`)
	for l := range strings.Lines(shown + "\n") {
		if strings.TrimSpace(l) == "…" {
			expr.WriteString(`(?:.*\n)?`)
			continue
		}
		expr.WriteString(strings.ReplaceAll(regexp.QuoteMeta(l), "…", `[^\n]*`))
	}
	expr.WriteString(`$`)
	if got := still(printed) + "\n"; !regexp.MustCompile(expr.String()).MatchString(got) {
		s.t.Errorf("%s: $ %s\nis shown to print\n%s\nand prints\n%s", where, e.command, shown, got)
	}
}
