package odd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// change replaces a text in one of the Python orchestrator's files.
type change struct{ file, from, to string }

// oddRuntimes conform in ways that the examples do not. Each is the Python orchestrator with changes.
var oddRuntimes = []struct {
	name, reason string
	changes      []change
}{
	{"agent of the answer", "takes the agent from the answer to its prompt, and calls it otherwise in the prompt",
		[]change{
			{"orchestrator.py", `        to = tx.payload["target_agent_id"]`, `        to = msg["payload"]["target_agent_id"]`},
			{"orchestrator.py", `{**tx.payload, "turn_id": turn_id,`, `{
                **{k: v for k, v in tx.payload.items() if k not in ("target_agent", "target_agent_id")},
                "successor": tx.payload["target_agent_id"], "turn_id": turn_id,`},
		}},
	{"agent of the transaction", "asks in words, and knows for itself what it has asked", []change{
		{"orchestrator.py", `"HANDOVER_UI_PROMPT", "FRONTEND", self._handover_payload(tx),`,
			`"HANDOVER_UI_PROMPT", "FRONTEND",
                   "{from_agent_id} -> {target_agent_id}: {reason}; {summary}".format(**tx.payload),`},
	}},
	{"works in tasks", "leaves each message to a task, which the adapter lets run before it answers a fence",
		[]change{{"adapter.py", handles, `        asyncio.create_task(later(frame))
`}, {"adapter.py", "async def settle", `async def later(frame):
    for _ in range(9):
        await asyncio.sleep(0)
    await runtimes[frame["session_id"]].on_message(frame)


async def settle`}}},
	{"works in tasks, with early fences", "leaves each message to a worker, and its fences tell nothing", []change{
		{"adapter.py", handles, `        work.put_nowait((runtimes[frame["session_id"]], frame))
`},
		{"adapter.py", "        await settle()\n", ""},
		{"adapter.py", "    loop = asyncio.get_running_loop()\n", `    loop = asyncio.get_running_loop()
    global work
    work = asyncio.Queue()

    async def worker():
        while True:
            runtime, frame = await work.get()
            await asyncio.sleep(0.003)
            await runtime.on_message(frame)

    working = asyncio.create_task(worker())
`}}},
	{"stops, then switches", "a switch of the user's stops who is speaking, and is announced behind that",
		[]change{{"orchestrator.py", switchesOnRequest, stops + switchesOnRequest}}},
	{"one slot", "has one speaking_agent_id: who spoke last", oneSlot},
	{"one slot, and any end", "has one speaking_agent_id: who spoke last, and nobody as soon as any turn has ended",
		append(oneSlot,
			change{"orchestrator.py", `            self.context.speaking.remove(turn)
`, `            pass
        self.context.speaking.clear()
`})},
	{"one slot, and the latest chunk", "has one speaking_agent_id: whose chunk was the latest",
		[]change{{"orchestrator.py", listed, `        self.context.speaking = [turn]
`}}},
	{"names no transaction",
		"asks SessionManager and the user without the ids of its transactions, and finds them again by the agent", []change{
			{"orchestrator.py", `                   "SYSTEM", tx.payload, ids_of(tx))
        if tx.kind == REMOVE:`, `                   "SYSTEM", tx.payload,
                   {} if tx.kind in (REMOVE, ADD) else ids_of(tx))
        if tx.kind == REMOVE:`},
			{"orchestrator.py", `"HANDOVER_UI_PROMPT", "FRONTEND", self._handover_payload(tx), ids_of(tx))`,
				`"HANDOVER_UI_PROMPT", "FRONTEND", {**self._handover_payload(tx), "turn_id": None}, {})`},
		}},
	{"knows answers by their tx_id alone", "ignores a receipt or a decision without the tx_id of its request", []change{
		{"orchestrator.py", "        if tx_id:\n", "        if True:\n"}}},
	{"accepts a moment later", "tells the frontend by a timer, so TURN_ACCEPTED comes behind what it has routed meanwhile",
		[]change{{"adapter.py", "    print(json.dumps(msg), flush=True)\n", `
    if msg.get("target") == "FRONTEND" or "parley" in msg:
        asyncio.get_running_loop().call_later(0.02, lambda: print(json.dumps(msg), flush=True))
        return
    print(json.dumps(msg), flush=True)
`}}},
	{"metadata of its own", "adds members to the metadata of whatever it publishes", []change{
		{"orchestrator.py", `"timestamp": datetime.now(timezone.utc).isoformat(), "metadata": metadata,`,
			`"timestamp": datetime.now(timezone.utc).isoformat(),
            "metadata": {**metadata, "published_by": "node-7", "hops": [1, 2], "span": {"id": message_id}},`}}},
	{"switches, then stops", "a switch of the user's is announced, and stops who is speaking",
		[]change{{"orchestrator.py", switchesOnRequest, switchesOnRequest + stops}}},
}

// explored is the number of random sequences in addition to the scenarios.
var explored = map[string]int{"knows answers by their tx_id alone": 40}

