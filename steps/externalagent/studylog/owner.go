package studylog

import (
	"fmt"

	wjson "parley/transport/wire/json"
)

// owner says to which session a line belongs. A file may hold several sessions, whether or not one is expected.
type owner int

const (
	mine    owner = iota // of the expected session or, if none is expected, of the session that it names
	nobodys              // without a session: the expected one's, unless the file has others
	others               // of another session, and not judged
)

// ownerOf returns the owner of an event by its sessionId.
func (c *checker) ownerOf(event wjson.Object) owner {
	id, named := event["sessionId"].(string)
	switch {
	case !named:
		return nobodys
	case c.o.Session != "" && id != c.o.Session:
		return others
	}
	return mine
}

// shared reports whether the file holds sessions other than the expected one.
func (c *checker) shared() bool { return c.strange > 0 }

// stranger takes a line of another session. It may be a line of the expected session logged under a wrong id.
func (c *checker) stranger(event wjson.Object) {
	id := event["sessionId"].(string)
	c.known(id)
	if c.strange++; c.strange == 1 {
		c.other, c.otherAt = id, c.number()
	}
	typ, _ := event["type"].(string)
	direction, _ := event["direction"].(string)
	if payload, ok := event["payload"].(wjson.Object); ok && c.wire.knows(typ) {
		c.wire.elsewhere(sumOf(typ, payload), typ, direction, payload, c.number(), id)
	}
}

// settleOwners decides at the end to which session the lines without one belong, and judges whether the expected
// session has its own lines (EA-086).
func (c *checker) settleOwners() {
	if !c.shared() {
		if len(c.last) <= 1 || c.o.Session != "" { // otherwise their order among several sessions is undefined
			c.book.merge(c.loose)
		}
		c.wire.merge()
		return
	}
	if n := c.loose.count(); n > 0 {
		c.book.note(0, "lines that name no session are not judged, because the file contains several sessions")
	}
	if c.owned == 0 {
		c.book.breaks(Finding{Clause: "EA-086", Line: c.otherAt,
			Expected: fmt.Sprintf("sessionId %s, the session's", show(c.o.Session)), Observed: show(c.other)})
		c.book.note(0, "no line has the sessionId of the session: "+show(c.o.Session))
		c.wire.adopt()
	}
}

// known records the ids to report.
func (c *checker) known(id string) {
	if s := &c.report.Sessions; len(*s) < maxSessions {
		short := plain(id)
		for _, old := range *s {
			if old == short {
				return
			}
		}
		*s = append(*s, short)
	}
}

// place is an eventIndex and its line.
type place struct {
	index wjson.Number
	line  int
}

// ordered judges that the index of a line is above that of the previous line of the same session (EA-088). Lines
// without a session belong to the file's only session; with several sessions they cannot be judged.
func (c *checker) ordered(n wjson.Number, id string, who owner) {
	here := place{n, c.number()}
	before, seen := c.last[id]
	if who == nobodys {
		before, seen = c.latest, c.latest.line > 0
	}
	if who == nobodys || c.latestLoose && before.line < c.latest.line {
		c.compare(c.loose, c.latest, here)
	}
	if who == mine && seen {
		c.compare(c.book, before, here)
	}
	if who == mine && (seen || len(c.last) < maxTracked) {
		c.last[id] = here
	}
	c.latest, c.latestLoose = here, who == nobodys
}

func (c *checker) compare(b *book, before, here place) {
	if before.line == 0 {
		return
	}
	switch order, told := compare(before.index, here.index); {
	case !told:
		c.book.note(here.line, "eventIndex is too large to be compared")
	case order < 0:
		b.kept("EA-088", here.line)
	default:
		b.breaks(Finding{Clause: "EA-088", Line: here.line, Expected: fmt.Sprintf("eventIndex above %s, that of line %d",
			show(before.index), before.line), Observed: show(here.index)})
	}
}
