package main

import (
	"strings"
	"testing"

	"parley/internal/tier"
)

// TestSummary: what fails is printed with its output, also where the package breaks off; what is left out is counted
// by its reason, and what is skipped for another one is named.
func TestSummary(t *testing.T) {
	const stream = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    good_test.go:3: chatter\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"run","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    bad_test.go:3: 1 is 2\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"run","Package":"p","Test":"TestLate"}
{"Action":"output","Package":"p","Test":"TestLate","Output":"    late_test.go:9: LATE\n"}
{"Action":"skip","Package":"p","Test":"TestLate"}
{"Action":"run","Package":"p","Test":"TestDisk"}
{"Action":"output","Package":"p","Test":"TestDisk","Output":"=== RUN   TestDisk\n"}
{"Action":"output","Package":"p","Test":"TestDisk","Output":"--- SKIP: TestDisk (0.00s)\n"}
{"Action":"output","Package":"p","Test":"TestDisk","Output":"    disk_test.go:9: no disk\n"}
{"Action":"skip","Package":"p","Test":"TestDisk"}
{"Action":"run","Package":"p","Test":"TestCrash"}
{"Action":"output","Package":"p","Test":"TestCrash","Output":"panic: boom\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
{"Action":"build-output","ImportPath":"r","Output":"r.go:1: syntax error\n"}
`
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(strings.ReplaceAll(stream, "LATE", tier.AtNight))); err != nil {
		t.Fatal(err)
	}
	s.printSummary()
	const want = `    bad_test.go:3: 1 is 2
FAIL	p	0.1s
panic: boom
r.go:1: syntax error
2 tests and rows of tests ran.
1 left out: make test-all runs it
skipped: p TestDisk (0.00s): disk_test.go:9: no disk
`
	if out.String() != want {
		t.Errorf("it prints\n%s\nwant\n%s", &out, want)
	}
	if err := s.read(strings.NewReader("no JSON")); err == nil {
		t.Error("what is no JSON is no error")
	}
}
