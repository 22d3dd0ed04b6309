package reports

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/reports/causes"
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
	return writePage(w, reportPages(o.Lang), newPage(makeLocalized(r, o.Lang), o))
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

// Measures of the picture of a course, in pixels.
const (
	cutRow   = 22
	cutTop   = 30
	cutLeft  = 70
	cutRight = 210
	cutLabel = 226
	cutHow   = 440
	cutChar  = 8.2 // width of a character, at most
)

// cutPicture is the sequence of a course's records, with what a cut after each brought about.
type cutPicture struct {
	Left, Right   int
	Width, Height int
	Life          int // length of the parties' lines
	Said          string
	Rows          []cutPictured
}

// cutPictured is a record in such a picture.
type cutPictured struct {
	N, Top, Base int
	LabelX, HowX int
	Class        string // "passed", "broke" or "unknown"
	Arrow        string // path data
	Label, Mark  string
}

// brokenCuts returns the courses of a run with points that broke, each to be pictured; nil if there are none.
func brokenCuts(run *Run) []*Cuts {
	var out []*Cuts
	for i := range run.Cuts {
		if len(run.Cuts[i].Broke) > 0 && len(run.Cuts[i].Records) > 0 {
			out = append(out, &run.Cuts[i])
		}
	}
	return out
}

// Picture lays the records of the course out for the page.
func (c *Cuts) Picture(l lang.Lang) cutPicture {
	p := cutPicture{Left: cutLeft, Right: cutRight, Life: cutRow*len(c.Records) + cutTop - 24,
		Height: cutRow*len(c.Records) + cutTop + 8}
	widest := 0
	for i := range c.Records {
		r := &c.Records[i]
		top := cutTop + i*cutRow
		row := cutPictured{N: i + 1, Top: top, Base: top + 15, LabelX: cutLabel, HowX: cutHow, Class: r.How, Label: r.Label,
			Mark: r.mark(l), Arrow: cutArrow(r.Sent, top+cutRow/2)}
		if r.How != CutPassed && r.How != CutBroke {
			row.Class = "unknown"
		}
		widest = max(widest, len([]rune(row.Mark)))
		p.Rows = append(p.Rows, row)
	}
	p.Width = cutHow + int(cutChar*float64(widest)) + 16
	p.Said = c.describePicture(l)
	return p
}

// cutArrow is the path of an arrow between the parties' lines.
func cutArrow(sent bool, y int) string {
	from, to, back := cutLeft+4, cutRight-4, -7
	if !sent {
		from, to, back = to, from, 7
	}
	return fmt.Sprintf("M%d %dH%dm%d -4L%d %dl%d 4", from, y, to, back, to, y, back)
}

// describePicture tells the picture in words, for those who do not see it.
func (c *Cuts) describePicture(l lang.Lang) string {
	parts := []string{l.Say("%d records in order", len(c.Records))}
	for i := range c.Records {
		if r := &c.Records[i]; r.How == CutBroke {
			parts = append(parts, l.Say("a cut after record %d, %s, breaks %s", i+1, r.Label,
				strings.Join(slices.Clone(r.Clauses), ", ")))
		}
	}
	return strings.Join(parts, l.Say("; "))
}

// shownHit is a failure with the scenarios that found the same over other drivers.
type shownHit struct {
	hit
	Also []*Scenario
}

// oncePerDriver merges the failures that a scenario has alike over several drivers: those of one kind, as causes are of
// one kind.
func oncePerDriver(hits []hit) []shownHit {
	var out []shownHit
	at := map[string]int{}
	for _, h := range hits {
		key := strings.Join([]string{h.Scenario.ID, h.Scenario.Name, causes.Kind(h.Failure.Expected),
			causes.Kind(h.Failure.Observed), h.Failure.Monitor}, "\x00")
		i, known := at[key]
		if known && out[i].Scenario.Driver != h.Scenario.Driver {
			out[i].Also = append(out[i].Also, h.Scenario)
			continue
		}
		if !known {
			at[key] = len(out)
		}
		out = append(out, shownHit{hit: h})
	}
	return out
}

// restOf counts the failures in a list that oncePerDriver has shortened.
func restOf(list []shownHit, l lang.Lang) string {
	n := 0
	for _, h := range list {
		n += h.timesFound() * (1 + len(h.Also))
	}
	return l.Count(n, "failure")
}

