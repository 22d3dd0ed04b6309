package orchestrator

import (
	"strconv"
	"testing"

	proto "parley/protocol/sessionruntime"
)

// benchStage returns a machine without virtual time. Messages have no id, so none is a repetition.
func benchStage(b *testing.B) *Machine {
	b.Helper()
	return newStage(b, Options{}).m
}

func deliver(b *testing.B, m *Machine, msg proto.Message, want int) {
	msg.SessionID, msg.Target = "s", proto.ToSystem
	if out := m.OnMessage(msg); len(out) != want {
		b.Fatalf("published %q", lines(out))
	}
}

// BenchmarkTurn measures a whole turn: input, ack, chunk, final.
func BenchmarkTurn(b *testing.B) {
	m, i := benchStage(b), 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		turn := strconv.Itoa(i)
		deliver(b, m, byFrontend("input", turn, "hello"), 2)
		deliver(b, m, byAgent("a", "ack", turn, ""), 1)
		deliver(b, m, byAgent("a", "chunk", turn, "one"), 1)
		deliver(b, m, byAgent("a", "final", turn, "two"), 1)
	}
}

// BenchmarkChunk measures a chunk while other turns are in flight.
func BenchmarkChunk(b *testing.B) {
	for _, others := range []int{0, 100} {
		b.Run(strconv.Itoa(others)+" others", func(b *testing.B) {
			m := benchStage(b)
			for i := range others + 1 {
				deliver(b, m, byFrontend("input", strconv.Itoa(i), "hello"), 2)
			}
			msg := byAgent("a", "chunk", "0", "one")
			deliver(b, m, msg, 2)
			msg.ID = "in-1"
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				msg.ID = strconv.Itoa(i)
				deliver(b, m, msg, 1)
				m.Due()
			}
		})
	}
}
