package json

import (
	"strings"
	"testing"
)

var texts = []struct{ name, text string }{
	{"message", `{"type":"message_delta","sessionId":"s-1","seq":1042,"delta":"Hello, ` +
		`world","usage":{"input":12,"output":3.5},"tags":["a","b"],"done":false}`},
	{"escapes", `{"delta":"` + strings.Repeat(`line \u00e9 \ud83d\ude00\n`, 100) + `"}`},
	{"list", "[" + strings.Repeat(`{"id":"debugger","name":"Debugger","enabled":true},`, 1000) + "null]"},
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range texts {
		b.Run(bb.name, func(b *testing.B) {
			text := []byte(bb.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, faults, err := Decode(text); err != nil || faults != nil {
					b.Fatal(err, faults)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, bb := range texts {
		b.Run(bb.name, func(b *testing.B) {
			v, _, err := Decode([]byte(bb.text))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(Compact(v))))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
