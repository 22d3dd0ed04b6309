package target

import (
	"io"
	"os"
	"regexp"
	"sync"
	"time"

	"parley/internal/cut"
)

// keptOutput is how much of each output of a process is kept.
const keptOutput = 64 << 10

// output keeps the end of what a process writes, passes it on, and watches for a matching line.
type output struct {
	mu      sync.Mutex
	buf     []byte // a ring once it is full
	next    int    // the next write position once it is full
	total   int64  // bytes written so far
	writes  []write
	line    []byte // the unfinished line, while watch is set
	watch   *regexp.Regexp
	matched func()
	tee     io.Writer
}

// write says when a part of an output was read, and where it ends.
type write struct {
	at  time.Time
	end int64
}

// keptWrites bounds the writes that are kept; the older half is dropped.
const keptWrites = 4096

// expect calls matched once, at the next line that re matches; nil expects nothing.
func (o *output) expect(re *regexp.Regexp, matched func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watch, o.matched, o.line = re, matched, nil
}

// copyFrom reads until all writers have closed the other end, or until the read deadline.
func (o *output) copyFrom(r *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) write(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tee != nil {
		_, _ = o.tee.Write(p) // a writer that fails must not stop the target
	}
	o.keep(p)
	if o.total += int64(len(p)); len(p) > 0 {
		o.writes = append(o.writes[len(o.writes)/keptWrites*(keptWrites/2):], write{time.Now(), o.total})
	}
	if o.watch != nil {
		o.scan(p)
	}
}

func (o *output) keep(p []byte) {
	p = p[max(0, len(p)-keptOutput):]
	room := min(len(p), keptOutput-len(o.buf))
	o.buf = append(o.buf, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		n := copy(o.buf[o.next:], p)
		o.next, p = (o.next+n)%keptOutput, p[n:]
	}
}

// scan checks each line when it ends, and the unfinished last one: some programs end without a line break.
func (o *output) scan(p []byte) {
	for _, b := range p {
		if b != '\n' {
			if len(o.line) < keptOutput {
				o.line = append(o.line, b)
			}
			continue
		}
		if o.found() {
			return
		}
		o.line = o.line[:0]
	}
	o.found()
}

func (o *output) found() bool {
	if !o.watch.Match(o.line) {
		return false
	}
	o.watch, o.line = nil, nil
	o.matched()
	return true
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) { o.write(p); return len(p), nil }

// String returns what was kept, oldest first.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text()
}

func (o *output) text() string {
	text := string(o.buf[o.next:]) + string(o.buf[:o.next])
	if len(text) == keptOutput { // earlier output is lost
		return cut.Whole(text)
	}
	return text
}

// between returns what was read from one time to another, as far as it is kept.
func (o *output) between(from, to time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text()
	kept := o.total - int64(len(text)) // what came before is lost
	begin, end := kept, kept
	for _, w := range o.writes {
		if w.at.Before(from) {
			begin = max(begin, w.end)
		}
		if !w.at.After(to) {
			end = max(end, w.end)
		}
	}
	if begin >= end {
		return ""
	}
	return text[begin-kept : end-kept]
}

// tees writes to each writer and ignores their errors.
type tees []io.Writer

func (t tees) Write(p []byte) (int, error) {
	for _, w := range t {
		_, _ = w.Write(p)
	}
	return len(p), nil
}

// lockedWriter lets several outputs share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
