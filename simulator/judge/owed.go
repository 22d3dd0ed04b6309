package judge

import (
	"context"

	"parley/steps"
	"parley/steps/obligation"
)

// newOwing returns what follows the debts of the program on a connection; nil if the protocol has no model of such a
// program, or if only all records show which of them a test would have (steps.Witness).
func (j *Judge) newOwing(conn string) *steps.Owing {
	if _, filters := j.protocol.(steps.Witness); filters || j.client {
		return nil
	}
	return steps.NewOwing(j.protocol, j.role.Name, conn, obligation.Foreign)
}

// Owed returns what the program owes now, the oldest first: at most steps.MostOwed, and how many there are. modelled
// is false if the protocol has no model of such a program. What a doubt leaves unknown is not listed. Each record is
// read once.
func (j *Judge) Owed() (list []steps.Owed, count int, modelled bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.modelled {
		return nil, 0, false
	}
	j.readRecords()
	for _, one := range j.tapes {
		if one.partly || one.full || one.ended {
			continue
		}
		some, n := one.owing.Now(j.t.Began())
		list, count = steps.JoinOwed(list, some), count+n
	}
	if j.place == nil {
		return list, count, true
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is waited for
	for i := range list {
		if at := j.t.Page(list[i].Record-1, 1); len(at) > 0 && at[0].N == list[i].Record {
			list[i].Record = j.place(ctx, at[0])
		}
	}
	return list, count, true
}
