package steps

import "parley/transcript"

// Between returns the received records of a party numbered above after and below before (0: no upper bound), except
// those that came after we closed its connection.
func (w *World) Between(conn string, after, before int) []transcript.Record {
	all := w.T.After(after)
	within := func(r *transcript.Record) bool {
		return r.Conn == conn && r.Dir == transcript.Received && !r.Late && (before == 0 || r.N < before)
	}
	n := 0
	for i := range all {
		if within(&all[i]) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]transcript.Record, 0, n)
	for i := range all {
		if within(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}
