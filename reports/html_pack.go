package reports

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"regexp"
	"strconv"

	"parley/reports/lang"
)

// PageOptions shape the page.
type PageOptions struct {
	// Read returns a file of the results folder by its path there. With it the recordings of all scenarios are in the
	// page, compressed, and drawn when a scenario is opened. Nil: the page links to the files.
	Read func(path string) ([]byte, error)
	Lang lang.Lang
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

// add packs the recording of a scenario, and checks that it is the one that the results name.
func (p *packer) add(s *Scenario) packed {
	if p == nil || p.read == nil || s.Recording == nil || !linked(s.Recording.Path) {
		return packed{}
	}
	text, err := p.read(s.Recording.Path)
	sum := sha256.Sum256(text)
	switch {
	case err != nil:
		return packed{Why: p.lang.Say("its recording is not in the results folder")}
	case hex.EncodeToString(sum[:]) != s.Recording.SHA256:
		return packed{Why: p.lang.Say("its recording was altered after the run: its digest is another")}
	case len(text) > maxPacked:
		return packed{Why: p.lang.Say("its recording has %d bytes: see %s", len(text), s.Recording.Path)}
	}
	if p.n == packScenarios || p.n > 0 && p.open.Len()+len(text) > packBytes {
		p.close()
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

// close ends a pack.
func (p *packer) close() {
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

// missedBy returns, as JSON, what a scenario awaited in vain; "" for nothing.
func missedBy(s Scenario) string {
	var out []missed
	seen := map[missed]bool{}
	for _, f := range s.Failures {
		m := missed{recordIn(f.At), shortened(oneLine(f.Expected), 200)}
		if f.Missed && !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return jsonText(out, len(out))
}

// foundBy returns, as JSON, the records at which a scenario broke clauses; "" for none.
func foundBy(s Scenario) string {
	var out []found
	for _, f := range s.Failures {
		if n := recordIn(f.At); n > 0 && !f.Missed {
			out = append(out, found{n, f.Clause})
		}
	}
	return jsonText(out, len(out))
}

func jsonText(v any, n int) string {
	if n == 0 {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
