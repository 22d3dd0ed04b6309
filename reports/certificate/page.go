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
	"unicode/utf8"

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

// Texts returns what clauses say in a language, by id.
func Texts(clauses []reports.Clause, l lang.Lang) map[string]string {
	out := map[string]string{}
	for _, c := range clauses {
		out[c.ID] = c.TextIn(l)
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

// Counts of the clauses of a certificate.
type Counts struct {
	Passed, Warned, NotApplicable, NotTested, Outside int
}

// Count counts the clauses by outcome.
func (p *Predicate) Count() (n Counts) {
	for _, c := range p.Clauses {
		switch {
		case c.Outside:
			n.Outside++
		case c.Outcome == verdict.Passed:
			n.Passed++
		case c.Outcome == verdict.Warned:
			n.Warned++
		case c.Outcome == verdict.NotApplicable:
			n.NotApplicable++
		case c.Outcome == verdict.NotTested:
			n.NotTested++
		}
	}
	return n
}

// Claims says in sentences of a language what a certificate claims.
func (c *Certificate) Claims(l lang.Lang) []string {
	p, t := &c.Predicate, c.Predicate.Target
	n := p.Count()
	say := transcript.Printable
	strict := ""
	if p.Run.Strict {
		strict = l.Say(", strictly")
	}
	out := []string{
		l.Say("On %s the suite %s judged %s as a target of %s in the role %s over %s%s, and found it conformant.",
			p.Run.Started.Format("2006-01-02"), say(p.Suite.Version), say(t.Title()), say(t.Protocol), say(t.Role),
			say(strings.Join(t.Drivers, l.Say(", "))), strict),
		describeDeclared(t, l),
		l.Say("%s passed in %s.", l.Count(n.Passed, "clause"), l.Count(p.Scenarios.Total, "scenario")),
	}
	if list := p.clauseList(verdict.Warned, l); n.Warned == 1 {
		out = append(out, l.Say("1 clause was broken that only should hold: %s.", list))
	} else if n.Warned > 1 {
		out = append(out, l.Say("%d clauses were broken that only should hold: %s.", n.Warned, list))
	}
	if a := c.Artifact(); a != nil {
		out = append(out, l.Say("The holder of the key says that the target was built from, or is, %s with the SHA-256 %s.",
			say(a.Name), a.Digest.SHA256))
	}
	if k := p.Kills; k != nil {
		out = append(out, l.Say("The suite is proved for this role by %d targets with a known fault each, of which it "+
			"detects %d; they prove %s.", k.Mutants, k.Killed, l.Count(k.Proved, "clause")))
	}
	return out
}

func describeDeclared(t Target, l lang.Lang) string {
	if len(t.Capabilities) == 0 {
		return l.Say("It declares no capability.")
	}
	return l.Say("It declares the capabilities %s.", transcript.Printable(strings.Join(t.Capabilities, l.Say(", "))))
}

// NotClaimed says in sentences of a language what a certificate does not claim. Holder is the known holder of the key,
// or "".
func (c *Certificate) NotClaimed(l lang.Lang, holder string) []string {
	p, t := &c.Predicate, c.Predicate.Target
	n := p.Count()
	var out []string
	if holder == "" {
		out = append(out, l.Say("Who holds the key: compare its id with one that the holder has published."))
	}
	out = append(out,
		l.Say("That anybody else watched the run: the holder of the key ran it. parley verify --target repeats it."))
	for _, r := range p.reasonsOf(verdict.NotApplicable, l) {
		out = append(out, l.Say("Anything about %s, which did not apply: %s.", r.clauses, r.why))
	}
	for _, r := range p.reasonsOf(verdict.NotTested, l) {
		out = append(out, l.Say("Anything about %s, which does not bind and was not tested: %s.", r.clauses, r.why))
	}
	if n.Outside > 0 {
		out = append(out, l.Say("Anything about %s that no suite can test, or that bind other roles.",
			l.Count(n.Outside, "clause")))
	}
	switch {
	case t.Version == "" && c.Artifact() == nil:
		out = append(out, l.Say(
			"Which version of the target was judged: the certificate names neither a version nor an artifact."))
	case c.Artifact() == nil:
		out = append(out, l.Say("Which build it was: the version is a word of the holder, and no artifact is named."))
	}
	if t.Origin == reports.FromProfile {
		out = append(out, l.Say("Anything about another configuration than that of the profile with the digest %s.",
			t.ProfileDigest))
	}
	if p.Kills == nil {
		out = append(out, l.Say("That the suite detects faults: it has no kill matrix."))
	} else if len(p.Kills.Unproved) > 0 {
		out = append(out, l.Say("That the suite detects a broken %s: no known fault proves that.",
			strings.Join(p.Kills.Unproved, l.Say(", "))))
	}
	return append(out,
		l.Say("That the target has no fault, is secure, fast, or holds under load: a finite number of scenarios ran."),
		l.Say("Anything after %s.", p.Expires))
}

// reason is why clauses have an outcome, in words for people.
type reason struct{ clauses, why string }

// reasonsOf groups the judged clauses with an outcome by the reason for it, in the order of the clauses.
func (p *Predicate) reasonsOf(o verdict.Outcome, l lang.Lang) (out []reason) {
	at := map[string]int{}
	var ids [][]string
	var why []string
	for _, c := range p.Clauses {
		if c.Outcome != o || c.Outside {
			continue
		}
		i, ok := at[c.Reason]
		if !ok {
			i = len(ids)
			at[c.Reason] = i
			ids, why = append(ids, nil), append(why, c.Reason)
		}
		ids[i] = append(ids[i], c.ID)
	}
	for i := range ids {
		out = append(out, reason{strings.Join(ids[i], l.Say(", ")), transcript.Printable(l.Of(why[i]))})
	}
	return out
}

// clauseList names the judged clauses with an outcome.
func (p *Predicate) clauseList(o verdict.Outcome, l lang.Lang) string {
	var ids []string
	for _, c := range p.Clauses {
		if c.Outcome == o && !c.Outside {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, l.Say(", "))
}

// Badge returns a badge for the certificate: what it certifies, or that it has expired.
func (c *Certificate) Badge(now time.Time) reports.Badge {
	b := reports.Badge{Message: "conformant · ", Colour: reports.Green}
	if c.Predicate.Expired(now) {
		b = reports.Badge{Message: "expired · ", Colour: reports.Grey}
	}
	b.Message += transcript.Printable(c.Predicate.Target.Protocol)
	if utf8.RuneCountInString(b.Message) > maxBadge {
		b.Message = string([]rune(b.Message)[:maxBadge]) + "…"
	}
	return b
}

// maxBadge bounds the text of a badge, in characters.
const maxBadge = 60
