package certificate

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/lang"
	"parley/transport/transcript"
)

// Style is the style sheet of the pages of certificates.
//
//go:embed page/page.css
var Style string

//go:embed page/page.gohtml
var pageText string

// pageIn returns the template of the page in a language.
func pageIn(l lang.Lang) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"safe": transcript.Printable,
		"join": func(texts []string) string { return transcript.Printable(strings.Join(texts, l.Say(", "))) },
		"t":    l.Say,
		"of":   l.Of,
		"tag":  l.Tag,
		"word": func(o verdict.Outcome) string { return l.Say(string(o)) },
	}).Parse(pageText))
}

// Mark is in the first 1 KiB of every page that WritePage writes.
const Mark = `<meta name="generator" content="parley certify">`

// Page says what the human form of a certificate contains besides it.
type Page struct {
	Now     time.Time
	File    string            // the certificate, relative to the page
	Texts   map[string]string // clause → what it says; may be nil
	Holder  string            // of the key, if known
	Links   []Link            // to evidence
	Program string            // its name, for the commands
	Lang    lang.Lang
}

// Link is a link to a file beside the page.
type Link struct{ Text, To string }

// Texts returns what clauses say, by id: in the words of the source document if they are in the language.
func Texts(clauses []reports.Clause, l lang.Lang) map[string]string {
	out := map[string]string{}
	for _, c := range clauses {
		if out[c.ID] = c.Text; l == lang.Chinese && l.Native(c.Source) {
			out[c.ID] = c.Source
		}
	}
	return out
}

// HTML returns the human form of a certificate: one page without script or anything from elsewhere. Every text is
// escaped, and a content security policy blocks what would get through.
func (c *Certificate) HTML(p Page) ([]byte, error) {
	var b bytes.Buffer
	err := pageIn(p.Lang).Execute(&b, struct {
		Page
		*Certificate
		Policy  template.HTMLAttr
		Style   template.CSS
		Badge   template.HTML
		Mark    template.HTML
		Expired bool
		Counts  Counts
	}{p, c, policy(Style, ""), template.CSS(Style), template.HTML(c.Badge(p.Now).SVG()), template.HTML(Mark),
		c.Predicate.Expired(p.Now), c.Predicate.Count()})
	if err != nil {
		return nil, fmt.Errorf("write the page of the certificate: %w", err)
	}
	return b.Bytes(), nil
}

// policy returns the content security policy of a page with an inline style and script.
func policy(style, script string) template.HTMLAttr {
	return template.HTMLAttr(`content="` + Policy(style, script) + `"`)
}

// Policy returns a content security policy that allows an inline style and script, and pictures beside the page.
func Policy(style, script string) string {
	source := func(text string) string {
		if text == "" {
			return "'none'"
		}
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; img-src 'self' file:; style-src %s; script-src %s; base-uri 'none'; "+
		"form-action 'none'", source(style), source(script))
}
