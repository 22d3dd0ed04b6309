package mock

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"parley/simulator/replay"
	"parley/transport/transcript"
)

// table knows what stands for the ids of a message that came once more, or on another connection than was recorded.
type table struct {
	ids  *replay.IDs
	of   *played
	conn string // in the recording
}

// maxTables bounds those of a connection; the oldest is forgotten first.
const maxTables = 256

// readReceived reads what has come. It reports whether something recorded has come for the first time.
func (c *Client) readReceived(ctx context.Context, r transcript.Record) bool {
	l := c.conns[r.Conn]
	if r.Reply != 0 {
		delete(c.await, r.Reply)
	}
	by := c.asked[r.Reply]
	switch {
	case r.Reply != 0 && by == nil, by == nil && l == nil:
		return false
	case l != nil && l.ended && by == nil:
		return false
	}
	if r.Kind != transcript.Failure {
		c.call.Found()
	}
	if l != nil && r.Kind == transcript.Open {
		l.open = true
	}
	if l != nil && r.Kind == transcript.Closed {
		l.open, l.left = false, true
	}
	came := replay.ReadServer(c.o.Messages, r)
	if by != nil && r.Kind != transcript.Stream && r.Kind != transcript.Frame {
		delete(c.asked, r.Reply)
		return c.readAnswer(by, r, came)
	}
	if l == nil {
		return false
	}
	news, known := c.findRecorded(ctx, l, r, came)
	if !known && len(c.accepted) > 0 {
		c.excuses = true
		news, known = c.findRecorded(ctx, l, r, came)
		c.excuses = false
	}
	switch {
	case !known && l.over:
		c.result.Behind++
		return false
	case !known:
		c.reportUnknown(r, came, c.sameSort(l, came))
		c.keepUnrecorded(l, came)
		return false
	}
	c.result.Known++
	return news
}

// readAnswer takes the answer to a request or opening: as recorded, or as another of the kind was answered.
func (c *Client) readAnswer(by *asking, r transcript.Record, came replay.Message) bool {
	var all []*arrival
	if by.act.answer != nil {
		all = append(all, by.act.answer)
	}
	for _, p := range c.all {
		for _, d := range p.acts {
			if d != by.act && d.answer != nil && !d.ends && d.m.SamePlace(by.act.m) {
				all = append(all, d.answer)
			}
		}
	}
	for _, h := range all {
		ids := by.ids
		if h.of != by.act.of {
			ids = h.of.ids.Without(h.keys)
		}
		if replay.CountServerDifferences(h.m, came, ids, c.o.Ignore) == 0 {
			replay.CompareServer(h.m, came, ids, c.o.Ignore)
			c.result.Known++
			return c.noteArrival(h)
		}
	}
	if by.act.answer == nil { // the recording ends before
		c.result.Behind++
		return false
	}
	c.reportUnknown(r, came, all)
	return c.acceptAnswer(by, r, came)
}

// findRecorded finds the recorded message that came: one that has not come yet, or else one that came before, with
// other ids or on another connection. Then what the client answered with its ids is answered again.
func (c *Client) findRecorded(ctx context.Context, l *link, r transcript.Record, came replay.Message) (news,
	known bool) {
	own := l.of.bucketOf(l.conn, came.Sort())
	for _, h := range own.fresh {
		if c.isRecorded(h, came, l.of.ids) {
			own.moveToArrived(h)
			return c.noteArrival(h), true
		}
	}
	for _, h := range slices.Backward(own.came) {
		if c.isRecorded(h, came, l.of.ids) {
			return false, true
		}
	}
	for _, t := range slices.Backward(l.later) {
		for h := range t.of.bucketOf(t.conn, came.Sort()).arrivedFirst() {
			if c.isRecorded(h, came, t.ids) {
				c.answerRepeated(ctx, r.Conn, h, t)
				return false, true
			}
		}
	}
	for h := range own.arrivedFirst() {
		if len(h.fresh) == 0 {
			continue
		}
		if t := (&table{ids: l.of.ids.Without(h.fresh), of: l.of, conn: l.conn}); c.isRecorded(h, came, t.ids) {
			c.noteRepeatedIDs(ctx, r.Conn, l, h, t)
			return false, true
		}
	}
	for h := range c.sameSortElsewhere(l, came) {
		if t := (&table{ids: h.of.ids.Without(h.keys), of: h.of, conn: h.r.Conn}); c.isRecorded(h, came, t.ids) {
			c.noteRepeatedIDs(ctx, r.Conn, l, h, t)
			return false, true
		}
	}
	return false, false
}

