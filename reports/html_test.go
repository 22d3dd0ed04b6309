package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/features/verdict"
)

func htmlText(t *testing.T, r *Results) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parseHTML(t *testing.T, r *Results) *html.Node {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(htmlText(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// elements returns the descendants of a node with a name.
func elements(n *html.Node, name string) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (name == "" || d.Data == name) {
			out = append(out, d)
		}
	}
	return out
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func TestHTMLGolden(t *testing.T) { golden(t, "report.golden.html", htmlText(t, sample())) }

// hostilePaths lead away from the evidence folder in one or another browser.
var hostilePaths = []string{"javascript:alert(1)", "https://example.org/x.png", "//example.org/x.png",
	`\\example.org\x.png`, "file://example.org/x.png",
	"data:image/svg+xml,<svg onload=alert(1)>", "/etc/x.png", "../x.png", "evidence/../../x.png", "evidence/..",
	"evidence//example.org/x.png", nasty, ""}

// hostile is sample with a nasty text in every text field.
func hostile() *Results {
	r := sample()
	hostileRun := &r.Runs[0]
	hostileRun.Protocol, hostileRun.Role, hostileRun.Environment = nasty, nasty, nasty
	hostileRun.Target = Target{Name: nasty, URL: "javascript:alert(1)",
		Drivers: []string{nasty, `"><img src=x onerror=alert(1)>`}, Capabilities: []string{nasty}, Profile: nasty}
	for i := range hostileRun.Clauses {
		c := &hostileRun.Clauses[i]
		c.ID, c.Section, c.Text, c.Reason = nasty+strconv.Itoa(i), nasty, nasty, nasty
		c.Scenarios, c.Monitors = []string{nasty}, []string{nasty}
		c.ByDriver = map[string]verdict.Outcome{nasty: verdict.Outcome(`x" onclick="alert(1)`)}
	}
	for i := range hostileRun.Scenarios {
		s := &hostileRun.Scenarios[i]
		s.Name, s.Feature, s.Rule, s.Location, s.Driver, s.Reason, s.Notes = nasty, nasty, nasty, nasty, nasty, nasty,
			[]string{nasty}
		s.Transcript = &Transcript{Path: "javascript:alert(1)", SHA256: nasty}
		s.Evidence = nil
		for _, path := range hostilePaths {
			s.Evidence = append(s.Evidence, Evidence{Name: nasty, Type: "image/" + nasty, Path: path, SHA256: nasty},
				Evidence{Name: `"><img src=x onerror=alert(1)>`, Type: "text/html", Path: path, SHA256: nasty})
		}
		s.Steps = []Step{{Keyword: nasty, Text: nasty, Status: nasty, Error: nasty}}
		s.Clauses = []verdict.Judgement{{Clause: nasty, Outcome: verdict.Failed, Reason: `" onmouseover="alert(1)`}}
		for j := range s.Failures {
			s.Failures[j] = Failure{Clause: nasty, Level: verdict.Must, Text: nasty, Section: nasty, Expected: nasty,
				Observed: nasty,
				Diff:     nasty, At: nasty, Monitor: nasty, Excerpt: []string{nasty}, Again: nasty,
				Following: []Following{{Clause: nasty, Expected: nasty, Observed: nasty, At: nasty, Monitor: nasty}}}
		}
	}
	r.Suite, r.Selection = Suite{Version: nasty, Digest: nasty}, nasty
	return r
}

// TestHTMLEscapesTheWire: whatever a target sends, the page has only its own script and elements, and shows the text
// as text.
func TestHTMLEscapesTheWire(t *testing.T) {
	ours := strings.Fields("html head meta title style body header div p h1 span ul li dl dt dd main section h2 nav " +
		"a b h3 h4 pre " +
		"table thead tbody tr th td svg rect text path g article details summary form label select option input output ol " +
		"code script img i")
	for name, r := range map[string]*Results{"sample": sample(), "hostile": hostile()} {
		doc := parseHTML(t, r)
		for _, e := range elements(doc, "") {
			if !slices.Contains(ours, e.Data) {
				t.Errorf("%s: a <%s> that is not ours", name, e.Data)
			}
			for _, a := range e.Attr {
				shows := e.Data == "img" && a.Key == "src" && strings.HasPrefix(a.Val, "evidence/sse-")
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && !shows || a.Key == "srcset" {
					t.Errorf("%s: <%s> has %s=%q", name, e.Data, a.Key, a.Val)
				}
				if a.Key == "href" && strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("%s: a link to %q", name, a.Val)
				}
			}
		}
		if n := len(elements(doc, "script")); n != 1 {
			t.Errorf("%s: %d scripts, want ours alone", name, n)
		}
		if !strings.Contains(text(doc), shown) {
			t.Errorf("%s: the nasty text is not shown whole", name)
		}
		if regexp.MustCompile("[\x00-\x08\x0b-\x1f\u202e\ufffd]").MatchString(text(doc)) {
			t.Errorf("%s: a raw control character", name)
		}
	}
}

// TestHTMLPolicy: the page allows its own style and script by their digests, loads nothing from outside, and nothing
// else may run.
func TestHTMLPolicy(t *testing.T) {
	doc := parseHTML(t, sample())
	policy := ""
	for _, m := range elements(doc, "meta") {
		if attr(m, "http-equiv") == "Content-Security-Policy" {
			policy = attr(m, "content")
		}
	}
	style, script := text(elements(doc, "style")[0]), text(elements(doc, "script")[0])
	for _, want := range []string{"default-src 'none'", "img-src 'self' file:", "style-src '" + digestSource(style) + "'",
		"script-src '" + digestSource(script) + "'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is weak: %s", policy)
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style asks for something from outside")
	}
}

