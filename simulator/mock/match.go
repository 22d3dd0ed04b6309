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

// take reads what has come. It reports whether something recorded has come for the first time.
func (c *Client) take(ctx context.Context, r transcript.Record) bool {
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
		return c.answered(by, r, came)
	}
	if l == nil {
		return false
	}
	news, known := c.recognise(ctx, l, r, came)
	if !known && len(c.accepted) > 0 {
		c.excuses = true
		news, known = c.recognise(ctx, l, r, came)
		c.excuses = false
	}
	switch {
	case !known && l.over:
		c.result.Behind++
		return false
	case !known:
		c.unknown(r, came, c.alike(l, came))
		c.keepOdd(l, came)
		return false
	}
	c.result.Known++
	return news
}

// answered takes the answer to a request or opening: as recorded, or as another of the kind was answered.
func (c *Client) answered(by *asking, r transcript.Record, came replay.Message) bool {
	var all []*heard
	if by.deed.answer != nil {
		all = append(all, by.deed.answer)
	}
	for _, p := range c.all {
		for _, d := range p.deeds {
			if d != by.deed && d.answer != nil && !d.ends && d.m.SamePlace(by.deed.m) {
				all = append(all, d.answer)
			}
		}
	}
	for _, h := range all {
		ids := by.ids
		if h.of != by.deed.of {
			ids = h.of.ids.Without(h.keys)
		}
		if replay.LikeServer(h.m, came, ids, c.o.Ignore) == 0 {
			replay.CompareServer(h.m, came, ids, c.o.Ignore)
			c.result.Known++
			return c.arrives(h)
		}
	}
	if by.deed.answer == nil { // the recording ends before
		c.result.Behind++
		return false
	}
	c.unknown(r, came, all)
	return c.acceptAnswer(by, r, came)
}

// recognise finds the recorded message that came: one that has not come yet, or else one that came before, with other
// ids or on another connection. Then what the client answered with its ids is answered again.
func (c *Client) recognise(ctx context.Context, l *link, r transcript.Record, came replay.Message) (news, known bool) {
	own := l.of.bucket(l.conn, came.Sort())
	for _, h := range own.fresh {
		if c.same(h, came, l.of.ids) {
			own.move(h)
			return c.arrives(h), true
		}
	}
	for _, h := range slices.Backward(own.came) {
		if c.same(h, came, l.of.ids) {
			return false, true
		}
	}
	for _, t := range slices.Backward(l.later) {
		for h := range t.of.bucket(t.conn, came.Sort()).all() {
			if c.same(h, came, t.ids) {
				c.again(ctx, r.Conn, h, t)
				return false, true
			}
		}
	}
	for h := range own.all() {
		if len(h.fresh) == 0 {
			continue
		}
		if t := (&table{ids: l.of.ids.Without(h.fresh), of: l.of, conn: l.conn}); c.same(h, came, t.ids) {
			c.begin(ctx, r.Conn, l, h, t)
			return false, true
		}
	}
	for h := range c.elsewhere(l, came) {
		if t := (&table{ids: h.of.ids.Without(h.keys), of: h.of, conn: h.r.Conn}); c.same(h, came, t.ids) {
			c.begin(ctx, r.Conn, l, h, t)
			return false, true
		}
	}
	return false, false
}

// all returns the messages of a bucket: first those that have come.
func (b *bucket) all() iter.Seq[*heard] {
	return func(yield func(*heard) bool) {
		for _, h := range slices.Concat(b.came, b.fresh) {
			if !yield(h) {
				return
			}
		}
	}
}

// elsewhere returns the recorded messages of the sort of one that came on other connections than its own.
func (c *Client) elsewhere(l *link, came replay.Message) iter.Seq[*heard] {
	return func(yield func(*heard) bool) {
		for _, p := range c.all {
			for _, conn := range slices.Sorted(maps.Keys(p.buckets)) {
				if p == l.of && conn == l.conn {
					continue
				}
				for h := range p.bucket(conn, came.Sort()).all() {
					if !yield(h) {
						return
					}
				}
			}
		}
	}
}

// same reports whether what came is a recorded message, and learns its ids.
func (c *Client) same(h *heard, came replay.Message, ids *replay.IDs) bool {
	if c.excuses {
		return c.excused(h, came, ids)
	}
	if replay.LikeServer(h.m, came, ids, c.o.Ignore) > 0 {
		return false
	}
	replay.CompareServer(h.m, came, ids, c.o.Ignore)
	return true
}

// begin notes the ids of a message that came once more.
func (c *Client) begin(ctx context.Context, party string, l *link, h *heard, t *table) {
	if l.later = append(l.later, t); len(l.later) > maxTables {
		l.later = l.later[1:]
	}
	c.again(ctx, party, h, t)
}

// again answers a message that came once more. That is no news: a server that asks upon each answer is not waited for.
func (c *Client) again(ctx context.Context, party string, h *heard, t *table) {
	for _, d := range h.answers {
		if d.asked.Kind != transcript.Frame && d.asked.Kind != transcript.Request {
			continue
		}
		t.ids.Fresh(d.asked.Bytes, func(id string) bool { return !t.of.byServer[id] })
		if why, err := c.act(ctx, d, party, t.ids); why == "" && err == nil {
			c.result.Again++
		}
	}
}

// alike returns the recorded messages of the sort of one that came, those of its connection first.
func (c *Client) alike(l *link, came replay.Message) []*heard {
	return slices.AppendSeq(slices.Collect(l.of.bucket(l.conn, came.Sort()).all()), c.elsewhere(l, came))
}

// unknown says that a message came which no recording shows, with the one of all that is most like it.
func (c *Client) unknown(r transcript.Record, came replay.Message, all []*heard) {
	c.result.Unknown++
	text := came.Title()
	if r.Status != 0 {
		text += fmt.Sprint(" ", r.Status)
	}
	text = "never shown: " + replay.Shown(strings.TrimSpace(text+" "+string(r.Bytes)))
	var best *heard
	places := 0
	for _, h := range all {
		if n := replay.LikeServer(h.m, came, h.of.ids, c.o.Ignore); best == nil || n < places {
			best, places = h, n
		}
	}
	if best == nil {
		c.o.Unknown(text + nothingAlike)
		return
	}
	where := replay.CompareServer(best.m, came, best.of.ids.Clone(), c.o.Ignore)
	c.o.Unknown(text + differing(best.r.N, best.of.name, where))
}
