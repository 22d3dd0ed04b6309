package reports

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"parley/reports/lang"
)

//go:embed page
var pageFiles embed.FS

// The style and the script are inline; the page's policy allows only these two, by their digests.
var (
	pageStyle   = pageFile("page/report.css")
	pageScript  = pageFile("page/report.js")
	reportPages = pagesOf("report.gohtml")
)

// pagesOf returns a page in each language, which is parsed when it is first needed.
func pagesOf(name string) func(lang.Lang) *template.Template {
	parse := map[lang.Lang]func() *template.Template{}
	for _, l := range lang.All {
		parse[l] = sync.OnceValue(func() *template.Template {
			return template.Must(template.New(name).Funcs(pageFuncs(l)).ParseFS(pageFiles, "page/"+name, "page/frame.gohtml"))
		})
	}
	return func(l lang.Lang) *template.Template { return parse[cmp.Or(l, lang.English)]() }
}

// WriteHTML is WriteHTMLWith without options.
func WriteHTML(w io.Writer, r *Results) error { return WriteHTMLWith(w, r, PageOptions{}) }

// WriteHTMLWith writes r as one self-contained page that needs no network, no script (which filters, and draws
// recordings), and no colours (each outcome has its mark). Links to transcripts and pictures are relative to the
// results folder. Every text from a target is escaped, and a content security policy blocks whatever would get through.
func WriteHTMLWith(w io.Writer, r *Results, o PageOptions) error {
	return writePage(w, reportPages(o.Lang), newPage(localized(r, o.Lang), o))
}

// frame is what all pages share.
type frame struct {
	Title  string
	Policy string
	Style  template.CSS
	Script template.JS
}

func newFrame(title string) frame {
	return frame{title, pagePolicy(), template.CSS(pageStyle), template.JS(pageScript)}
}

// writePage writes a page whole, or nothing.
func writePage(w io.Writer, t *template.Template, data any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("write %s: %w", strings.TrimSuffix(t.Name(), ".gohtml")+".html", err)
	}
	_, err := w.Write(append(bytes.TrimSpace(b.Bytes()), '\n'))
	return err
}

// pagePolicy returns the content security policy of the page. The pictures are next to the page, on a server or in a
// folder; in some browsers 'self' does not include the latter.
func pagePolicy() string {
	return fmt.Sprintf("default-src 'none'; img-src 'self' file:; style-src '%s'; script-src '%s'; base-uri 'none'; "+
		"form-action 'none'",
		digestSource(pageStyle), digestSource(pageScript))
}

// digestSource returns the policy source for an inline style or script.
func digestSource(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func pageFile(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}
