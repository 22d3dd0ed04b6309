package transcript

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"time"
)

// Keep bounds the part of a transcript that is in memory, the newest records. Older ones are in a temporary file. Zero
// values mean the defaults.
type Keep struct {
	Records int    // maximum number of records in memory; default 10,000
	Bytes   int    // maximum bytes of their payloads, labels and types; default 16 MiB
	File    int64  // maximum bytes of the file; default 4 GiB. Once it is full, further records are only counted
	Dir     string // the folder of the file; default os.TempDir
}

// Blocks of the file. One is read at a time.
const (
	blockRecords = 256
	blockBytes   = 1 << 20
)

// spill holds the older records of a transcript. Blocks are written once and never changed.
type spill struct {
	keep   Keep
	file   *os.File // nil: not yet created
	size   int64
	blocks []block
	buf    []byte
	closed bool
	failed error // why the file could not be created
}

// block is a part of the file.
type block struct {
	last   int // number of its last record
	offset int64
	size   int
}

// NewSpilling starts a transcript without the bounds of New: it keeps its newest records in memory, and moves older
// ones to a temporary file. See New about decode; it is called again for a moved record whose Event.Data has a type
// other than those of Event; other events are stored. The error is that of creating the file.
// The caller must call Close.
func NewSpilling(decode func(*Record), k Keep) (*Transcript, error) {
	t := NewSpillingAt(time.Now(), decode, k)
	if err := t.CreateFile(); err != nil {
		return nil, err
	}
	return t, nil
}

// NewSpillingAt is NewSpilling for records that were made before: their times count from began. It creates its file
// for the first records that are moved there, if CreateFile has not; records that it cannot hold are lost, and count as
// overflow.
func NewSpillingAt(began time.Time, decode func(*Record), k Keep) *Transcript {
	k.Records, k.Bytes = cmp.Or(k.Records, 10_000), cmp.Or(k.Bytes, 16<<20)
	k.File = cmp.Or(k.File, 4<<30)
	t := newTranscript(decode)
	t.start = began
	t.spill = &spill{keep: k}
	return t
}

// CreateFile creates the file of a transcript made by NewSpillingAt at once, to learn in time that it cannot be.
func (t *Transcript) CreateFile() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spill.createFile()
}

// FileError says why the file of a transcript made by NewSpillingAt could not be created when records were to be moved
// there, which are lost; nil: it could, or none were.
func (t *Transcript) FileError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spill.failed
}

func (s *spill) createFile() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.keep.Dir, "parley-transcript-*")
	if err != nil {
		s.failed = fmt.Errorf("keep a transcript: %w", err)
		return s.failed
	}
	_ = os.Remove(f.Name()) // if an open file can be removed, nothing remains even if the process is killed
	s.file = f
	return nil
}

// Close removes the file of a transcript made by NewSpilling. The records in memory stay, and more can be appended.
// It may be called again.
func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spill == nil || t.spill.closed {
		return nil
	}
	t.spill.closed, t.spill.blocks = true, nil
	if t.spill.file == nil {
		return nil
	}
	err := t.spill.file.Close()
	_ = os.Remove(t.spill.file.Name())
	return err
}

func (s *spill) isFull() bool { return s.size >= s.keep.File }

// spillOldest moves the oldest quarter of the records in memory to the file once they exceed the bounds. Records that
// cannot be written are lost, and count as overflow.
func (t *Transcript) spillOldest() {
	k := t.spill.keep
	if len(t.records) <= k.Records && t.bytes <= k.Bytes {
		return
	}
	n, left := 0, t.bytes
	for n < len(t.records)-1 && (len(t.records)-n > k.Records*3/4 || left > k.Bytes/4*3) {
		left -= t.records[n].boundedSize(t.records[n].Event.memorySize())
		n++
	}
	for from := 0; from < n; {
		to, size := from, 0
		for to < n && to-from < blockRecords && size < blockBytes {
			size += t.records[to].boundedSize(t.records[to].Event.memorySize())
			to++
		}
		if err := t.spill.appendBlock(t.records[from:to]); err != nil {
			t.left.count += to - from
		}
		from = to
	}
	t.base += n
	t.records, t.bytes = append(make([]Record, 0, k.Records+1), t.records[n:]...), left // frees the others
}

// appendBlock appends a block.
func (s *spill) appendBlock(records []Record) error {
	if s.closed {
		return os.ErrClosed
	}
	if err := s.createFile(); err != nil {
		return err
	}
	s.buf = s.buf[:0]
	for i := range records {
		s.buf = appendRecord(s.buf, &records[i])
	}
	if _, err := s.file.WriteAt(s.buf, s.size); err != nil {
		return err
	}
	s.blocks = append(s.blocks, block{records[len(records)-1].N, s.size, len(s.buf)})
	s.size += int64(len(s.buf))
	if cap(s.buf) > 4*blockBytes {
		s.buf = nil
	}
	return nil
}

// nextBatch returns the next available records with a number above mark: those in memory, or those of a
// block of the file. next is the mark for the following batch. changed is nil if there may be more; at the end it is
// closed by the next append. Lost records are omitted.
func (t *Transcript) nextBatch(mark int) (records []Record, next int, changed <-chan struct{}) {
	mark = max(mark, 0)
	t.mu.Lock()
	if t.spill == nil { // those before were released
		mark = max(mark, t.base)
	}
	if mark >= t.base {
		defer t.mu.Unlock()
		from := min(mark-t.base, len(t.records))
		if from == len(t.records) {
			return nil, mark, t.nextAppend()
		}
		records = t.records[from:len(t.records):len(t.records)]
		return records, mark + len(records), t.nextAppend()
	}
	at, _ := slices.BinarySearchFunc(t.spill.blocks, mark+1, func(b block, n int) int { return b.last - n })
	if at == len(t.spill.blocks) {
		defer t.mu.Unlock()
		return nil, t.base, nil
	}
	b, file := t.spill.blocks[at], t.spill.file
	t.mu.Unlock()
	records, err := t.readBlock(file, b)
	if err != nil { // it was closed meanwhile, or the disk failed
		return nil, b.last, nil
	}
	from, _ := slices.BinarySearchFunc(records, mark+1, func(r Record, n int) int { return r.N - n })
	return slices.Clip(records[from:]), b.last, nil
}

