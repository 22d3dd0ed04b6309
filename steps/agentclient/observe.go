package agentclient

import (
	"fmt"

	"parley/transport/transcript"
)

// Names of the observed page and its connections, as in runs.
const (
	observedPage = "A"
	ofRequests   = observedPage + " api"
)

// Observed implements steps.Witness: plain requests are those of the party "A api", and streams are "A api 1", "A api
// 2", …. The page of a request is unknown, so there can be only one page: the records end where a second stream is
// requested while another one is open.
func (Protocol) Observed(_ string, records []transcript.Record) []transcript.Record {
	names := map[string]string{}
	open := 0
	var out []transcript.Record
	for _, r := range records {
		switch {
		case r.Conn == "":
			r.Conn = ofRequests
		case r.Kind == transcript.Open && r.Dir == transcript.Received:
			if open > 0 {
				return out
			}
			open++
			names[r.Conn] = fmt.Sprintf("%s %d", ofRequests, len(names)+1)
		case r.Kind == transcript.Closed, r.Kind == transcript.Response, r.Kind == transcript.Failure:
			open = 0
		}
		if name := names[r.Conn]; name != "" {
			r.Conn = name
		}
		out = append(out, r)
	}
	return out
}
