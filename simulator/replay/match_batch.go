package replay

import (
	"context"
	"slices"
	"time"

	"parley/internal/deadline"
	"parley/transport/transcript"
)

// settleBatch waits for what the batch says is to come, compares it, and empties the batch.
func (p *player) settleBatch(ctx context.Context) error {
	var order []thread
	of := map[thread][]message{}
	for _, m := range p.batch {
		key := p.side.threadOf(m.Record)
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], m)
	}
	p.batch, p.size, p.some = nil, 0, false
	for _, key := range order {
		if key.place != "" {
			for _, want := range of[key] {
				if err := p.awaitRequest(ctx, key, want, of); err != nil {
					return err
				}
			}
			continue
		}
		came, whole, err := p.awaitThread(ctx, key, of[key])
		if err != nil {
			return err
		}
		p.pairMessages(key, of[key], came)
		if !whole {
			p.answerUnasked(of)
		}
	}
	return nil
}

// answerUnasked answers what the other side has asked and was not recorded to ask now: it may wait for that.
func (p *player) answerUnasked(wanted map[thread][]message) {
	for _, key := range p.came.waitingThreads() {
		if wanted[key] != nil {
			continue
		}
		all, _ := p.came.lookAt(key)
		for _, m := range all {
			p.reportExtra(m)
		}
		p.came.removeFirst(key, len(all))
	}
}

// awaitRequest waits for an opening or request, and compares it. The order of those to one place does not count, since
// they come on connections of their own: of several the one that is most like what was recorded is taken.
func (p *player) awaitRequest(ctx context.Context, key thread, want message, all map[thread][]message) error {
	limit, grace := deadline.In(p.waitLimit()), deadline.In(p.o.Quiet)
	stuck := false
	for {
		came, changed := p.came.lookAt(key)
		best, places := p.nearestMessage(want, came)
		if best >= 0 && (places == 0 || grace.Over()) {
			p.tired = false
			p.comparePair(want, came[best])
			p.came.takeOne(key, best)
			return nil
		}
		if limit.Over() && p.side.mayThink() {
			limit = deadline.In(p.waitLimit())
		}
		if limit.Over() {
			p.tired = len(came) == 0
			p.reportMissing(want)
			p.answerUnasked(all)
			return nil
		}
		next := limit
		if best >= 0 || !stuck {
			next = grace
		}
		if best < 0 && !stuck && grace.Over() {
			early, err := p.playEarlier(ctx, []message{want}, false)
			if err != nil {
				return err
			}
			grace, stuck = deadline.In(p.o.Quiet), !early
			continue
		}
		if err := waitForChange(ctx, changed, next); err != nil {
			return err
		}
	}
}

// maxLike bounds the messages of which the one that is most like another is sought.
const maxLike = 64

// nearestMessage returns the index of the message that is most like another, and at how many places it differs; -1 for
// none.
func (p *player) nearestMessage(want message, came []message) (best, places int) {
	best = -1
	for i, m := range came[:min(len(came), maxLike)] {
		if m.messageSort != want.messageSort {
			continue
		}
		c := comparison{ids: p.ids, ignore: p.o.Ignore, kind: want.name, exact: p.o.Words}
		p.ids.tryForgetting(func() { c.compareMessages(want, m) })
		if best < 0 || len(c.found) < places {
			best, places = i, len(c.found)
		}
	}
	return best, places
}

