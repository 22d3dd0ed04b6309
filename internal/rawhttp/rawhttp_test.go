package rawhttp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHeadBytes(t *testing.T) {
	for _, raw := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\nhost:x\r\nX-a :  b\n folded\r\nno colon\r\n: no name\r\n\n",
		"HTTP/1.1 200\r\n\r\n",
		"\r\n\r\n",
		"",
	} {
		h := ParseHead([]byte(raw))
		want := raw
		if raw == "" {
			want = "\r\n"
		}
		if got := string(h.Bytes()); got != want {
			t.Errorf("%q became %q", raw, got)
		}
	}
}

func TestHeadEdits(t *testing.T) {
	for _, row := range []struct {
		reason string
		edit   func(*Head)
		want   string
	}{
		{"the first field is replaced in its place", func(h *Head) { h.Set("x-a", "9") }, "x-a: 9\r\nB: 2\r\n"},
		{"several values", func(h *Head) { h.Set("X-A", "8", "9") }, "X-A: 8\r\nX-A: 9\r\nB: 2\r\n"},
		{"no values", func(h *Head) { h.Set("X-A") }, "B: 2\r\n"},
		{"a new field is the last", func(h *Head) { h.Set("C", "3") }, "x-a: 1\r\n more\r\nB: 2\r\nX-A: 3\r\nC: 3\r\n"},
		{"a value ends no field", func(h *Head) { h.Set("X-A", "1\r\nEvil: 2") }, "X-A: 1  Evil: 2\r\nB: 2\r\n"},
		{"all of a name", func(h *Head) { h.Del("X-a") }, "B: 2\r\n"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			h := ParseHead([]byte("GET / HTTP/1.1\r\nx-a: 1\r\n more\r\nB: 2\r\nX-A: 3\r\n\r\n"))
			row.edit(&h)
			if got, want := string(h.Bytes()), "GET / HTTP/1.1\r\n"+row.want+"\r\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestReadHead(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 100)+"\r\n\r\nrest"), 16)
	head, err := ReadHead(in, 200)
	if rest, _ := io.ReadAll(in); err != nil || string(rest) != "rest" || len(head) != 123 {
		t.Errorf("%d bytes, %v, then %q", len(head), err, rest)
	}
	head, err = ReadHead(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nX: y\r\n\r\n")), 20)
	if !errors.Is(err, ErrTooLong) || len(head) != 20 {
		t.Errorf("too long: %d bytes, %v", len(head), err)
	}
	head, err = ReadHead(bufio.NewReader(strings.NewReader("GET /")), 20)
	if err == nil || string(head) != "GET /" {
		t.Errorf("cut off: %q, %v", head, err)
	}
}

// read reads a response's body, in whole and byte by byte.
func read(t *testing.T, method, text string) (raw, content, rest string, err error) {
	t.Helper()
	in := bufio.NewReader(iotest.OneByteReader(strings.NewReader(text)))
	head, err := ReadHead(in, 1000)
	if err != nil {
		t.Fatal(err)
	}
	h := ParseHead(head)
	r, err := h.Response(method)
	if err != nil {
		t.Fatal(err)
	}
	b := ResponseBody(r, method, in)
	for {
		p, c, err := b.Next()
		raw, content = raw+string(p), content+string(c)
		if err != nil {
			left, _ := io.ReadAll(in)
			return raw, content, string(left), err
		}
	}
}

func TestBodies(t *testing.T) {
	for _, row := range []struct {
		reason, method, head, body string
		content, rest              string
		fault                      string
	}{
		{"length", "GET", "Content-Length: 3", "abcd", "abc", "d", ""},
		{"length 0", "GET", "Content-Length: 0", "abcd", "", "abcd", ""},
		{"an answer to HEAD has none", "HEAD", "Content-Length: 3", "abc", "", "abc", ""},
		{"to the end", "GET", "X: y", "abcd", "abcd", "", ""},
		{"chunks", "GET", "Transfer-Encoding: chunked", "1\r\na\r\n02;x=y\nbc\n0\r\nT: 1\r\n\r\nd", "abc", "d", ""},
		{"cut off length", "GET", "Content-Length: 3", "ab", "ab", "", "unexpected EOF"},
		{"cut off chunk", "GET", "Transfer-Encoding: chunked", "3\r\nab", "ab", "", "unexpected EOF"},
		{"cut off before the last chunk", "GET", "Transfer-Encoding: chunked", "1\r\na\r\n", "a", "", "unexpected EOF"},
		{"cut off trailer", "GET", "Transfer-Encoding: chunked", "0\r\nT: 1\r\n", "", "", "unexpected EOF"},
		{"not a size", "GET", "Transfer-Encoding: chunked", "x\r\n", "", "", `not the size of a chunk: "x"`},
		{"a long chunk", "GET", "Transfer-Encoding: chunked", "1\r\nab\r\n", "a", "", "a chunk is longer than its size says"},
		{"a long trailer", "GET", "Transfer-Encoding: chunked", "0\r\n" + strings.Repeat("T: 1\r\n", 3000), "", "",
			"a trailer of more than 16384 bytes"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			raw, content, rest, err := read(t, row.method, "HTTP/1.1 200 OK\r\n"+row.head+"\r\n\r\n"+row.body)
			if row.fault == "" {
				row.fault = "EOF"
				if rest != row.rest || raw+rest != row.body {
					t.Errorf("raw %q, then %q", raw, rest)
				}
			}
			if content != row.content || err.Error() != row.fault {
				t.Errorf("content %q, %v", content, err)
			}
		})
	}
}

func TestChunk(t *testing.T) {
	if got := string(Chunk([]byte("abcdefghijklmnopq"))); got != "11\r\nabcdefghijklmnopq\r\n" {
		t.Errorf("got %q", got)
	}
	if got := Chunk(nil); got != nil {
		t.Errorf("a chunk of nothing would be the last: %q", got)
	}
}
