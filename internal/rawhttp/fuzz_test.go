package rawhttp

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzHead: a head is kept byte for byte, at most as much as is allowed, and changes leave the rest as it was.
func FuzzHead(f *testing.F) {
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n c\n\n",
		"\r\n\r\n", "x", ": \r\n: \r\n\r\n",
		"HTTP/1.1 200 OK\r\n continued\r\nTransfer-Encoding: chunked\r\nContent-Length: -1\r\n\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const max = 1 << 10
		head, err := ReadHead(bufio.NewReader(bytes.NewReader(text)), max)
		if len(head) > max || !bytes.HasPrefix(text, head) {
			t.Fatalf("%q of %q", head, text)
		}
		h := ParseHead(head)
		if err == nil && !bytes.Equal(h.Bytes(), head) {
			t.Errorf("%q becomes %q", head, h.Bytes())
		}
		_, _ = h.Request()
		_, _ = h.Response("GET")
		h.Set("X-Set", "a\r\nb")
		h.Set("X-Set", "c")
		h.Del("Host")
		if again := ParseHead(h.Bytes()); err == nil && len(again.Rest) != len(h.Rest) {
			t.Errorf("%d fields become %d: %q", len(h.Rest), len(again.Rest), h.Bytes())
		}
	})
}
