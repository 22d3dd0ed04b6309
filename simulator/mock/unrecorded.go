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

// unrecorded is a message that came and was never shown, for which a recorded one of its sort may be missed.
type unrecorded struct {
	l     *link
	came  replay.Message
	quiet deadline.Deadline // until then the recorded one may still come
}

// maxUnrecorded bounds the unrecorded messages that are kept, and the differences that are known.
const maxUnrecorded = 1000

// unrecordedLimit is how long a recorded message may still come behind an unrecorded one that is like it.
func (c *Client) unrecordedLimit() time.Duration { return c.o.Within / 10 }

// keepUnrecorded keeps a message that was never shown, if one of its sort was recorded and has not come.
func (c *Client) keepUnrecorded(l *link, came replay.Message) {
	if len(c.unrecorded) < maxUnrecorded && len(l.of.bucketOf(l.conn, came.Sort()).fresh) > 0 {
		c.unrecorded = append(c.unrecorded, unrecorded{l: l, came: came, quiet: deadline.In(c.unrecordedLimit())})
	}
}

// nextUnrecorded returns when an unrecorded message may stand for a recorded one at the earliest: nothing recorded
// may have come meanwhile. news is when that was.
func (c *Client) nextUnrecorded(news deadline.Deadline) (until deadline.Deadline, is bool) {
	if len(c.unrecorded) == 0 {
		return until, false
	}
	if until = c.unrecorded[0].quiet; until.Left() < news.Left() {
		until = news
	}
	return until, true
}

// acceptUnrecorded takes the first unrecorded message for the recorded one that it is most like, so that what waits
// for that is done. It reports whether there was one.
func (c *Client) acceptUnrecorded() bool {
	for len(c.unrecorded) > 0 {
		one := c.unrecorded[0]
		c.unrecorded = c.unrecorded[1:]
		own := one.l.of.bucketOf(one.l.conn, one.came.Sort())
		var best *arrival
		least := 0
		for _, h := range own.fresh {
			if n := replay.CountServerDifferences(h.m, one.came, one.l.of.ids, c.o.Ignore); best == nil || n < least {
				best, least = h, n
			}
		}
		if best == nil {
			continue
		}
		own.moveToArrived(best)
		c.acceptAsRecorded(best, replay.CompareServer(best.m, one.came, one.l.of.ids, c.o.Ignore))
		c.noteArrival(best)
		return true
	}
	return false
}

// acceptAsRecorded says that a message was taken for a recorded one, and knows its differences from then on.
func (c *Client) acceptAsRecorded(h *arrival, places []replay.Place) {
	for _, p := range places {
		if len(c.accepted) < maxUnrecorded {
			c.accepted[differenceName(h, p)] = true
		}
	}
	c.o.Unknown(fmt.Sprintf("goes on as if it were %s (record %d of %s)", h.m.Title(), h.r.N, h.of.name))
}

// differenceName names a difference, wherever in an array it is.
func differenceName(h *arrival, p replay.Place) string {
	tokens := strings.Split(p.At, "/")
	for i, token := range tokens {
		if _, err := strconv.Atoi(token); err == nil {
			tokens[i] = "*"
		}
	}
	return strings.Join([]string{h.m.Sort(), strings.Join(tokens, "/"), p.Recorded, p.Came}, "\x00")
}

// isExcused reports whether what came is a recorded message but for differences that were told before, and learns its
// ids.
func (c *Client) isExcused(h *arrival, came replay.Message, ids *replay.IDs) bool {
	for _, p := range replay.CompareServer(h.m, came, ids.Clone(), c.o.Ignore) {
		if !c.accepted[differenceName(h, p)] {
			return false
		}
	}
	replay.CompareServer(h.m, came, ids, c.o.Ignore)
	return true
}

// acceptAnswer takes an answer that was never shown for the recorded one: it answers that very request. One that opens
// nothing, or that did not come, is none.
func (c *Client) acceptAnswer(by *asking, r transcript.Record, came replay.Message) bool {
	h := by.act.answer
	if h.came || r.Kind != transcript.Response || by.act.asked.Kind != transcript.Request {
		return false
	}
	c.acceptAsRecorded(h, replay.CompareServer(h.m, came, by.ids, c.o.Ignore))
	return c.noteArrival(h)
}
