// Command program stands in for parley in its packages: it does what the test asks of it, and is packed in a moment.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	switch args := strings.Join(os.Args[1:], " "); args {
	case "version":
		fmt.Println("parley 1.0.0")
	case "serve --listen 127.0.0.1:0":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		end := make(chan os.Signal, 1)
		signal.Notify(end, os.Interrupt, syscall.SIGTERM)
		fmt.Println("http://" + l.Addr().String())
		<-end
	default:
		fmt.Fprintln(os.Stderr, "unknown flag in", args)
		os.Exit(2)
	}
}