// TestHTMLLinks: ids are unique, and every link within the page has a target.
func TestHTMLLinks(t *testing.T) {
	doc := parseHTML(t, sample())
	ids := map[string]int{}
	for _, e := range elements(doc, "") {
		if id := attr(e, "id"); id != "" {
			ids[id]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s occurs %d times", id, n)
		}
	}
	for _, a := range elements(doc, "a") {
		to, inside := strings.CutPrefix(attr(a, "href"), "#")
		if inside && ids[to] == 0 {
			t.Errorf("the link %q leads to no %s", text(a), to)
		}
	}
}

// TestHTMLEvidence: a picture is next to the failure, the error and the scenario, opens when clicked, and has an
// alternative text; the page's DOM is a link.
func TestHTMLEvidence(t *testing.T) {
	doc := parseHTML(t, sample())
	shown := map[string]int{}
	for _, img := range elements(doc, "img") {
		src := attr(img, "src")
		shown[src]++
		if a := img.Parent; a.Data != "a" || attr(a, "href") != src {
			t.Errorf("%s does not open when it is clicked", src)
		}
		if alt := attr(img, "alt"); !strings.HasPrefix(alt, "page-A.png: ") || !strings.HasSuffix(alt, ", driver sse") {
			t.Errorf("%s says %q where it is not seen", src, alt)
		}
	}
	links := map[string]int{}
	for _, a := range elements(doc, "a") {
		if to := attr(a, "href"); text(a) == to {
			links[to]++
		}
	}
	for id, want := range map[string]int{"3.2-01": 1, "4.3-03": 2, "4.2-01": 2, "2.1-01": 0} { // in failures and scenarios
		picture, dom := "evidence/sse-AS-"+id+"-page-A.png", "evidence/sse-AS-"+id+"-page-A.html"
		if shown[picture] != want || links[picture] != want || links[dom] != want || shown[dom] != 0 {
			t.Errorf("%s: the picture is shown %d times and linked %d times, the page linked %d times, want %d", id,
				shown[picture], links[picture], links[dom], want)
		}
	}
}

