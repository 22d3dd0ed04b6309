package r3labs

import wire "parley/transport/wire/sse"

// view holds the events of the stream by the standard.
type view struct {
	dec    *wire.Decoder
	events []string
}

// newView reads with the same limit as the codec that verdicts depend on.
func newView(max int) *view {
	return &view{dec: wire.NewDecoder(wire.Limits{MaxEvent: max, MaxLine: max})}
}

func (v *view) feedChunk(p []byte) { v.addItem(v.dec.Feed(p)) }

func (v *view) close() { v.addItem(v.dec.Close()) }

func (v *view) addItem(items []wire.Item) {
	for _, it := range items {
		if it.Kind == wire.Event {
			v.events = append(v.events, eventLine(it.Type, it.Data, it.ID))
		}
	}
}