// waitForChange waits for a change, or a deadline.
func waitForChange(ctx context.Context, changed <-chan struct{}, until deadline.Deadline) error {
	rung := make(chan struct{})
	stop := until.AfterFunc(func() { close(rung) })
	defer stop()
	select {
	case <-changed:
	case <-rung:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// awaitThread waits until all that is wanted of a thread has come, in its order but not necessarily alone, or until
// nothing has come for the limit. It returns what has come, and whether that is all.
func (p *player) awaitThread(ctx context.Context, key thread, want []message) (_ []message, whole bool, _ error) {
	limit := deadline.In(p.waitLimit())
	want = p.neededMessages(want)
	found := 0 // of want, within the first seen of what came
	grace := deadline.In(p.o.Quiet)
	for seen, stuck := 0, false; ; {
		came, changed := p.came.lookAt(key)
		if len(came) > seen {
			limit = deadline.In(p.waitLimit())
		}
		for ; seen < len(came) && found < len(want); seen++ {
			if came[seen].messageSort == want[found].messageSort {
				found++
			}
		}
		if len(came) > 0 {
			p.tired = false
		}
		if found == len(want) || threadIsOver(key, came) || len(came) >= maxWaiting {
			return came, found == len(want), nil
		}
		if limit.Over() && p.side.mayThink() {
			limit = deadline.In(p.waitLimit())
		}
		if limit.Over() {
			p.tired = len(came) == 0
			return came, false, nil
		}
		next := limit
		if !stuck {
			if grace.Over() {
				early, err := p.playEarlier(ctx, want[found:], found > 0)
				if err != nil {
					return nil, false, err
				}
				grace, stuck = deadline.In(p.o.Quiet), !early
				continue
			}
			next = grace
		}
		if err := waitForChange(ctx, changed, next); err != nil {
			return nil, false, err
		}
	}
}

// waitLimit is how long to wait. Once nothing at all has come for the limit, the other side has probably gone, and gets
// less time until something comes.
func (p *player) waitLimit() time.Duration {
	if p.tired {
		return min(p.o.Quiet, p.o.Within)
	}
	return p.o.Within
}

// threadIsOver reports whether nothing more can come in a thread: the connection has ended, or the request is answered.
func threadIsOver(key thread, came []message) bool {
	if len(came) == 0 || key.place != "" {
		return false
	}
	last := came[len(came)-1].Kind
	return last == transcript.Closed || last == transcript.Failure ||
		key.reply != 0 && (last == transcript.Response || last == transcript.Open)
}

// neededMessages returns what has to come: of messages in a row whose number depends on a model, one.
func (p *player) neededMessages(want []message) []message {
	if p.o.Words {
		return want
	}
	var out []message
	for _, m := range want {
		if n := len(out); n == 0 || !m.mayRepeat() || out[n-1].messageSort != m.messageSort {
			out = append(out, m)
		}
	}
	return out
}

// pairMessages compares what was recorded of a thread with what has come. Of all ways to pair messages of the same sort
// in their order, it takes one with the most pairs. What came behind the last pair stays, since it may be recorded
// later.
func (p *player) pairMessages(key thread, want, came []message) {
	paired := map[messageSort]bool{}
	extra := func(m message) {
		if p.ignoresRecord(m) || !p.o.Words && m.mayRepeat() && (m.messageSort == p.lately[key] || recordedToo(want, m)) {
			p.side.noteSurplus(m)
			return
		}
		p.reportExtra(m)
		if m.mayRepeat() {
			p.lately[key] = m.messageSort // once is enough
		}
	}
	missing := func(m message) {
		if p.o.Words || !m.mayRepeat() || !paired[m.messageSort] && !cameToo(came, m) {
			p.reportMissing(m)
		}
	}
	took := walkPairs(longestPairs(want, came), want, came, missing, extra, func(w, c message) {
		paired[w.messageSort] = true
		p.comparePair(w, c)
	})
	for !p.o.Words && took < len(came) && took > 0 && came[took].mayRepeat() &&
		came[took].messageSort == came[took-1].messageSort {
		took++ // more of what was recorded
	}
	if last := want[len(want)-1]; key.reply == 0 && last.mayRepeat() {
		p.lately[key] = last.messageSort
	} else {
		delete(p.lately, key)
	}
	p.came.removeFirst(key, took)
}

// walkPairs calls both for each pair, and missing and extra for what stands between and behind them of want, and before
// the last pair of came. It returns how many of came it has passed.
func walkPairs(pairs [][2]int, want, came []message, missing, extra func(message), both func(want, came message)) int {
	recorded, took := 0, 0
	for _, two := range pairs {
		for ; recorded < two[0]; recorded++ {
			missing(want[recorded])
		}
		for ; took < two[1]; took++ {
			extra(came[took])
		}
		both(want[two[0]], came[two[1]])
		recorded, took = two[0]+1, two[1]+1
	}
	for ; recorded < len(want); recorded++ {
		missing(want[recorded])
	}
	return took
}

func recordedToo(want []message, m message) bool {
	return slices.ContainsFunc(want, func(w message) bool { return w.messageSort == m.messageSort })
}

func cameToo(came []message, m message) bool { return recordedToo(came, m) }

// playEarlier plays something of this side that was recorded later, since the other side may wait for it: what it says
// may answer a message of the batch that has come, or be the first on a connection, unless it depends on a message that
// has not come yet. It waits for a peer that has not asked yet.
func (p *player) playEarlier(ctx context.Context, pending []message, some bool) (bool, error) {
	return p.side.playEarly(ctx, pending, some || p.some)
}

func (p *player) comparePair(want, got message) {
	p.some = true
	p.result.Compared++
	p.newest = max(p.newest, got.N)
	p.side.notePaired(want, got)
	c := comparison{ids: p.ids, ignore: p.o.Ignore, kind: want.name, exact: p.o.Words}
	if places := c.compareMessages(want, got); len(places) > 0 {
		p.reportDifference(Difference{N: want.N, Message: want.titleFor(), Places: places, recorded: &want, came: &got})
	}
}

// longestPairs returns the indices of a longest series of pairs of the same sort, in the order of both. Where both are
// long, it pairs each with the next of its sort.
func longestPairs(want, came []message) [][2]int {
	if pairs := pairNext(want, came); len(pairs) == len(want) || len(want)*len(came) > maxBatch*maxBatch {
		return pairs
	}
	table := make([][]int, len(want)+1) // pairs among what is behind
	for i := range table {
		table[i] = make([]int, len(came)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(came) - 1; j >= 0; j-- {
			if table[i][j] = max(table[i+1][j], table[i][j+1]); want[i].messageSort == came[j].messageSort {
				table[i][j] = max(table[i][j], table[i+1][j+1]+1)
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(want) && j < len(came); {
		switch {
		case want[i].messageSort == came[j].messageSort && table[i][j] == table[i+1][j+1]+1:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// pairNext pairs each with the next of its sort.
func pairNext(want, came []message) [][2]int {
	var out [][2]int
	at := 0
	for i, w := range want {
		if j := slices.IndexFunc(came[at:], func(c message) bool { return c.messageSort == w.messageSort }); j >= 0 {
			out = append(out, [2]int{i, at + j})
			at += j + 1
		}
	}
	return out
}
