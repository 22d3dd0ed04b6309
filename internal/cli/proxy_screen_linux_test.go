package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"parley/features/verdict"
)

// TestProxyOnATerminal: a person sees what a message breaks, exports what is shown, and leaves; then the report is
// printed.
func TestProxyOnATerminal(t *testing.T) {
	t.Parallel()
	person, terminal := openTerminal(t)
	out := t.TempDir()
	s := &streams{In: terminal, Out: terminal, Err: terminal, OutTTY: true, ErrTTY: true, OutWidth: 120, ErrWidth: 120}
	ended := make(chan int, 1)
	go func() {
		root := rootCommand(s)
		root.SetArgs([]string{"proxy", "--protocol", "session-chat", "--out", out, chatServer(t, "no-timestamp")})
		ended <- s.exitWith(root.ExecuteContext(t.Context()))
	}()
	screen := &seen{t: t, from: person}
	_, rest, _ := strings.Cut(screen.until("quit"), "base URL for your clients: ")
	url := strings.Fields(rest)[0]
	runChatTurn(t, quickClient(t), url)
	screen.until("SC-044")
	press := func(key string) {
		if _, err := person.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}
	press("e")
	for { // the screen writes only what has changed, so that no text can be waited for
		files, err := filepath.Glob(filepath.Join(out, "traffic-*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	press("q")
	screen.until("NON-CONFORMANT")
	go screen.drop()
	if code := <-ended; code != verdict.ExitNonConformant {
		t.Errorf("exit code %d", code)
	}
}

// openTerminal opens a pseudo-terminal of 24 lines of 120 columns: the end of the person, and that of the program.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close(); _ = person.Close() })
	return person, program
}

// seen is what a person has seen of a terminal.
type seen struct {
	t    *testing.T
	from *os.File
	all  strings.Builder // since the last until
}

// until waits until a text is seen, without what moves the cursor, and returns what was seen since the last one.
func (s *seen) until(text string) string {
	s.t.Helper()
	buffer := make([]byte, 4096)
	for {
		if plain := ansi.Strip(s.all.String()); strings.Contains(plain, text) {
			s.all.Reset()
			return plain
		}
		n, err := s.from.Read(buffer)
		s.all.Write(buffer[:n])
		if err != nil {
			s.t.Fatalf("%v before %q; seen\n%s", err, text, ansi.Strip(s.all.String()))
		}
	}
}

// drop reads what nobody looks at.
func (s *seen) drop() {
	buffer := make([]byte, 4096)
	for {
		if _, err := s.from.Read(buffer); err != nil {
			return
		}
	}
}