// arrivedFirst returns the messages of a bucket: first those that have come.
func (b *arrivalsOfSort) arrivedFirst() iter.Seq[*arrival] {
	return func(yield func(*arrival) bool) {
		for _, h := range slices.Concat(b.came, b.fresh) {
			if !yield(h) {
				return
			}
		}
	}
}

// sameSortElsewhere returns the recorded messages of the sort of one that came on other connections than its own.
func (c *Client) sameSortElsewhere(l *link, came replay.Message) iter.Seq[*arrival] {
	return func(yield func(*arrival) bool) {
		for _, p := range c.all {
			for _, conn := range slices.Sorted(maps.Keys(p.buckets)) {
				if p == l.of && conn == l.conn {
					continue
				}
				for h := range p.bucketOf(conn, came.Sort()).arrivedFirst() {
					if !yield(h) {
						return
					}
				}
			}
		}
	}
}

// isRecorded reports whether what came is a recorded message, and learns its ids.
func (c *Client) isRecorded(h *arrival, came replay.Message, ids *replay.IDs) bool {
	if c.excuses {
		return c.isExcused(h, came, ids)
	}
	if replay.CountServerDifferences(h.m, came, ids, c.o.Ignore) > 0 {
		return false
	}
	replay.CompareServer(h.m, came, ids, c.o.Ignore)
	return true
}

// noteRepeatedIDs notes the ids of a message that came once more.
func (c *Client) noteRepeatedIDs(ctx context.Context, party string, l *link, h *arrival, t *table) {
	if l.later = append(l.later, t); len(l.later) > maxTables {
		l.later = l.later[1:]
	}
	c.answerRepeated(ctx, party, h, t)
}

// answerRepeated answers a message that came once more. That is no news: a server that asks upon each answer is not
// waited for.
func (c *Client) answerRepeated(ctx context.Context, party string, h *arrival, t *table) {
	for _, d := range h.answers {
		if d.asked.Kind != transcript.Frame && d.asked.Kind != transcript.Request {
			continue
		}
		t.ids.RedrawIDs(d.asked.Bytes, func(id string) bool { return !t.of.byServer[id] })
		if why, err := c.doAct(ctx, d, party, t.ids); why == "" && err == nil {
			c.result.Again++
		}
	}
}

// sameSort returns the recorded messages of the sort of one that came, those of its connection first.
func (c *Client) sameSort(l *link, came replay.Message) []*arrival {
	return slices.AppendSeq(slices.Collect(l.of.bucketOf(l.conn, came.Sort()).arrivedFirst()),
		c.sameSortElsewhere(l, came))
}

// reportUnknown says that a message came which no recording shows, with the one of all that is most like it.
func (c *Client) reportUnknown(r transcript.Record, came replay.Message, all []*arrival) {
	c.result.Unknown++
	text := came.Title()
	if r.Status != 0 {
		text += fmt.Sprint(" ", r.Status)
	}
	text = "never shown: " + replay.Shown(strings.TrimSpace(text+" "+string(r.Bytes)))
	var best *arrival
	places := 0
	for _, h := range all {
		if n := replay.CountServerDifferences(h.m, came, h.of.ids, c.o.Ignore); best == nil || n < places {
			best, places = h, n
		}
	}
	if best == nil {
		c.o.Unknown(text + nothingAlike)
		return
	}
	where := replay.CompareServer(best.m, came, best.of.ids.Clone(), c.o.Ignore)
	c.o.Unknown(text + describeDifference(best.r.N, best.of.name, where))
}
