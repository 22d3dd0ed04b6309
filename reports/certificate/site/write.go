package site

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
)

// mark is in the index of every site.
const mark = `<meta name="generator" content="parley site">`

// Build makes the site, and returns how many certificates are listed and which are not. The site replaces an earlier
// one at once; if it cannot be written, the earlier one stays.
func Build(o Options) (listed int, refused []Refused, err error) {
	if err := checkReplaceable(o.Out); err != nil {
		return 0, nil, err
	}
	in, err := os.OpenRoot(o.Dir)
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	list, refused, err := readCertificates(o, in, placeWithin(o.Dir, o.Out))
	if err != nil {
		return 0, refused, err
	}
	parent := filepath.Dir(filepath.Clean(o.Out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return 0, refused, err
	}
	temp, err := os.MkdirTemp(parent, ".site-")
	if err != nil {
		return 0, refused, err
	}
	defer os.RemoveAll(temp) // no effect after the rename
	err = errors.Join(os.Chmod(temp, 0o755), writeFiles(o, in, temp, list))
	if err != nil {
		return 0, refused, fmt.Errorf("write the site: %w", err)
	}
	return len(list), refused, replaceSite(temp, o.Out)
}

// placeWithin returns the place of a folder in another, with slashes; "" if it is not inside.
func placeWithin(dir, inner string) string {
	a, err := filepath.Abs(dir)
	b, err2 := filepath.Abs(inner)
	if err != nil || err2 != nil {
		return ""
	}
	rel, err := filepath.Rel(a, b)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// ForeignError says that a folder is not a site.
type ForeignError struct{ Dir string }

func (e *ForeignError) Error() string {
	return e.Dir + " is not an earlier site, and would be replaced"
}

// checkReplaceable checks that there is nothing in the place of the site but an earlier one.
func checkReplaceable(dir string) error {
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(found) == 0:
		return nil
	case err != nil:
		return err
	}
	head, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !bytes.Contains(head[:min(len(head), 1<<10)], []byte(mark)) {
		return &ForeignError{dir}
	}
	return nil
}

// replaceSite puts a finished site in its place.
func replaceSite(temp, dir string) error {
	old := temp + "-old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.RemoveAll(old)
}

// writeFiles writes all files of the site.
func writeFiles(o Options, in *os.Root, out string, list []*entry) error {
	for _, dir := range []string{"certificates", "badges", "evidence"} {
		if err := os.Mkdir(filepath.Join(out, dir), 0o755); err != nil {
			return err
		}
	}
	put := func(name string, body []byte) error {
		return os.WriteFile(filepath.Join(out, filepath.FromSlash(name)), body, 0o644)
	}
	for _, e := range list {
		links, err := e.writeEvidence(in, out, o.Lang)
		if err != nil {
			return err
		}
		page, err := e.HTML(certificate.Page{Now: o.Now, File: e.ID + ".json", Holder: e.Holder, Links: links,
			Texts: clauseTexts(o, e), Program: o.Program, Lang: o.Lang})
		if err != nil {
			return err
		}
		badge := e.Badge(o.Now)
		shield, err := badge.Shields()
		if err != nil {
			return err
		}
		err = errors.Join(put("certificates/"+e.ID+".json", e.Bytes), put("certificates/"+e.ID+".html", page),
			put("badges/"+e.ID+".svg", badge.SVG()), put("badges/"+e.ID+".json", shield))
		if err != nil {
			return err
		}
	}
	index, err := indexPage(o, list)
	if err != nil {
		return err
	}
	return put("index.html", index)
}

// clauseTexts are what the clauses say, if the suite is that of this program.
func clauseTexts(o Options, e *entry) map[string]string {
	if e.Predicate.Suite != o.Suite.Suite {
		return nil
	}
	known, err := o.Suite.Clauses(e.Predicate.Target.Protocol, e.Predicate.Target.Role)
	if err != nil {
		return nil
	}
	return certificate.Texts(known, o.Lang)
}

// shown matches the evidence that is copied: beside the report, and of a kind that a browser shows but does not run.
var shown = regexp.MustCompile(`\A(?:transcripts|evidence)/[A-Za-z0-9_][\w.-]*\.(?:txt|jsonl|png)\z`)

// writeEvidence writes the results, their report, and those of the files that are what was certified. It returns the
// links to them, relative to the page of the certificate.
func (e *entry) writeEvidence(in *os.Root, out string, l lang.Lang) ([]certificate.Link, error) {
	if e.results == nil {
		return nil, nil
	}
	dir := filepath.Join(out, "evidence", e.ID)
	for _, sub := range []string{"transcripts", "evidence"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	for _, f := range e.files {
		if !shown.MatchString(f.Path) || strings.Contains(f.Path, "..") {
			continue
		}
		body, err := readRegular(in, path.Join(e.folder, f.Path), certificate.MaxBytes<<4)
		if err != nil {
			continue // it was not given to the folder
		}
		if sum, err := certificate.DigestOf(bytes.NewReader(body)); err != nil || sum != f.SHA256 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(f.Path)), body, 0o644); err != nil {
			return nil, err
		}
	}
	var report bytes.Buffer
	if err := reports.WriteHTMLWith(&report, e.results, reports.PageOptions{Lang: l}); err != nil {
		return nil, err
	}
	err := errors.Join(os.WriteFile(filepath.Join(dir, "report.html"), report.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, certificate.ResultsName), e.raw, 0o644))
	base := "../evidence/" + e.ID + "/"
	return []certificate.Link{{Text: l.Say("report"), To: base + "report.html"}, {Text: certificate.ResultsName,
		To: base + certificate.ResultsName}}, err
}
