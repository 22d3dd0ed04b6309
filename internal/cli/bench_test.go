package cli

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
)

// h2spec stands for the tool of this name: it opens two connections, on each of which it gets one frame from the
// server, and finds a fault. With MUTE in its environment it tells nothing.
func h2spec() {
	version := flag.Bool("version", false, "")
	host, port := flag.String("host", "", ""), flag.String("port", "", "")
	flag.Int("timeout", 0, "")
	flag.Parse()
	if *version {
		fmt.Println("Version: 1.2.3 (none)")
		return
	}
	for range 2 {
		c, err := net.Dial("tcp", net.JoinHostPort(*host, *port))
		if err != nil {
			panic(err)
		}
		const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings); err != nil {
			panic(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len(settings))); err != nil {
			panic(err)
		}
		_ = c.Close()
	}
	if os.Getenv("MUTE") == "" {
		fmt.Println("2 tests, 1 passed, 0 skipped, 1 failed")
	}
	os.Exit(1)
}

// connectconformance stands for the tool of this name, which tells how many cases it has run.
func connectconformance() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("connectconformance v1.2.4")
		return
	}
	fmt.Println("Total cases: 3\n2 passed, 1 failed")
	os.Exit(1)
}
