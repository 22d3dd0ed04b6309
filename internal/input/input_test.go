//go:build unix

package input

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fifo(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// write writes a text to a pipe, and keeps it open until the test ends, or closes it.
func write(t *testing.T, name, text string, ends bool) {
	wrote := make(chan *os.File, 1)
	go func() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			wrote <- nil
			return
		}
		_, _ = io.WriteString(f, text)
		if ends {
			_ = f.Close()
		}
		wrote <- f
	}()
	t.Cleanup(func() {
		if f := <-wrote; f != nil && !ends {
			_ = f.Close()
		}
	})
}

func file1(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRead(t *testing.T) {
	whole := fifo(t)
	write(t, whole, "of a pipe", true)
	for _, c := range []struct{ name, want string }{
		{file1(t, "text"), "text"}, {file1(t, ""), ""}, {whole, "of a pipe"}, {os.DevNull, ""},
	} {
		if b, err := Read(c.name, 9); string(b) != c.want || err != nil {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
	}
	held := fifo(t)
	write(t, held, "not all", false)
	const short = 20 * time.Millisecond
	for _, c := range []struct{ name, want string }{
		{file1(t, "0123456789"), "it is longer than 9 bytes"},
		{"/dev/zero", "it is longer than 9 bytes"},
		{fifo(t), "nothing came from it within 20ms (is it a pipe to which nobody writes?)"},
		{held, "nothing came from it within 20ms"},
		{t.TempDir(), "is a directory"},
		{filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		var path *fs.PathError
		if b, err := readFile(c.name, 9, short); b != nil || !errors.As(err, &path) ||
			!strings.Contains(err.Error(), c.name+": "+c.want) {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
	}
}

func TestOpen(t *testing.T) {
	in, err := Open(t.Context(), file1(t, "text"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(in); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := openFile(t.Context(), fifo(t), time.Millisecond); !errors.Is(err, errPipe) {
		t.Errorf("a pipe without a writer: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestCancelled: an interrupt ends the opening of a pipe, and the reading of a pipe that delivers nothing more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	held := fifo(t)
	write(t, held, "some", false)
	in, err := Open(ctx, held)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(in, make([]byte, 4)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	read := make(chan error)
	go func() {
		_, err := in.Read(make([]byte, 4))
		read <- err
	}()
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(ctx, fifo(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
