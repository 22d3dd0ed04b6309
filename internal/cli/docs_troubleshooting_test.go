package cli

import (
	"bytes"
	"crypto/tls"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/internal/certtest"
)

const troubleshooting = "docs/troubleshooting.md"

// pageMessages returns the messages of a page, one per line of its text blocks.
func pageMessages(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, p := range readPage(t, page) {
		if p.kind == "text" {
			all = append(all, strings.Split(strings.TrimSpace(p.text), "\n")...)
		}
	}
	return all
}

// TestTroubleshootingWords: each message of the page consists of words of the program, and the translation has the same
// messages.
func TestTroubleshootingWords(t *testing.T) {
	messages := pageMessages(t, troubleshooting)
	if zh := pageMessages(t, strings.Replace(troubleshooting, ".md", ".zh.md", 1)); !slices.Equal(messages, zh) {
		t.Errorf("the messages of the translation differ:\n%q\n%q", messages, zh)
	}
	if len(messages) < 25 {
		t.Fatalf("only %d messages", len(messages))
	}
	ours := ourTexts(t)
	for _, m := range messages {
		longest := 0
		for _, part := range apart.Split(m, -1) {
			part = strings.Trim(part, " ,")
			if len(part) < 4 {
				continue
			}
			longest = max(longest, len(part))
			if !strings.Contains(ours, part) {
				t.Errorf("no text of the program contains %q, a part of\n  %s", part, m)
			}
		}
		if longest < 11 {
			t.Errorf("nothing of %q identifies a message", m)
		}
	}
}

// apart is what separates the constants of a message: what differs, and what joins a cause, an outcome and advice.
var apart = regexp.MustCompile(`…|\d+|: |; |[()]`)

var verb = regexp.MustCompile(`%[-+#0-9.\[\]]*[a-zA-Z]`)

// ourTexts returns the string constants of the program, one per line; verbs of formats separate lines, too.
func ourTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name != ".." && strings.HasPrefix(name, ".") || name == "testdata" || name == "examples" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, constant := joined(e)
			if constant {
				all.WriteString(verb.ReplaceAllString(text, "\n") + "\n")
			}
			return !constant
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// joined returns the value of a string literal, or of several that are added.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := joined(e.X)
		right, too := joined(e.Y)
		return left + right, e.Op == token.ADD && ok && too
	}
	return "", false
}

// TestTroubleshootingShown produces messages of the page: they are what a user sees, with the exit code that the page
// states.
func TestTroubleshootingShown(t *testing.T) {
	answering := func(status int, header ...string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, h := range header {
				name, value, _ := strings.Cut(h, "=")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	profile := func(text string) string {
		file := filepath.Join(t.TempDir(), "target.yaml")
		if err := os.WriteFile(file, []byte("protocol: agent-select\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	taken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(taken.Close)
	secure := secureServer(t)
	t.Setenv("PATH", "/bin:/usr/bin")
	messages := pageMessages(t, troubleshooting)
	for _, c := range []struct {
		beginning string // of the message on the page, the only such
		exit      int
		args      []string
	}{
		{"target … cannot be reached", 3, []string{"run", "--target", "http://127.0.0.1:1"}},
		{"the target at … wants credentials", 3, []string{"run", "--target", answering(401)}},
		{"the target at … speaks TLS", 3, []string{"run", "--target", strings.Replace(secure, "https", "http", 1)}},
		{"the target at … does not speak TLS", 3,
			[]string{"run", "--target", "https" + strings.TrimPrefix(taken.URL, "http")}},
		{"the target at … has a TLS certificate", 3, []string{"run", "--target", secure}},
		{"the target at … does not speak …: … is answered by HTTP 404", 3,
			[]string{"run", "--target", answering(404)}},
		{"the target at … does not speak …: … is answered by a redirect", 3,
			[]string{"run", "--target", answering(302, "Location=/login")}},
		{"target … is not started: another process", 3, []string{"run", "--target",
			profile("url: " + taken.URL + "\ncommand: {run: [sleep, '60']}\n")}},
		{"… is in use", 3, []string{"serve", "--listen", strings.TrimPrefix(taken.URL, "http://")}},
		{"target … ended before it was ready", 3,
			[]string{"run", "--target", profile("command: {run: [sh, -c, exit 3]}\n")}},
		{"… unknown key", 2, []string{"run", "--target", profile("url: http://127.0.0.1:1\nmodle: {}\n")}},
		{"… the environment variable", 2, []string{"run", "--target",
			profile("url: http://127.0.0.1:1\nheaders: {Authorization: 'Bearer ${PARLEY_NOT_SET}'}\n")}},
		{"… has no unit", 2, []string{"run", "--target", profile("url: http://127.0.0.1:1\nlimits: {event: 2}\n")}},
		{"… not valid YAML", 2, []string{"run", "--target", profile("\turl: http://127.0.0.1:1\n")}},
		{"… is not a clause of", 2, []string{"run", "--tags", "@AS-042", "--baseline", baselineOf(t, "AS-999")}},
		{"--write-baseline", 2, []string{"run", "--tags", "@AS-042", "--write-baseline", baselineOf(t, "AS-042")}},
	} {
		t.Run(c.beginning, func(t *testing.T) {
			fits := func(m string) bool { return strings.HasPrefix(m, c.beginning) }
			i := slices.IndexFunc(messages, fits)
			if i < 0 || slices.ContainsFunc(messages[i+1:], fits) {
				t.Fatalf("the page has none, or several")
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(messages[i]), "…", ".*")
			if c.args[0] == "run" {
				c.args = append(c.args, "--out", t.TempDir())
			}
			var out, errs bytes.Buffer
			exit := runParley(c.args, &streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			all := strings.Join(strings.Fields(out.String()+errs.String()), " ")
			if exit != c.exit || !regexp.MustCompile(pattern).MatchString(all) {
				t.Errorf("exit %d, want %d, and a line that matches\n  %s\nof\n%s", exit, c.exit, messages[i], all)
			}
		})
	}
	t.Run("no browser", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		var out, errs bytes.Buffer
		exit := runParley([]string{"run", "--protocol", "agent-client", "--out", t.TempDir()},
			&streams{Out: &out, Err: &errs})
		if exit != 3 || !strings.Contains(errs.String(), "no browser was found, neither Chromium nor Chrome") {
			t.Errorf("exit %d: %s", exit, errs.String())
		}
	})
}

// TestLineEnds: profiles and baselines may have CRLF line ends, and profiles a byte order mark, as the page says.
func TestLineEnds(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "\n", "\r\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		text string
		exit int
	}{{"url: http://127.0.0.1:1\n", 3}, {"url: http://127.0.0.1:1\nmodle: {}\n", 2}} {
		profile := write("target.yaml", "\ufeffprotocol: agent-select\n"+c.text)
		baseline := write("expected.yaml", "expected:\n- {clause: AS-042, reason: known}\n")
		var out, errs bytes.Buffer
		args := []string{"run", "--target", profile, "--baseline", baseline, "--out", t.TempDir()}
		if exit := runParley(args, &streams{Out: &out, Err: &errs}); exit != c.exit {
			t.Errorf("%q: exit %d, want %d: %s", c.text, exit, c.exit, errs.String())
		}
	}
}

// secureServer is an HTTPS server whose certificate nobody trusts.
func secureServer(t *testing.T) string {
	t.Helper()
	made, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = made.ServerTLS(false)
	s.TLS.MinVersion = tls.VersionTLS12
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func baselineOf(t *testing.T, clause string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "expected.yaml")
	if err := os.WriteFile(file, []byte("expected:\n- {clause: "+clause+", reason: known}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
