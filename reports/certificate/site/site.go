// Package site makes a static site from a folder of certificates: a matrix of implementations and protocols, the
// clauses of each, badges and evidence. It needs no server. Whoever wrote the certificates, nothing in them becomes
// markup, a script or a path: texts are escaped, names of files are made from digests, and only evidence whose digest
// is certified and whose kind cannot run is copied.
package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
)

// Options say what a site is made of.
type Options struct {
	Dir     string // with the certificates, at any depth
	Out     string // the folder of the site; one in Dir is not searched. Build replaces it if it is a site
	Suite   certificate.Suite
	Keys    []certificate.Holder // whose certificates are listed; none: all
	Now     time.Time
	Program string // its name, for the commands
	Lang    lang.Lang
}

// Refused is a certificate that is not listed.
type Refused struct {
	Path string // relative to Dir
	Why  string
}

// entry is a listed certificate.
type entry struct {
	*certificate.Certificate
	ID      string // of its files
	Holder  string // "" if no keys were given
	Expired bool
	results *reports.Results // nil without evidence
	files   []certificate.File
	raw     []byte // results.json
	folder  string // of the results, relative to Dir
}

// maxEntries bounds the number of certificates of a site.
const maxEntries = 10_000

// maxResults bounds a results.json that is evidence.
const maxResults = 256 << 20

// readCertificates reads the certificates of a folder. Files that are no certificates are ignored.
func readCertificates(o Options, root *os.Root, skip string) (list []*entry, refused []Refused, err error) {
	seen := map[string]bool{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name == skip:
			return fs.SkipDir
		case !d.Type().IsRegular() || path.Ext(name) != ".json":
			return nil
		}
		body, err := readRegular(root, name, certificate.MaxBytes)
		if errors.Is(err, errTooLong) {
			return nil // such as results
		}
		if err != nil || !bytes.Contains(body, []byte(`"payloadType"`)) {
			return err
		}
		e, why := openCertificate(o, root, name, body)
		switch {
		case why != "":
			refused = append(refused, Refused{name, why})
		case !seen[e.ID]:
			seen[e.ID] = true
			list = append(list, e)
		}
		if len(list) > maxEntries {
			return fmt.Errorf("there are more than %d certificates", maxEntries)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b *entry) int {
		x, y := a.Predicate.Target, b.Predicate.Target
		return cmp.Or(cmp.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(y.Version, x.Version), cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.Role, y.Role),
			cmp.Compare(a.ID, b.ID))
	})
	return list, refused, err
}

// openCertificate reads and verifies one certificate, with the results beside it if they are the certified ones; why
// says why it is not listed.
func openCertificate(o Options, root *os.Root, name string, body []byte) (e *entry, why string) {
	c, err := certificate.Open(body)
	if err != nil {
		return nil, err.Error()
	}
	checks := certificate.Verify(c, o.Suite, certificate.Facts{Now: o.Now, Keys: o.Keys, Lang: o.Lang})
	for _, check := range checks {
		if check.State == certificate.Bad && (check.Name != certificate.OfExpiry || !c.Predicate.Expired(o.Now)) {
			return nil, o.Lang.Say("%s: %s", o.Lang.Say(check.Name), check.Text)
		}
	}
	e = &entry{Certificate: c, ID: idOf(c), Expired: c.Predicate.Expired(o.Now), folder: path.Dir(name)}
	e.Holder = certificate.HolderOf(c, o.Keys)
	e.findEvidence(root)
	return e, ""
}

// idOf names the files of a certificate: readable, and unlike those of any other.
func idOf(c *certificate.Certificate) string {
	t := c.Predicate.Target
	return slug(t.Name+"-"+t.Protocol+"-"+t.Role) + "-" + c.ID()[:16]
}

// slug makes a part of a file name from any text.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "target"
}

// findEvidence reads results.json beside the certificate, if it is the one that was certified.
func (e *entry) findEvidence(root *os.Root) {
	raw, err := readRegular(root, path.Join(e.folder, certificate.ResultsName), maxResults)
	if err != nil {
		return
	}
	sum, err := certificate.DigestOf(bytes.NewReader(raw))
	if err != nil || sum != e.Subject[0].Digest.SHA256 {
		return
	}
	r, err := reports.ReadJSON(bytes.NewReader(raw))
	if err != nil {
		return
	}
	files := certificate.Files(r)
	if t, err := certificate.Root(files); err != nil || t != e.Predicate.Transcripts {
		return
	}
	e.results, e.raw, e.files = r, raw, files
}

var errTooLong = errors.New("the file is too long")

// readRegular returns a regular file below a folder.
func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, errTooLong
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = errTooLong
	}
	return body, err
}