// PageOptions shape the page.
type PageOptions struct {
	// Read returns a file of the results folder by its path there. With it the recordings of all scenarios are in the
	// page, compressed, and drawn when a scenario is opened. Nil: the page links to the files.
	Read func(path string) ([]byte, error)
	Lang lang.Lang

	MaxRecording int // bytes of a recording in the page; a longer one stays in its file. 0: 1 MiB
}

// Recordings are packed together, which compresses much better than each alone, but not all in one, because opening a
// scenario unpacks its pack.
const (
	packScenarios = 100
	packBytes     = 4 << 20 // of text
	maxPacked     = 1 << 20 // a longer recording stays in its file
)

// packer packs recordings.
type packer struct {
	read  func(string) ([]byte, error)
	lang  lang.Lang
	most  int             // bytes of a recording
	packs []template.HTML // gzip, base64
	open  bytes.Buffer
	n     int // recordings in open
}

// packed says where the recording of a scenario is, or why it is not in the page.
type packed struct {
	Pack, Index int
	In          bool
	Why         string
}

// packRecording packs the recording of a scenario, and checks that it is the one that the results name.
func (p *packer) packRecording(s *Scenario) packed {
	if p == nil || p.read == nil || s.Recording == nil || !isLinked(s.Recording.Path) {
		return packed{}
	}
	text, err := p.read(s.Recording.Path)
	sum := sha256.Sum256(text)
	switch {
	case err != nil:
		return packed{Why: p.lang.Say("its recording is not in the results folder")}
	case hex.EncodeToString(sum[:]) != s.Recording.SHA256:
		return packed{Why: p.lang.Say("its recording was altered after the run: its digest is another")}
	case len(text) > p.most:
		return packed{Why: p.lang.Say("its recording has %d bytes: see %s", len(text), s.Recording.Path)}
	}
	if p.n == packScenarios || p.n > 0 && p.open.Len()+len(text) > packBytes {
		p.endPack()
	}
	at := packed{Pack: len(p.packs), Index: p.n, In: true}
	if p.n > 0 {
		p.open.WriteByte('\n') // an empty line ends a recording, and is in none
	}
	p.open.Write(bytes.TrimRight(text, "\n"))
	p.open.WriteByte('\n')
	p.n++
	return at
}

// endPack ends a pack.
func (p *packer) endPack() {
	if p == nil || p.n == 0 {
		return
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed+4)
	_, _ = z.Write(p.open.Bytes()) // a Buffer never fails
	_ = z.Close()
	p.packs = append(p.packs, template.HTML(base64.StdEncoding.EncodeToString(b.Bytes())))
	p.open.Reset()
	p.n = 0
}

// missed is what was awaited and never came, as the page draws it.
type missed struct {
	At   int    `json:"at"` // the record that ended the wait; 0 for none
	Text string `json:"text"`
}

// found is where a failure was found.
type found struct {
	At     int    `json:"at"`
	Clause string `json:"clause"`
}

var recordNumber = regexp.MustCompile(`\brecord ([0-9]+)`)

// recordIn returns the number of the record that the place of a failure names; 0 for none.
func recordIn(at string) int {
	m := recordNumber.FindStringSubmatch(at)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// Record returns the number of the record at which the failure was found; 0 for none.
func (f Failure) Record() int { return recordIn(f.At) }

// missedRecords returns, as JSON, what a scenario awaited in vain; "" for nothing.
func missedRecords(s Scenario, l lang.Lang) string {
	var out []missed
	seen := map[missed]bool{}
	for _, f := range s.Failures {
		m := missed{f.Record(), shortenText(l.Of(oneLine(f.Expected)), 200)}
		if f.Missed && !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return jsonText(out, len(out))
}

// brokenRecords returns, as JSON, the records at which a scenario broke clauses; "" for none.
func brokenRecords(s Scenario) string {
	var out []found
	for _, f := range s.Failures {
		if n := f.Record(); n > 0 && !f.Missed {
			out = append(out, found{n, f.Clause})
		}
	}
	return jsonText(out, len(out))
}

func jsonText(v any, n int) string {
	if n == 0 {
		return ""
	}
	b, err := json.Marshal(v, jsonform.Escaped)
	if err != nil {
		return ""
	}
	return string(b)
}
