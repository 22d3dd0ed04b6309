package studylog

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	wjson "parley/transport/wire/json"
)

// FuzzCheck checks that for any input a report is bounded and independent of how reads are split, with texts on one
// plain line.
func FuzzCheck(f *testing.F) {
	for _, r := range logs {
		f.Add([]byte(r.in), r.o.Complete)
	}
	f.Add([]byte(wrote(start, started, call, result, ended)), true)
	f.Fuzz(func(t *testing.T, log []byte, complete bool) {
		messages := []Message{
			{Direction: "in", Type: "tool.call", Payload: map[string]any{"toolName": "select"}, Record: 1},
			{Direction: "out", Type: "error", Payload: map[string]any{}, Record: 2},
		}
		for _, o := range []Options{{Complete: complete}, {Complete: complete, Session: "s-1", Messages: messages}} {
			got := Check(bytes.NewReader(log), o)
			if diff := cmp.Diff(got, Check(iotest.OneByteReader(bytes.NewReader(log)), o), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("byte by byte it is another:\n%s", diff)
			}
			if len(got.Findings) > 12*(MaxFindings+1) || got.Events > got.Lines || got.Lines > bytes.Count(log, []byte("\n"))+1 {
				t.Errorf("%d findings, %d events in %d lines", len(got.Findings), got.Events, got.Lines)
			}
			var texts []string
			for _, f := range got.Findings {
				texts = append(texts, f.String())
				if f.Line > got.Lines || f.OK != (f.Expected == "") {
					t.Errorf("%+v of %d lines", f, got.Lines)
				}
			}
			for _, n := range got.Notes {
				texts = append(texts, n.String())
			}
			for _, text := range texts {
				if len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsGraphic(r) }) {
					t.Errorf("%q", text)
				}
			}
			shared := o.Session != "" && slices.ContainsFunc(got.Sessions, func(id string) bool { return id != o.Session })
			if got.Torn != nil && !shared && (complete != (got.Clauses["EA-085"].Broken > 0 && complete) ||
				got.Torn.Line != got.Lines) {
				t.Errorf("torn at line %d of %d", got.Torn.Line, got.Lines)
			}
		}
	})
}

// FuzzSum checks that equal values have equal hashes.
func FuzzSum(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":true}`, `{"c":true,"a":[1.0,{"b":null}]}`)
	f.Add(`{"a":1,"b":2}`, `{"a":2,"b":1}`)
	f.Add(`-0`, `0e999999999999999999999`)
	f.Add(`1e400`, `10e399`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, _, errX := wjson.Decode([]byte(a))
		y, _, errY := wjson.Decode([]byte(b))
		if errX != nil || errY != nil {
			return
		}
		if wjson.Equal(x, y) && sum(x) != sum(y) {
			t.Errorf("%s and %s are equal, and their sums are not", a, b)
		}
		if !wjson.Equal(x, y) {
			differ(x, y, "")
		}
	})
}

func TestSumsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, text := range []string{"null", "true", "false", "0", "1", `""`, `"0"`, `"null"`, "[]", "[0]", "[[]]", "[0,0]",
		"[0,1]", "[1,0]", "{}", `{"a":0}`, `{"a":1}`, `{"b":0}`,
		`{"a":0,"b":1}`, `{"a":1,"b":0}`, `{"a":{"b":0}}`, `{"":null}`, "[null]", `{"a":[0]}`} {
		v, _, err := wjson.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[sum(v)]; twice {
			t.Errorf("%s and %s have one sum", text, other)
		}
		seen[sum(v)] = text
	}
	if sumOf("a", nil) == sumOf("b", nil) {
		t.Error("the type is no part of the sum")
	}
}

// BenchmarkCheck checks a log of the size of a booking, without and with the messages of the wire.
func BenchmarkCheck(b *testing.B) {
	const n = 1000
	var log strings.Builder
	var messages []Message
	for i := range n {
		direction, typ, payload := "in", "tool.call",
			fmt.Sprintf(`{"toolName":"select","params":{"itemId":"m%d"},"reason":"Pick the first available movie option to `+
				`continue the flow."}`, i)
		if i%2 == 1 {
			direction, typ, payload = "out", "tool.result", fmt.Sprintf(`{"ok":true,"toolName":"select","n":%d}`, i)
		}
		log.WriteString(event(i, direction, typ, payload))
		v, _, _ := wjson.Decode([]byte(payload))
		messages = append(messages, Message{Direction: direction, Type: typ, Payload: v, Record: i + 1})
	}
	for name, o := range map[string]Options{"alone": {}, "messages": {Messages: messages, Complete: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(log.Len()))
			b.ReportAllocs()
			lines := 0
			for b.Loop() {
				r := Check(strings.NewReader(log.String()), o)
				if r.Failed() {
					b.Fatal(failures(r))
				}
				lines += r.Lines
			}
			b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
