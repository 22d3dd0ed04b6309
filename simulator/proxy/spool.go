package proxy

import (
	"fmt"
	"os"
	"time"

	"parley/transport/transcript"
)

// spool is a file of records that wait, oldest first. The zero value is an empty one, and makes its file when it needs
// one.
type spool struct {
	since time.Time // time of the first record ever; times are relative to it
	file  *os.File
	parts []part // in the file
	size  int64  // of the file
	buf   []byte // newer records
	err   error  // why nothing more can be written
	lost  error  // why records could not be read again
}

// part is a part of the file.
type part struct{ offset, size int64 }

// spoolPart is the number of bytes written at once.
const spoolPart = 1 << 20

func (s *spool) empty() bool { return len(s.parts) == 0 && len(s.buf) == 0 }

// add adds a record; false if there is no room.
func (s *spool) add(w waiting) bool {
	if len(s.buf) >= spoolPart && !s.flush() {
		return false
	}
	if s.since.IsZero() {
		s.since = w.at
	}
	w.r.N, w.r.At = w.n, w.at.Sub(s.since)
	s.buf = transcript.AppendRecord(s.buf, &w.r)
	return true
}

// flush writes the newer records to the file; false if there is no room.
func (s *spool) flush() bool {
	if s.err != nil || s.size+int64(len(s.buf)) > maxSpooled {
		return false
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp("", "parley-proxy-*"); s.err != nil {
			return false
		}
		_ = os.Remove(s.file.Name()) // if an open file can be removed, nothing is left behind
	}
	if _, s.err = s.file.WriteAt(s.buf, s.size); s.err != nil {
		return false
	}
	s.parts = append(s.parts, part{s.size, int64(len(s.buf))})
	s.size += int64(len(s.buf))
	s.buf = s.buf[:0]
	return true
}

// take returns the oldest records. Once all have been taken, the file is emptied.
func (s *spool) take() (all []waiting) {
	text := s.buf
	if len(s.parts) > 0 {
		first := s.parts[0]
		s.parts = s.parts[1:]
		text = make([]byte, first.size)
		if _, err := s.file.ReadAt(text, first.offset); err != nil {
			s.lost, text = fmt.Errorf("records that waited in a file are lost: %w", err), nil
		}
	} else {
		s.buf = nil
	}
	if len(s.parts) == 0 && s.file != nil {
		s.size = 0
		_ = s.file.Truncate(0)
	}
	for len(text) > 0 {
		r, left, ok := transcript.ReadRecord(text)
		if !ok {
			s.lost = fmt.Errorf("records that waited in a file are lost: it is damaged")
			break
		}
		w := waiting{r: r, n: r.N, at: s.since.Add(r.At)}
		w.r.N, w.r.At = 0, 0
		all, text = append(all, w), left
	}
	return all
}

// close removes the file.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}
