package pages_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/internal/generate/sources"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
)

var update = flag.Bool("update", false, "take the pictures of the documents anew whose content has changed")

const (
	images      = "../../docs/images"
	digestsFile = images + "/digests.txt"
	digestsHead = `# The sources of each set of pictures, and what each picture shows, without times and ids.
# go run ./internal/generate pictures writes it, and takes a picture anew if it shows something else or is missing.
`
)

// picture is what a picture shows, as text that is the same in every run, and its file.
type picture struct {
	shows string
	file  []byte
}

// pictureSet are pictures that are taken together.
type pictureSet struct {
	name  string
	of    []string // patterns of the files that they depend on, below the root of the module
	files []string
	suite bool // they show the outcome of every clause, too
	take  func(v *visitor, parley string) map[string]picture
}

var pictureSets = []pictureSet{
	{"client", []string{"reference-server/agentclient/page/*", "reference-server/agentselect/agents.go",
		"test/pages/pictures_client_test.go"},
		[]string{"client-light-zh.png", "client-dark-en.png", "client-switching.png", "client-narrow.png"}, false,
		takeClient},
	{"run", []string{"reports/testdata/console-120.golden.txt", "reports/testdata/report.golden.html",
		"examples/servers/python/*.py", "test/pages/pictures_run_test.go"},
		[]string{"report.png", "run.svg"}, true, takeRun},
}

// TestPictures compares what the pictures in docs/images depend on with what they were taken of. With -update it opens
// again what may have changed, and takes the pictures anew that show something else.
func TestPictures(t *testing.T) {
	was := readDigests(t)
	is := maps.Clone(was)
	var stale []pictureSet
	for _, s := range pictureSets {
		is[s.name] = s.digestSources(t)
		missing := slices.ContainsFunc(s.files, func(name string) bool { return !pictureExists(t, name) })
		if missing || is[s.name] != was[s.name] {
			stale = append(stale, s)
		}
	}
	if len(stale) == 0 {
		return
	}
	if !*update {
		for _, s := range stale {
			t.Errorf("%s in docs/images may be out of date: go run ./internal/generate pictures", strings.Join(s.files, ", "))
		}
		return
	}
	parley := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", parley, "../../cmd/parley")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v := start(t, chromedp.Flag("host-resolver-rules", "MAP "+documented+" "+serveClient(t, parley)),
		chromedp.Flag("lang", "en"))
	v.requireChinese()
	for _, s := range stale {
		for name, p := range s.take(v, parley) {
			is[name] = digestOf(p.shows)
			if is[name] == was[name] && pictureExists(t, name) {
				continue
			}
			if err := os.WriteFile(filepath.Join(images, name), p.file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	writeDigests(t, is)
}

// digestSources returns the digest of what a set of pictures depends on.
func (s pictureSet) digestSources(t *testing.T) string {
	t.Helper()
	sum, err := sources.Files(os.DirFS("../.."), s.of...)
	if err != nil {
		t.Fatal(err)
	}
	if s.suite {
		sum += readProfile(t) + fmt.Sprint(listJudged(t))
	}
	return digestOf(sum)
}

// listJudged returns what a report shows of the suite: every clause, how many scenarios there are, and what judges the
// clause that the faulty server breaks.
func listJudged(t *testing.T) (out []string) {
	t.Helper()
	p, err := protocols.All.Find("agent-select")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range ledger.Rows() {
		out = append(out, fmt.Sprint(row.ID, row.Level, row.Section, row.Status))
		if row.ID == brokenClause {
			out = append(out, row.Text)
		}
	}
	scenarios, err := runner.Scenarios(p.Features(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if slices.Contains(s.Clauses, brokenClause) {
			out = append(out, s.Name)
		}
	}
	return append(out, fmt.Sprint(len(scenarios)))
}

// varying is what differs between two runs of the same, such as the driver that was the first to find a failure.
var varying = regexp.MustCompile(`\b(sess|conn)_\w+|127\.0\.0\.1:\d+|sha256:[0-9a-f]+|\d{4}-\d\d-\d\d|(\d\d:)+\d\d|` +
	`\b(sse|ws)\b|\brecord \d+|\.feature:\d+|(\d+\s+)?[+]?\d+(\.\d+)? (ms|s)\b`)

// maskVarying returns a text without what varies.
func maskVarying(text string) string { return varying.ReplaceAllLiteralString(text, "*") }

func digestOf(text string) string { return fmt.Sprintf("%.16x", sha256.Sum256([]byte(text))) }

func pictureExists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(images, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func readDigests(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	text, err := os.ReadFile(digestsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name, sum, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			all[name] = strings.TrimSpace(sum)
		}
	}
	return all
}

func writeDigests(t *testing.T, all map[string]string) {
	t.Helper()
	text := digestsHead
	for _, s := range pictureSets {
		for _, name := range append([]string{s.name}, s.files...) {
			text += fmt.Sprintf("%-20s %s\n", name, all[name])
		}
	}
	if err := os.WriteFile(digestsFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