// readBlock reads a block.
func (t *Transcript) readBlock(file *os.File, b block) ([]Record, error) {
	buf := make([]byte, b.size)
	if _, err := file.ReadAt(buf, b.offset); err != nil {
		return nil, err
	}
	d := decoder{in: buf}
	var all []Record
	for len(d.in) > 0 && !d.broken {
		r, foreign := d.decodeRecord()
		if foreign && t.decode != nil {
			t.mu.Lock()
			t.decode(&r)
			t.mu.Unlock()
		}
		all = append(all, r)
	}
	if d.broken {
		return nil, fmt.Errorf("the file of a transcript is damaged before record %d", b.last)
	}
	return all, nil
}

// From yields the records with a number above mark, including those appended while it runs. It holds only a small part
// of the file in memory at a time.
func (t *Transcript) From(mark int) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for {
			records, next, end := t.nextBatch(mark)
			for _, r := range records {
				if !yield(r) {
					return
				}
			}
			if end != nil {
				return
			}
			mark = next
		}
	}
}

// Page returns at most limit records with a number above mark.
func (t *Transcript) Page(mark, limit int) []Record {
	var out []Record
	for r := range t.From(max(mark, 0)) {
		if len(out) >= limit {
			break
		}
		out = append(out, r)
	}
	return out
}

// First returns the records that a transcript made by New would have kept. Whole reports whether these are all records.
func (t *Transcript) First() (records []Record, whole bool) {
	if t.spill == nil {
		return t.All(), true
	}
	weight := 0
	for r := range t.From(0) {
		if exceedsUnkept(len(records), weight, &r) {
			return records, false
		}
		weight += r.boundedSize(r.Event.memorySize())
		records = append(records, r)
	}
	return records, true
}

// Changed returns a channel that the next append closes. Get it before reading the records.
func (t *Transcript) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nextAppend()
}

// AppendRecord appends a record without its Event to b, as ReadRecord reads it, for records that wait in a file. The
// encoding is not stable.
func AppendRecord(b []byte, r *Record) []byte {
	plain := *r
	plain.Event = nil
	return appendRecord(b, &plain)
}

// ReadRecord reads a record that AppendRecord has written, and returns the bytes after it.
func ReadRecord(b []byte) (r Record, rest []byte, ok bool) {
	d := decoder{in: b}
	r, _ = d.decodeRecord()
	return r, d.in, !d.broken
}

// appendRecord encodes a record.
func appendRecord(b []byte, r *Record) []byte {
	b = appendInt(b, int64(r.N), int64(r.At), int64(r.Status), int64(r.Cut), int64(r.Reply))
	b = appendText(b, r.Conn, string(r.Dir), string(r.Kind), r.Label, r.Type, r.ID, r.Trace, r.Headers)
	flags := byte(0)
	for i, on := range []bool{r.Flushed, r.Late, r.Bytes != nil, r.Event != nil} {
		if on {
			flags |= 1 << i
		}
	}
	foreign := len(b)
	b = append(b, flags)
	if r.Bytes != nil {
		b = append(appendInt(b, int64(len(r.Bytes))), r.Bytes...)
	}
	if r.Event == nil {
		return b
	}
	before := len(b)
	e, known := r.Event, true
	b = appendText(b, e.Type)
	b = appendInt(b, int64(len(e.Faults)))
	b = appendText(b, e.Faults...)
	again := int64(0)
	if e.Again {
		again = 1
	}
	b = appendInt(b, again)
	for _, v := range []any{e.Data, e.RequestID, e.Timestamp, e.Envelope} {
		b = appendValue(b, v, &known)
	}
	if !known { // it will be decoded again
		b[foreign] = flags&^(1<<3) | 1<<4
		b = b[:before]
	}
	return b
}

// decodeRecord decodes a record. foreign reports whether its event must be decoded again.
func (d *decoder) decodeRecord() (r Record, foreign bool) {
	r = Record{N: int(d.readInt()), At: time.Duration(d.readInt()), Status: int(d.readInt()), Cut: int(d.readInt()),
		Reply: int(d.readInt()),
		Conn:  d.readText(), Dir: Dir(d.readText()), Kind: Kind(d.readText()), Label: d.readText(), Type: d.readText(),
		ID: d.readText(), Trace: d.readText(), Headers: d.readText()}
	flags := d.readByte()
	r.Flushed, r.Late = flags&1 != 0, flags&2 != 0
	if flags&4 != 0 {
		r.Bytes = []byte(d.readText())
	}
	if flags&8 == 0 {
		return r, flags&16 != 0
	}
	e := &Event{Type: d.readText()}
	if n := d.readInt(); n > 0 && n < math.MaxInt32 {
		for range n {
			if d.broken {
				break
			}
			e.Faults = append(e.Faults, d.readText())
		}
	}
	e.Again = d.readInt() == 1
	e.Data, e.RequestID, e.Timestamp, e.Envelope = d.readValue(), d.readValue(), d.readValue(), d.readValue()
	r.Event = e
	return r, false
}
