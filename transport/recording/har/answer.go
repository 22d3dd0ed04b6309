package har

import (
	"fmt"

	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// addAnswerStream adds an answer that is an event stream, as the driver post records it. If the file does not have its
// content, that is unknown.
func (f *reading) addAnswerStream(e taken, of int) error {
	text, err := decodeBody(e.at+"/response/content", e.Response.Content.Text, e.Response.Content.Encoding)
	if err != nil {
		return err
	}
	head := transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Label: fmt.Sprint(e.Response.Status),
		Status: e.Response.Status, Type: e.Response.Content.MimeType}
	if len(text) == 0 {
		head.Cut = max(1, e.Response.Content.Size)
		f.addRecord(e.endTime(), of, head)
		return nil
	}
	f.addRecord(e.began.Add(boundMillis(e.Timings.Wait)), of, head)
	dec := wire.NewDecoder(wire.Limits{})
	for _, it := range append(dec.Feed(text), dec.Close()...) {
		f.addRecord(e.endTime(), of, sse.ItemRecord("", it))
	}
	last := transcript.Record{Dir: transcript.Received, Kind: transcript.Comment, Label: driver.AnswerEnded}
	if e.Response.Error != "" {
		last.Dir, last.Label = transcript.Sent, driver.AnswerLeft
	}
	f.addRecord(e.endTime(), of, last)
	return nil
}
