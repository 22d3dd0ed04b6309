package ws

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"parley/transport/driver"
)

// TestEnds: what a target reads where a connection is closed in each way.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		how  driver.CloseMode
		want error // of reading a frame; nil: the frame is a Close
	}{
		"closing handshake": {driver.Graceful, nil},
		"half closed":       {driver.Fin, io.EOF},
		"reset":             {driver.Abort, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			read := make(chan error, 1)
			url := serve(t, func(s *socket) {
				first, _, err := s.next()
				if err == nil && first != 0x88 {
					t.Errorf("the target read a frame that begins with %#x", first)
				}
				read <- err
			})
			p := connect(t, url, driver.OpenOptions{})
			if err := p.conn.Close(c.how); err != nil {
				t.Fatal(err)
			}
			if err := <-read; !errors.Is(err, c.want) {
				t.Errorf("the target read %v, want %v", err, c.want)
			}
		})
	}
}
