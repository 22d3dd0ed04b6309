package sessionchat

import (
	"fmt"
	"path/filepath"
	"testing"
)

func stores(b *testing.B, run func(b *testing.B, o Options)) {
	b.Run("memory", func(b *testing.B) { run(b, Options{}) })
	b.Run("file", func(b *testing.B) { run(b, Options{DB: filepath.Join(b.TempDir(), "chat.db")}) })
}

// BenchmarkEchoTurn measures one echo turn on a fresh session: the cost of a fence.
func BenchmarkEchoTurn(b *testing.B) {
	stores(b, func(b *testing.B, o Options) {
		c := startServer(b, o).dial()
		i := 0
		for b.Loop() {
			i++
			c.ask(fmt.Sprint("agent ", i), "[[echo n]]")
		}
	})
}

// BenchmarkHundredSessions measures one turn in each of 100 concurrent sessions on one connection, with 10 pieces
// each.
func BenchmarkHundredSessions(b *testing.B) {
	stores(b, func(b *testing.B, o Options) {
		o.Limits.History = 10
		c := startServer(b, o).dial()
		for b.Loop() {
			for i := range 100 {
				c.chat(fmt.Sprint(i), "[[stream n 10]]")
			}
			for results := 0; results < 100; {
				if c.nextMessage()["message_type"] == "result" {
					results++
				}
			}
		}
		b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
}

// BenchmarkStream measures the pieces of one long answer.
func BenchmarkStream(b *testing.B) {
	c := startServer(b, Options{}).dial()
	for b.Loop() {
		c.chat("a", "[[stream n 1000]]")
		for c.nextMessage()["message_type"] != "result" {
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "pieces/s")
}
