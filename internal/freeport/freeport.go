// Package freeport lends loopback ports to servers that will listen later, or repeatedly.
//
// A port that the kernel picks is free only at that moment. Once it is closed, the kernel may assign it to another
// server or connection: a target that takes a moment to start then finds it taken, and a stranger is judged in its
// place. So ports are lent from below the range that kernels pick from (32768 and up on Linux, 49152 and up
// elsewhere), and every process that uses this package sees which ones are lent.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Ports from first on are lent. While one is lent, the UDP port count above it is bound as a mark, which the kernel
// releases however the process ends.
const (
	first = 12000
	count = 10000
)

// tries is how many ports may be taken before the kernel is asked for one.
const tries = 500

// next is where the next search begins. It starts at random, so that processes avoid each other's ports, and moves
// on, so that a released port rests before it is lent again: a server without SO_REUSEADDR cannot bind it for the
// first minute.
var next atomic.Int64

func init() { next.Store(rand.Int64N(count)) }

// Port is a port that is lent until Release.
type Port struct {
	Number int
	lent   net.PacketConn // nil: not marked as lent
}

// Lend picks a port on 127.0.0.1 with no listener and lends it to no other caller until Release. The caller, or a
// server it starts, may listen on it at once. The error is the kernel's. Goroutines and processes may call it
// concurrently.
func Lend() (*Port, error) {
	for range tries {
		p := &Port{Number: first + int(next.Add(1)%count)}
		if p.takePort() {
			return p, nil
		}
	}
	l, err := listenLoopback(0)
	if err != nil {
		return nil, err
	}
	return &Port{Number: l.Addr().(*net.TCPAddr).Port}, l.Close()
}

// takePort reports whether the port is free and has been lent. If UDP is unavailable, the port is lent without a mark.
func (p *Port) takePort() bool {
	lent, err := net.ListenPacket("udp4", loopbackAddr(p.Number+count))
	if err == nil {
		p.lent = lent
	} else if errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	if !isVacant(p.Number) {
		p.Release()
		return false
	}
	return true
}

// Addr returns 127.0.0.1 with the port.
func (p *Port) Addr() string { return loopbackAddr(p.Number) }

// Release gives the port back. Releasing nil, or twice, is harmless.
func (p *Port) Release() {
	if p != nil && p.lent != nil {
		_ = p.lent.Close()
	}
}

func listenLoopback(port int) (net.Listener, error) { return net.Listen("tcp4", loopbackAddr(port)) }

// copied bounds how long a starting child process may hold its copy of a closed listener.
const copied = 10 * time.Second

// Relisten listens on an address whose listener this process has closed. A starting child process holds copies of its
// parent's sockets until it runs its own program, so the address may still be in use for a moment. The error is that
// of net.Listen.
func Relisten(addr string) (net.Listener, error) {
	for end := time.Now().Add(copied); ; time.Sleep(time.Millisecond) {
		l, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
	}
}

func loopbackAddr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
