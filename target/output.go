package target

import (
	"io"
	"os"
	"regexp"
	"sync"

	"parley/internal/cut"
)

// keptOutput is how much of each of a process's outputs is kept.
const keptOutput = 64 << 10

// output keeps the end of what a process writes, hands it on, and watches for a line.
type output struct {
	mu      sync.Mutex
	buf     []byte // a ring once it is full
	next    int    // where the next byte goes then
	line    []byte // the line that is being written, while watch is set
	watch   *regexp.Regexp
	matched func()
	tee     io.Writer
}

// expect calls matched once, at the first line from now on that re matches; nil expects nothing.
func (o *output) expect(re *regexp.Regexp, matched func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watch, o.matched, o.line = re, matched, nil
}

// copyFrom reads until nobody holds the other end any more, or the deadline that ends the wait for those who do.
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
		_, _ = o.tee.Write(p) // a reader that has gone is no reason to stop the target
	}
	o.keep(p)
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

// scan looks at every line as it grows: some programs end their last words without a line break.
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

// String is what was kept, oldest first.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(o.buf[o.next:]) + string(o.buf[:o.next])
	if len(text) == keptOutput { // what came before is lost
		return cut.Whole(text)
	}
	return text
}

// tees writes to each of several, whatever becomes of the others.
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
