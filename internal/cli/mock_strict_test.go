package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMockStrict: with --strict a mock that was asked what no recording shows ends with exit code 1.
func TestMockStrict(t *testing.T) {
	for _, row := range []struct {
		flag string
		miss bool
		want int
	}{{"--strict", true, 1}, {"--strict", false, 0}, {"--strict=false", true, 0}} {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		code := make(chan int, 1)
		go func() {
			s := &streams{In: strings.NewReader(""), Out: in, Err: io.Discard}
			root := rootCommand(s)
			root.SetArgs([]string{"mock", "testdata/host.jsonl", row.flag})
			code <- s.exitWith(root.ExecuteContext(ctx))
		}()
		url, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if row.miss {
			resp, err := http.Get(strings.TrimSpace(url) + "/nowhere")
			if err != nil || resp.StatusCode != http.StatusNotImplemented {
				t.Fatalf("%v, %v", resp, err)
			}
			_ = resp.Body.Close()
		}
		stop()
		if got := <-code; got != row.want {
			t.Errorf("%s, a miss %v: exit %d, want %d", row.flag, row.miss, got, row.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
