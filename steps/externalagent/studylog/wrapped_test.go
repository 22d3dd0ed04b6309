package studylog

import (
	"strings"
	"testing"
)

const (
	wrappedTold    = `out state.updated {"source":"host","uiSpec":{"a":1},"messageHistory":[],"toolSchema":[]}`
	wrappedSaid    = `out user.message {"text":"hi","stage":"time"}`
	wrappedCall    = `out tool.call {"message":{"toolName":"select","params":{"itemId":"m1","n":[1,2]},"reason":"first"}}`
	wrappedAnyway  = wrappedWrapper + "message"
	wrappedWrapper = "a wrapper around it: the payload is at /payload/"
)

var wrappedAround = func(line, open, end string) string {
	f := strings.SplitN(line, " ", 3)
	return f[0] + " " + f[1] + " " + open + f[2] + end
}

var wrappedRows = []struct {
	reason string
	sent   []string // nil: the messages are unknown
	log    []string
	want   string // text in the EA-093 findings; "" for none
}{
	{"as they are", []string{call, "optional " + wrappedTold}, []string{call, wrappedTold}, ""},
	{"an optional one, and others that are not", []string{call, "optional " + wrappedTold},
		[]string{call, wrappedAround(wrappedTold, `{"message":`, "}")}, wrappedWrapper + "message"},
	{"an optional one, more often than it was sent", []string{call, "optional " + wrappedTold},
		[]string{call, wrappedAround(wrappedTold, `{"at":1,"data":`, "}"), wrappedAround(wrappedTold, `{"data":`, "}")},
		wrappedWrapper + "data"},
	{"beside a correct line", []string{call, "optional " + wrappedTold},
		[]string{call, wrappedTold, wrappedAround(wrappedTold, `{"data":`, "}")}, wrappedWrapper + "data"},
	{"one that must be there", []string{call, result}, []string{call, wrappedAround(result, `{"result":`, "}")},
		wrappedWrapper +
			"result"},
	{"of what an agent has sent", []string{wrappedAround(call, "", "")}, []string{wrappedAround(call, `{"payload":`, "}")},
		wrappedWrapper +
			"payload"},
	{"one that is not compared", []string{call}, []string{wrappedAround(started, `{"payload":`, "}"), call},
		wrappedWrapper +
			"payload"},
	{"an internal event has no message", []string{call}, []string{call, "internal" +
		strings.TrimPrefix(wrappedAround(call, `{"call":`, "}"), "in")}, ""},
	{"an empty payload stands anywhere", []string{get}, []string{get, `in snapshot.get {"filter":{}}`}, ""},

	{"the messages are unknown", nil, []string{call, wrappedTold, wrappedSaid, result}, ""},
	{"the messages are unknown, and a whole envelope", nil,
		[]string{wrappedAround(`out error {"code":"UNKNOWN_TOOL","message":"m"}`, `{"v":"mvp-0.2","type":"error","payload":`,
			"}")},
		wrappedWrapper + "payload"},
	{"the messages are unknown, and a state", nil, []string{wrappedAround(wrappedTold, `{"message":`, "}")},
		wrappedWrapper + "message"},
	{"the messages are unknown, and a word", nil, []string{wrappedAround(wrappedSaid, `{"to":"agent","data":`, "}")},
		wrappedWrapper +
			"data"},
	{"a result whose uiSpec has ok", nil, []string{`out tool.result {"ok":true,"toolName":"next","uiSpec":{"ok":true}}`},
		""},
	{"an error, which a profile may have elsewhere", nil,
		[]string{`out error {"error":{"code":"UNKNOWN_TOOL","message":"m"}}`}, ""},
	// EA-091 sees through a wrapper, as EA-093 does.
	{"received, and sent on in a wrapper", nil, []string{call, wrappedCall}, wrappedAnyway},
	{"sent on in a wrapper, and received", nil, []string{wrappedCall, call}, wrappedAnyway},
	{"half of a state", nil, []string{`out state.updated {"delta":{"uiSpec":{}}}`}, ""},
}

// TestWrapped checks that a payload within another object is not the payload of the message, whether or not the
// message is known.
func TestWrapped(t *testing.T) {

	for _, r := range wrappedRows {
		t.Run(r.reason, func(t *testing.T) {
			o := Options{Complete: true}
			if r.sent != nil {
				o.Messages = sent(t, r.sent...)
			}
			got := Check(strings.NewReader(wrote(r.log...)), o)
			found := ""
			for _, f := range got.Findings {
				if !f.OK && f.Clause != "EA-093" {
					t.Errorf("%v", f)
				}
				if !f.OK && f.Clause == "EA-093" {
					found = f.Observed
				}
			}
			if found != r.want {
				t.Errorf("found %q, want %q", found, r.want)
			}
		})
	}
}
