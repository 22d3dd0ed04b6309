package reports

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/features/verdict"
	"parley/reports/lang"
)

// recorded gives every scenario a recording, and returns the page's reader of them.
func recorded(r *Results, text func(i int) string) PageOptions {
	files := map[string][]byte{}
	for i := range r.Runs[0].Scenarios {
		s := &r.Runs[0].Scenarios[i]
		path := fmt.Sprintf("transcripts/%s-%d.jsonl", s.Driver, i)
		files[path] = []byte(text(i))
		sum := sha256.Sum256(files[path])
		s.Recording = &Transcript{Path: path, SHA256: hex.EncodeToString(sum[:])}
	}
	return PageOptions{Read: func(path string) ([]byte, error) {
		if b, ok := files[path]; ok {
			return b, nil
		}
		return nil, fs.ErrNotExist
	}}
}

func pageWith(t *testing.T, r *Results, o PageOptions) *html.Node {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTMLWith(&b, r, o); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// unpacked returns the recordings of the packs of a page.
func unpacked(t *testing.T, doc *html.Node) (out [][]string) {
	t.Helper()
	for _, e := range elements(doc, "script") {
		if attr(e, "type") != "text/plain" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(text(e))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Split(string(b), "\n\n"))
	}
	return out
}

// TestHTMLPacksRecordings: the page has the recording of every scenario, and each scenario finds its own.
func TestHTMLPacksRecordings(t *testing.T) {
	r := thousand(250)
	o := recorded(r, func(i int) string {
		return fmt.Sprintf("{\"parley\":\"recording\"}\n{\"n\":1,\"text\":\"%d\"}\n", i)
	})
	doc := pageWith(t, r, o)
	packs := unpacked(t, doc)
	if len(packs) != 3 {
		t.Fatalf("%d packs", len(packs))
	}
	n := 0
	for _, e := range elements(doc, "details") {
		if attr(e, "data-pack") == "" {
			continue
		}
		n++
		var pack, index, i int
		_, err := fmt.Sscan(attr(e, "data-pack")+" "+attr(e, "data-index"), &pack, &index)
		if err != nil {
			t.Fatal(err)
		}
		s := r.Runs[0].Scenarios
		for i = 0; i < len(s) && anchor("r1", s[i].ID, s[i].Driver) != attr(e, "id"); i++ {
		}
		if want := fmt.Sprintf(`"text":"%d"`, i); !strings.Contains(packs[pack][index], want) {
			t.Errorf("%s finds %s, want %s", attr(e, "id"), packs[pack][index], want)
		}
	}
	if n != 250 {
		t.Errorf("%d scenarios have a recording", n)
	}
	if n := len(unpacked(t, parseHTML(t, r))); n != 0 {
		t.Errorf("without a folder the page has %d packs", n)
	}
}

// TestHTMLRefusesRecordings: what is missing, was altered, is outside of the folder or too long is not in the page.
func TestHTMLRefusesRecordings(t *testing.T) {
	for _, c := range []struct {
		reason string
		alter  func(*Scenario)
		want   string
	}{
		{"missing", func(s *Scenario) { s.Recording.Path = "transcripts/none.jsonl" }, "is not in the results folder"},
		{"altered", func(s *Scenario) { s.Recording.SHA256 = strings.Repeat("0", 64) }, "was altered after the run"},
		{"elsewhere", func(s *Scenario) { s.Recording.Path = "../x.jsonl" }, ""},
		{"none", func(s *Scenario) { s.Recording = nil }, ""},
	} {
		r := sample()
		o := recorded(r, func(int) string { return "{\"n\":1}\n" })
		c.alter(&r.Runs[0].Scenarios[0])
		doc := pageWith(t, r, o)
		all, in := len(r.Runs[0].Scenarios), len(unpacked(t, doc)[0])
		if in != all-1 || !strings.Contains(text(doc), c.want) {
			t.Errorf("%s: %d of %d recordings, want %q", c.reason, in, all, c.want)
		}
	}
	r := sample()
	o := recorded(r, func(int) string { return strings.Repeat("x", maxPacked+1) })
	doc := pageWith(t, r, o)
	if len(unpacked(t, doc)) != 0 || !strings.Contains(text(doc), "its recording has 1048577 bytes") {
		t.Error("a recording that is too long is in the page")
	}
	o.Read = func(string) ([]byte, error) { return nil, errors.New("broken") }
	if doc := pageWith(t, r, o); len(unpacked(t, doc)) != 0 {
		t.Error("a recording that cannot be read is in the page")
	}
}

