package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"parley/transport/transcript"
)

// maxIdle bounds the bytes that a process may send without a connection.
const maxIdle = 1 << 20

// readStdout reads from the process until its stdout ends, or reading on is pointless.
func (w *worker) readStdout() {
	defer close(w.silent)
	buf := make([]byte, 64<<10)
	out := w.proc.Stdout()
	for {
		n, err := out.Read(buf)
		if !w.splitLines(buf[:n]) {
			return
		}
		if err != nil {
			w.endStdout(err)
			return
		}
	}
}

// splitLines takes the next bytes; false if there were too many.
func (w *worker) splitLines(p []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 {
		text, rest, whole := bytes.Cut(p, []byte("\n"))
		if w.conn == nil {
			if w.idle += len(p) - len(rest); w.idle > maxIdle {
				w.endLocked(byHarness, false)
				return false
			}
		} else if room := w.conn.max - len(w.part); len(text) > room {
			w.tooLong(text, max(room, 0))
			return false
		}
		w.part = append(w.part, text...)
		if whole {
			w.recordLine(w.part)
			w.part = nil
		}
		p = rest
	}
	return true
}

// recordLine records a line. A byte order mark before the first line of a process, as some runtimes write it, is no
// part of it.
func (w *worker) recordLine(text []byte) {
	if !w.begun {
		w.begun, text = true, bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	if w.conn == nil {
		return
	}
	r := transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: text}
	if !utf8.Valid(text) {
		r.Label = "text that is not UTF-8"
	}
	w.conn.recordEvent(r)
}

// tooLong records what fits of a line, and ends the connection. The cut length counts only what has come so far.
func (w *worker) tooLong(text []byte, room int) {
	all := append(w.part, text...)
	fits := min(len(w.part)+room, w.conn.max)
	why := fmt.Sprintf("a line of more than %d bytes", w.conn.max)
	w.conn.recordEvent(transcript.Record{Kind: transcript.Frame, Type: "text", Label: why, Bytes: all[:fits:fits],
		Cut: len(all) - fits})
	w.conn.recordEvent(transcript.Record{Kind: transcript.Failure, Label: why})
	w.part = nil
	w.endLocked(brokeOff+why, false)
}

// endStdout handles the end of stdout. An unfinished line is not a message.
func (w *worker) endStdout(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil && len(w.part) > 0 {
		w.conn.recordEvent(transcript.Record{Kind: transcript.Comment, Label: "a line without a line feed",
			Bytes: w.part})
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		w.endLocked(brokeOff+err.Error(), false)
	}
}
