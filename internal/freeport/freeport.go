// Package freeport lends loopback ports to servers that are to listen later, or again and again.
//
// A port that the kernel picks is free when it is picked. Once it is closed, the kernel gives it to whoever asks next,
// as the port of a server or of a connection: a target that needs a moment to start then finds it taken, and a stranger
// is judged in its place. So a port is lent from below the range that kernels pick from (32768 and up on Linux, 49152
// and up elsewhere), and every process that asks here sees which ones are lent.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
)

// A port from first on is lent; as long as it is, the UDP port that is count above it is bound, which the kernel undoes
// however the process ends.
const (
	first = 12000
	count = 10000
)

// tries is how many ports may be taken before the kernel is asked for one.
const tries = 500

// next is where the next search begins: at random, so that processes keep out of each other's way, and then onwards, so
// that a port that is given back rests before it is lent again. A server that does not ask for SO_REUSEADDR cannot have
// it in the first minute.
var next atomic.Int64

func init() { next.Store(rand.Int64N(count)) }

// Port is a port that is lent until Release.
type Port struct {
	Number int
	lent   net.PacketConn // nil: nothing tells others
}

// Lend picks a port at which nobody listens on 127.0.0.1, and which nobody else who asks here gets until Release. The
// caller may listen at it, or have somebody listen, at once. The error is the kernel's. It may be called from several
// goroutines and processes at once.
func Lend() (*Port, error) {
	for range tries {
		p := &Port{Number: first + int(next.Add(1)%count)}
		if p.take() {
			return p, nil
		}
	}
	l, err := listen(0)
	if err != nil {
		return nil, err
	}
	return &Port{Number: l.Addr().(*net.TCPAddr).Port}, l.Close()
}

// take reports whether the port is free and has been lent. Where UDP is not to be had, it is lent without a sign.
func (p *Port) take() bool {
	lent, err := net.ListenPacket("udp4", at(p.Number+count))
	if err == nil {
		p.lent = lent
	} else if errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	l, err := listen(p.Number)
	if err != nil {
		p.Release()
		return false
	}
	return l.Close() == nil
}

// Addr is 127.0.0.1 with the port.
func (p *Port) Addr() string { return at(p.Number) }

// Release gives the port back. Releasing nil, or twice, is harmless.
func (p *Port) Release() {
	if p != nil && p.lent != nil {
		_ = p.lent.Close()
	}
}

func listen(port int) (net.Listener, error) { return net.Listen("tcp4", at(port)) }

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
