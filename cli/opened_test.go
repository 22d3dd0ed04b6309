package cli

import (
	"fmt"
	"io"
	"os"

	"parley/internal/prepared"
)

// showOpened runs a command line without its output, and prints which prepared data that has read, a key a line.
func showOpened() {
	s := terminal()
	s.Out = io.Discard
	code := parley(os.Args[1:], s)
	for _, key := range prepared.Opened() {
		fmt.Println(key)
	}
	os.Exit(code)
}
