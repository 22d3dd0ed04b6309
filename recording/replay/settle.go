package replay

import (
	"context"
	"slices"

	"parley/internal/deadline"
	"parley/transcript"
)

// settle waits for what the batch says is to come, compares it, and empties the batch.
func (p *player) settle(ctx context.Context) error {
	var order []thread
	of := map[thread][]transcript.Record{}
	for _, r := range p.batch {
		key := thread{conn: r.Conn}
		if r.Reply != 0 {
			key.reply = p.marks[r.Reply]
		}
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], r)
	}
	p.batch, p.size = nil, 0
	for _, key := range order {
		came, err := p.await(ctx, key, of[key])
		if err != nil {
			return err
		}
		p.pair(key, of[key], came)
	}
	return nil
}

// sort is what a message is taken for: only those of the same sort are compared.
type sort struct {
	kind transcript.Kind
	name string
}

func sortOf(r transcript.Record) sort {
	if r.Kind == transcript.Stream || r.Kind == transcript.Frame {
		return sort{r.Kind, typeOf(r.Bytes)}
	}
	return sort{kind: r.Kind}
}

// await waits until all that is wanted of a thread has come, in its order but not necessarily alone, or until nothing
// has come for the limit. It returns what has come.
func (p *player) await(ctx context.Context, key thread, want []transcript.Record) ([]transcript.Record, error) {
	limit := deadline.In(p.o.Within)
	for seen := 0; ; {
		came, changed := p.came.look(key)
		if within(want, came) || limit.Over() {
			return came, nil
		}
		if len(came) > seen {
			seen, limit = len(came), deadline.In(p.o.Within)
		}
		over := make(chan struct{})
		stop := limit.AfterFunc(func() { close(over) })
		select {
		case <-changed:
		case <-over:
		case <-ctx.Done():
			stop()
			return nil, context.Cause(ctx)
		}
		stop()
	}
}

// within reports whether came has all sorts of want in their order.
func within(want, came []transcript.Record) bool {
	for _, w := range want {
		i := slices.IndexFunc(came, func(c transcript.Record) bool { return sortOf(c) == sortOf(w) })
		if i < 0 {
			return false
		}
		came = came[i+1:]
	}
	return true
}

// pair compares what was recorded of a thread with what has come. Of all ways to pair messages of the same sort in
// their order, it takes one with the most pairs. What came behind the last pair stays, since it may be recorded later.
func (p *player) pair(key thread, want, came []transcript.Record) {
	recorded, took := 0, 0
	for _, two := range longest(want, came) {
		for ; recorded < two[0]; recorded++ {
			p.missing(want[recorded])
		}
		for ; took < two[1]; took++ {
			p.extra(came[took])
		}
		p.compare(want[two[0]], came[two[1]])
		recorded, took = two[0]+1, two[1]+1
	}
	for ; recorded < len(want); recorded++ {
		p.missing(want[recorded])
	}
	p.came.take(key, took)
}

func (p *player) missing(w transcript.Record) {
	p.differs(Difference{N: w.N, Message: title(w) + " did not come",
		Recorded: shown(string(w.Bytes))})
}

func (p *player) compare(want, got transcript.Record) {
	p.result.Compared++
	c := comparison{ids: p.ids, ignore: p.o.Ignore, kind: typeOf(want.Bytes)}
	for _, d := range c.records(want, got) {
		d.N, d.Message = want.N, title(want)
		p.differs(d)
	}
}

// longest returns the indices of a longest series of pairs of the same sort, in the order of both. Where both are long,
// it pairs each with the next of its sort.
func longest(want, came []transcript.Record) [][2]int {
	if len(want)*len(came) > maxBatch*maxBatch || within(want, came) {
		return next(want, came)
	}
	w, c := sorts(want), sorts(came)
	table := make([][]int, len(w)+1) // pairs among what is behind
	for i := range table {
		table[i] = make([]int, len(c)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(c) - 1; j >= 0; j-- {
			if table[i][j] = max(table[i+1][j], table[i][j+1]); w[i] == c[j] {
				table[i][j] = max(table[i][j], table[i+1][j+1]+1)
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(w) && j < len(c); {
		switch {
		case w[i] == c[j] && table[i][j] == table[i+1][j+1]+1:
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

// next pairs each with the next of its sort.
func next(want, came []transcript.Record) [][2]int {
	var out [][2]int
	c := sorts(came)
	at := 0
	for i, w := range sorts(want) {
		if j := slices.Index(c[at:], w); j >= 0 {
			out = append(out, [2]int{i, at + j})
			at += j + 1
		}
	}
	return out
}

func sorts(records []transcript.Record) []sort {
	out := make([]sort, len(records))
	for i, r := range records {
		out[i] = sortOf(r)
	}
	return out
}