// handles is the line of the Python adapter that passes a message on.
const handles = `        await runtimes[frame["session_id"]].on_message(frame)
`

// The lines of the Python orchestrator that execute a user's switch and, in addition, stop all speakers.
const (
	switchesOnRequest = `        self._switch(to, payload.get("reason") or "requested by the user", ` +
		`"SWITCH_AGENT", metadata_ids(msg))
`
	stops = `        for turn in [t for t in self.context.speaking if t.waiting is None]:
            self._cancel(turn)
`
)

// listed is where the Python orchestrator lists the speakers. oneSlot makes the first chunk of a turn replace the
// speaker.
const listed = `        if turn not in self.context.speaking:
            self.context.speaking.append(turn)
`

var oneSlot = []change{{"orchestrator.py", listed, `        if not turn.collected_output:
            self.context.speaking = [turn]
`}}

// TestOddRuntimes checks that no orchestrator fails for what the document leaves open.
func TestOddRuntimes(t *testing.T) {
	t.Parallel()
	suitetest.RequireProgram(t, "python3")
	for i, o := range oddRuntimes {
		t.Run(o.name, func(t *testing.T) {
			if i > 0 {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			p := changed(t, o.changes...)
			p.Limits.Quiet.Duration = 500 * time.Millisecond // its own timers are late on a busy machine
			res := suitetest.Judge(t, runner.Options{Profile: p, Explore: explored[o.name], Seed: 1})
			if res.Verdict != verdict.Conformant {
				t.Errorf("%s: %s\n%s", o.reason, suitetest.Console(t, res), res.Runs[0].TargetStderr)
			}
		})
	}
}

// TestSlowStart: a process that takes longer to load than limits.event is judged nevertheless.
func TestSlowStart(t *testing.T) {
	suitetest.RequireProgram(t, "python3")
	suitetest.AwaitTurn(t)
	p := changed(t)
	p.Command.Run = []string{"sh", "-c", "sleep 4; exec python3 adapter.py"} // the delay is what is tested
	p.Limits.Event.Duration = 3 * time.Second
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "@preflight-1 or @preflight-2", AllowIncomplete: true})
	if res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
	}
}

// changed returns the profile of a modified copy of the Python orchestrator.
func changed(t *testing.T, changes ...change) *target.Profile {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"adapter.py", "orchestrator.py"} {
		data, err := os.ReadFile(filepath.Join("examples", "adapters", "python", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, c := range changes {
			if c.file != name {
				continue
			}
			if strings.Count(text, c.from) != 1 {
				t.Fatalf("%s does not have once: %s", name, c.from)
			}
			text = strings.Replace(text, c.from, c.to, 1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := protocols.Kinds().New("session-runtime")
	p.Name, p.Drivers, p.Dir = "changed orchestrator", []string{target.Stdio}, dir
	p.Command = &target.Command{Run: []string{"python3", "adapter.py"}}
	launch.RaiseLimits(&p.Limits)
	return p
}

// TestOneTurnID checks an orchestrator that uses the same turn_id for every turn: it breaks only the clauses that
// require distinct ids.
func TestOneTurnID(t *testing.T) {
	suitetest.AwaitTurn(t)
	p := changed(t, change{"orchestrator.py",
		`        turn_id = meta.get("turn_id") or new_id()`, `        turn_id = "t"`})
	res := suitetest.Judge(t, runner.Options{
		Profile: p, Tags: "@RT-052 or @RT-072"})
	outcomes := map[string]verdict.Outcome{}
	for _, c := range res.Runs[0].Clauses {
		outcomes[c.ID] = c.Outcome
	}
	for _, id := range []string{"RT-052", "RT-072"} {
		if outcomes[id] != verdict.Failed {
			t.Errorf("%s: %s\n%s", id, outcomes[id], suitetest.Console(t, res))
		}
	}
	for _, id := range []string{"RT-001", "RT-053", "RT-074", "RT-075"} { // each turn has an id, is routed and accepted
		if outcomes[id] == verdict.Failed {
			t.Errorf("%s fails for turn_ids that are alike\n%s", id, suitetest.Console(t, res))
		}
	}
}

// TestFirstChunkLate checks that an orchestrator that needs longer for a chunk than the shortest limit gets a longer
// one, so that its fault is found: it forwards the chunk but still waits for the acknowledgement.
func TestFirstChunkLate(t *testing.T) {
	suitetest.AwaitTurn(t)
	p := changed(t,
		change{"orchestrator.py", "        self._start(turn)  # output before INPUT_ACK is an implicit start\n", ""},
		change{"adapter.py", handles, `        if frame.get("event") == "AGENT_OUTPUT":
            await asyncio.sleep(0.09)
` + handles})
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "@RT-169"})
	if res.Verdict != verdict.NonConformant || !strings.Contains(suitetest.Console(t, res), "RT-169") {
		t.Errorf("RT-169 did not fail: %s\n%s", suitetest.Console(t, res), res.Runs[0].TargetStderr)
	}
}
