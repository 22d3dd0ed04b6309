package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/steps/sessionchat"
)

func scenarioOf(lines ...string) *godog.Scenario {
	sc := &godog.Scenario{}
	for _, l := range lines {
		sc.Steps = append(sc.Steps, &messages.PickleStep{Text: l})
	}
	return sc
}

// TestHeldTurns: however many scenarios run in parallel, no more turns wait for the model than a small target has
// workers. Other scenarios do not wait, nor does one that runs alone.
func TestHeldTurns(t *testing.T) {
	p := sessionchat.Protocol{}
	one := scenarioOf(`client A chats with "red" in a turn that is held`, `client A interrupts "red"`)
	two := scenarioOf(`client A starts a turn of "red" that is held`, `client A chats with "blue" in a turn that is held`)
	none := scenarioOf(`client A chats with "red"`, `the turn of "red" still runs`)
	most := scenarioOf(one.Steps[0].Text, one.Steps[0].Text, one.Steps[0].Text, one.Steps[0].Text, one.Steps[0].Text)
	synctest.Test(t, func(t *testing.T) {
		d := &driverRun{crowded: true, workers: newWorkers()}
		var free []func()
		for i, sc := range []*godog.Scenario{one, two, one, none, none} {
			held, err := d.occupyWorkers(t.Context(), p, sc)
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			free = append(free, func() { d.workers.giveBack(held) })
		}
		for name, sc := range map[string]*godog.Scenario{"one more": one, "one that needs all": most} {
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := d.occupyWorkers(short, p, sc); err == nil {
				t.Errorf("%s runs beside four held turns", name)
			}
			cancel()
		}
		d.crowded = false
		if _, err := d.occupyWorkers(t.Context(), p, most); err != nil {
			t.Errorf("alone: %v", err)
		}
		d.crowded = true
		for _, release := range free {
			release()
		}
		if _, err := d.occupyWorkers(t.Context(), p, most); err != nil {
			t.Errorf("with all workers free: %v", err)
		}
	})
}
