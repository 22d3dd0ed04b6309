package json

import (
	"strings"
	"testing"

	"parley/internal/cputime"
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
			used := cputime.Used()
			for b.Loop() {
				if _, faults, err := Decode(text); err != nil || faults != nil {
					b.Fatal(err, faults)
				}
			}
			b.ReportMetric(cputime.MBps(b.N*len(text), used), "cpu-MB/s")
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
			size := len(Compact(v))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			used := cputime.Used()
			for b.Loop() {
				if _, err := Encode(v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(cputime.MBps(b.N*size, used), "cpu-MB/s")
		})
	}
}

// BenchmarkValues makes the values that BenchmarkDecode decodes, without a text to read: maps, lists, and strings in
// interfaces. No decoder to the same values takes less.
func BenchmarkValues(b *testing.B) {
	for _, bb := range texts {
		b.Run(bb.name, func(b *testing.B) {
			v, _, err := Decode([]byte(bb.text))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			used := cputime.Used()
			for b.Loop() {
				again(v)
			}
			b.ReportMetric(cputime.MBps(b.N*len(bb.text), used), "cpu-MB/s")
		})
	}
}

// again makes v once more; strings share their bytes.
func again(v any) any {
	switch v := v.(type) {
	case Object:
		object := Object{}
		for key, v := range v {
			object[key] = again(v)
		}
		return object
	case []any:
		array := make([]any, len(v))
		for i := range v {
			array[i] = again(v[i])
		}
		return array
	case string:
		return v[:]
	case Number:
		return v[:]
	}
	return v
}
