package runner

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"parley/steps"
	"parley/transport/transcript"
)

// The transcripts of all scenarios of a process have a bounded memory together (transcript.Together), and what exceeds
// it is lost. A target that sends much without flooding, such as a host with a long uiSpec, may therefore have no more
// scenarios at once than fit. Each scenario reserves what it took when it last ran in this process, against this target
// or another one, and begins once that is free. The first time this is unknown: scenarios that lose records by it run
// again (driverRun.alone).

// memory is that of the scenarios of this process.
var memory = newRations(transcript.Together)

const (
	modest = 64 << 10                // reserved for a scenario that has not run yet; most take less
	greedy = transcript.Together / 4 // the most that a scenario reserves: its target floods it, however much there is
)

// rations shares memory among scenarios. It is safe for concurrent use.
type rations struct {
	free *semaphore.Weighted
	mu   sync.Mutex
	took map[string]int64
}

func newRations(bytes int64) *rations {
	return &rations{free: semaphore.NewWeighted(bytes), took: map[string]int64{}}
}

// reserve blocks until there is memory for a scenario, and returns what gives it back.
func (r *rations) reserve(ctx context.Context, scenario string) (giveBack func(), err error) {
	r.mu.Lock()
	need := min(max(r.took[scenario], modest), greedy)
	r.mu.Unlock()
	if err := r.free.Acquire(ctx, need); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { r.free.Release(need) }, nil
}

// ended takes in how much memory a scenario has taken. One that lost records would have taken more.
func (r *rations) ended(scenario string, res steps.Result) {
	took := int64(res.Memory())
	if res.Lost > 0 {
		took *= 2
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[scenario] = max(took, r.took[scenario]/2) // another target may take less
}

// memoryName names a scenario among those of all protocols and roles.
func (r *run) memoryName(pl Planned) string {
	return steps.Name(r.protocol) + " " + r.role + " " + pl.ID
}