// TestHTMLMissed: a scenario knows what it awaited in vain, and where it broke a clause, however hostile the texts are.
func TestHTMLMissed(t *testing.T) {
	r := sample()
	o := recorded(r, func(int) string { return "{\"n\":1}\n" })
	s := &r.Runs[0].Scenarios[8]
	s.Failures[0].Missed, s.Failures[0].Expected = true, `"agent_switched" `+nasty
	r.Runs[0].Scenarios[1].Failures[0].At = "client A, record 5, +2.0 ms"
	var missed, broke string
	for _, e := range elements(pageWith(t, r, o), "details") {
		missed, broke = missed+attr(e, "data-missed"), broke+attr(e, "data-broke")
	}
	if !strings.HasPrefix(missed, `[{"at":9,"text":"\"agent_switched\" \u003cscript\u003e`) {
		t.Errorf("missed is %s", missed)
	}
	if !strings.Contains(broke, `{"at":5,"clause":"AS-024"}`) || strings.Contains(broke, "AS-085") {
		t.Errorf("broke is %s", broke)
	}
}

// TestHTMLOncePerDriver: a failure alike over two drivers is shown once with links to both, another one apart.
func TestHTMLOncePerDriver(t *testing.T) {
	of := func(driver, observed string) hit {
		s := scenario("2.1-01", "one", verdict.Failed, "AS-085")
		s.Driver = driver
		return hit{&s, Failure{Clause: "AS-085", Expected: "an error", Observed: observed}}
	}
	got := oncePerDriver([]hit{of("sse", "ok  +1.5 ms, record 8"), of("ws", "ok  +22.5 ms, record 12"),
		of("stdio", "nothing"), of("sse", "ok  +9 ms, record 20")})
	var shown []string
	for _, h := range got {
		line := h.Scenario.Driver
		for _, s := range h.Also {
			line += "+" + s.Driver
		}
		shown = append(shown, line)
	}
	if strings.Join(shown, " ") != "sse+ws stdio sse" || restOf(got[1:], lang.English) != "2 failures" ||
		restOf(got, lang.English) != "4 failures" {
		t.Errorf("shown: %v; %s, %s", shown, restOf(got[1:], lang.English), restOf(got, lang.English))
	}
}

// TestHTMLIsSmall: the page of 1,000 scenarios with their recordings is smaller than 3 MB.
func TestHTMLIsSmall(t *testing.T) {
	r := thousand(1000)
	random := rand.New(rand.NewPCG(1, 2))
	o := recorded(r, func(i int) string {
		var b strings.Builder
		for n := range 20 {
			fmt.Fprintf(&b, `{"n":%d,"at_ms":%.3f,"party":"A","dir":"received","kind":"frame","label":"chunk","type":"text",`+
				`"text":"{\"type\":\"chunk\",\"sessionId\":\"sess_%016x\",\"content\":\"a word of %d\",`+
				`\"timestamp\":\"2026-11-24T17:30:%02d.%03dZ\"}","event":"chunk"}`+"\n", n+1, random.Float64()*100,
				random.Uint64(), i, random.IntN(60), random.IntN(1000))
		}
		return b.String()
	})
	var n counted
	if err := WriteHTMLWith(&n, r, o); err != nil {
		t.Fatal(err)
	}
	if n > 3_000_000 {
		t.Errorf("the page has %d bytes", n)
	}
	t.Logf("%d bytes", n)
}
