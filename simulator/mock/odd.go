package mock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/internal/deadline"
	"parley/simulator/replay"
	"parley/transport/transcript"
)

// odd is a message that came and was never shown, for which a recorded one of its sort may be missed.
type odd struct {
	l     *link
	came  replay.Message
	quiet deadline.Deadline // until then the recorded one may still come
}

// maxOdd bounds the odd messages that are kept, and the differences that are known.
const maxOdd = 1000

// patience is how long a recorded message may still come behind an odd one that is like it.
func (c *Client) patience() time.Duration { return c.o.Within / 10 }

// keepOdd keeps a message that was never shown, if one of its sort was recorded and has not come.
func (c *Client) keepOdd(l *link, came replay.Message) {
	if len(c.odd) < maxOdd && len(l.of.bucket(l.conn, came.Sort()).fresh) > 0 {
		c.odd = append(c.odd, odd{l: l, came: came, quiet: deadline.In(c.patience())})
	}
}

// nextOdd returns when an odd message may stand for a recorded one at the earliest: nothing recorded may have come
// meanwhile. news is when that was.
func (c *Client) nextOdd(news deadline.Deadline) (until deadline.Deadline, is bool) {
	if len(c.odd) == 0 {
		return until, false
	}
	if until = c.odd[0].quiet; until.Left() < news.Left() {
		until = news
	}
	return until, true
}

// acceptOdd takes the first odd message for the recorded one that it is most like, so that what waits for that is
// done. It reports whether there was one.
func (c *Client) acceptOdd() bool {
	for len(c.odd) > 0 {
		one := c.odd[0]
		c.odd = c.odd[1:]
		own := one.l.of.bucket(one.l.conn, one.came.Sort())
		var best *heard
		least := 0
		for _, h := range own.fresh {
			if n := replay.LikeServer(h.m, one.came, one.l.of.ids, c.o.Ignore); best == nil || n < least {
				best, least = h, n
			}
		}
		if best == nil {
			continue
		}
		own.move(best)
		c.accept(best, replay.CompareServer(best.m, one.came, one.l.of.ids, c.o.Ignore))
		c.arrives(best)
		return true
	}
	return false
}

// accept says that a message was taken for a recorded one, and knows its differences from then on.
func (c *Client) accept(h *heard, places []replay.Place) {
	for _, p := range places {
		if len(c.accepted) < maxOdd {
			c.accepted[difference(h, p)] = true
		}
	}
	c.o.Unknown(fmt.Sprintf("goes on as if it were %s (record %d of %s)", h.m.Title(), h.r.N, h.of.name))
}

// difference names a difference, wherever in an array it is.
func difference(h *heard, p replay.Place) string {
	tokens := strings.Split(p.At, "/")
	for i, token := range tokens {
		if _, err := strconv.Atoi(token); err == nil {
			tokens[i] = "*"
		}
	}
	return strings.Join([]string{h.m.Sort(), strings.Join(tokens, "/"), p.Recorded, p.Came}, "\x00")
}

// excused reports whether what came is a recorded message but for differences that were told before, and learns its
// ids.
func (c *Client) excused(h *heard, came replay.Message, ids *replay.IDs) bool {
	for _, p := range replay.CompareServer(h.m, came, ids.Clone(), c.o.Ignore) {
		if !c.accepted[difference(h, p)] {
			return false
		}
	}
	replay.CompareServer(h.m, came, ids, c.o.Ignore)
	return true
}

// acceptAnswer takes an answer that was never shown for the recorded one: it answers that very request. One that opens
// nothing, or that did not come, is none.
func (c *Client) acceptAnswer(by *asking, r transcript.Record, came replay.Message) bool {
	h := by.deed.answer
	if h.came || r.Kind != transcript.Response || by.deed.asked.Kind != transcript.Request {
		return false
	}
	c.accept(h, replay.CompareServer(h.m, came, by.ids, c.o.Ignore))
	return c.arrives(h)
}