// TestHTMLShowsOnlyWhatLiesBeside: foreign results cannot make the page load anything else.
func TestHTMLShowsOnlyWhatLiesBeside(t *testing.T) {
	for _, path := range hostilePaths {
		if isPictured(Evidence{Type: "image/png", Path: path}) {
			t.Errorf("%q is shown", path)
		}
	}
	for _, e := range []Evidence{{Type: "text/html", Path: "evidence/page-A.html"},
		{Type: "", Path: "evidence/page-A.png"}} {
		if isPictured(e) {
			t.Errorf("%+v is shown as a picture", e)
		}
	}
	if !isPictured(Evidence{Type: "image/png", Path: "evidence/browser-client-AC-3.1-01-page-A.png"}) {
		t.Error("a picture is not shown")
	}
}

// TestHTMLPicture: each clause has one square, which its mark and its words identify without colour.
func TestHTMLPicture(t *testing.T) {
	r := sample()
	squares := map[string]*html.Node{}
	for _, a := range elements(parseHTML(t, r), "a") {
		if strings.HasPrefix(attr(a, "class"), "sq ") {
			id, _, _ := strings.Cut(attr(a, "title"), " ")
			squares[id] = a
		}
	}
	marks := map[string]string{}
	for _, run := range r.Runs {
		for _, c := range run.Clauses {
			sq := squares[c.ID]
			if sq == nil {
				t.Errorf("no square for %s", c.ID)
				continue
			}
			look := shownLook(shownOutcome(c))
			if text(sq) != look.mark || !strings.Contains(attr(sq, "title"), look.word) ||
				!strings.Contains(attr(sq, "aria-label"), look.word) {
				t.Errorf("%s is shown as %q, %q", c.ID, text(sq), attr(sq, "title"))
			}
			if other, taken := marks[look.mark]; taken && other != look.word {
				t.Errorf("%s and %s share the mark %s", other, look.word, look.mark)
			}
			marks[look.mark] = look.word
		}
	}
	if len(marks) != len(verdict.Outcomes)+1 {
		t.Errorf("the sample shows %d looks, want every outcome and excluded", len(marks))
	}
}

// large returns a run of many scenarios, one in ten of them failing.
func large(n int) *Results {
	r := sample()
	run := &r.Runs[0]
	for i := len(run.Scenarios); i < n; i++ {
		s := run.Scenarios[0]
		if i%10 == 0 {
			s = run.Scenarios[8]
		}
		s.ID = fmt.Sprintf("9.%d-%02d", i/20, i%20)
		s.Feature = fmt.Sprintf("9.%d Many", i/20)
		run.Scenarios = append(run.Scenarios, s)
	}
	return r
}

func BenchmarkWriteHTML500(b *testing.B) {
	r := large(500)
	for b.Loop() {
		if err := WriteHTML(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHTMLLinksInside checks that files of a results file from anyone are linked only in the folders of the results:
// other paths are named.
func TestHTMLLinksInside(t *testing.T) {
	for path, want := range map[string]bool{
		"transcripts/ws-SC-0-01.txt": true, "evidence/browser-AC-3.1-01-page-A.html": true,
		"javascript:alert(1)": false, "https://example.org/x": false, "//example.org/transcripts/x": false,
		"../../etc/passwd": false, "transcripts/../../x": false, "/etc/passwd": false, "file:///etc/passwd": false,
		`transcripts\..\..\x`: false, "transcripts/a/../../../x": false, "transcripts/..": false, "data:text/html,x": false,
		"transcripts/x.txt?y=//example.org": false, "": false,
	} {
		r := sample()
		for i := range r.Runs[0].Scenarios {
			s := &r.Runs[0].Scenarios[i]
			s.Transcript = &Transcript{Path: path}
			s.Evidence = []Evidence{{Name: "page-A.html", Type: "text/html", Path: path}}
		}
		linked := 0
		for _, a := range elements(parseHTML(t, r), "a") {
			if to := attr(a, "href"); !strings.HasPrefix(to, "#") && to != "" {
				linked++
			}
		}
		if (linked > 0) != want {
			t.Errorf("%q: %d links, want links: %v", path, linked, want)
		}
		if !strings.Contains(text(parseHTML(t, r)), path) {
			t.Errorf("%q is not named", path)
		}
	}
}
