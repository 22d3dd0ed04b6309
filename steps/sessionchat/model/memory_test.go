package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/transcript"
)

// TestLives checks how often the session "red" may have left memory, at each record of a transcript.
func TestLives(t *testing.T) {
	const red, other = "A > chat red: Hi\n", "A > chat blue: Hi\n"
	for _, r := range []struct{ reason, in, want string }{
		{"a turn", "A open\n" + red + "A < result red s-1: ", "0 0 0"},
		{"a restart", red + rests + red, "0 0 1"},
		{"two restarts", rests + rests + red, "0 1 2"},
		{"a rest", red + "- " + Resumes + ": red may have left the target's memory\n" + red, "0 0 1"},
		{"any other remark", red + "- interop: none\n" + red, "0 0 0"},
		{"a remark that contains the words", red + "- it is open whether " + Resumes + "\n" + red, "0 0 0"},
		{"a sent message is not a remark", red + "A > chat red: " + Resumes + "\n" + red, "0 0 0"},
		{"the end of a connection", red + "A closed\n" + red, "0 0 1"},
		{"the end of another client's connection", red + "B closed\n" + red, "0 0 1"},
		{"two ends", red + "A closed\nB closed\n" + red, "0 0 1 2"},

		{"idle for as long as it is kept", idle + red + "+ 60s\n" + red + red, "0 0 1 1"},
		{"idle for longer", idle + red + "+ 24h\n" + red, "0 0 1"},
		{"idle for three quarters of that", idle + red + "+ 45s\n" + red, "0 0 1"},
		{"idle for a little less", idle + red + "+ 44999ms\n" + red, "0 0 0"},
		{"idle again", idle + red + "+ 60s\n" + red + "+ 60s\n" + red, "0 0 1 2"},
		{"idle until the target mentions it", idle + red + "+ 60s\nA < result red s-1: \n" + red, "0 0 1 2"},
		{"idle over two connections", idle + red + "+ 60s\nB > chat red: Hi\n", "0 0 1"},
		{"unknown idle time", red + "+ 24h\n" + red, "0 0"},
		{"unreadable idle time", "- " + Idle + "ever\n" + red + "+ 24h\n" + red, "0 0 0"},
		{"an idle time of zero counts as unknown", "- " + Idle + "0s\n" + red + red, "0 0 0"},
		{"before it was used for the first time", idle + "+ 24h\n" + red, "0 0"},
		{"used by its turn meanwhile, if it counts from the chat", idle + red + "+ 30s\nA < stream red s-1: a\n+ 30s\n" + red,
			"0 0 0 1"},
		{"used by its turn only", idle + red + "+ 30s\nA < stream red s-1: a\n+ 30s\nA < result red s-1: ", "0 0 0 0"},
		{"idle until the chat is answered", idle + red + "+ 44s\n" + red + "+ 2s\nA < result red s-1: ", "0 0 0 1"},
		{"idle until the chat is answered, behind the end of the turn before on another connection",
			idle + red + "+ 44s\n" + red + "B < result red s-1: \n+ 2s\nA < result red s-1: ", "0 0 0 0 1"},
		{"an interrupt meanwhile may not count as use",
			idle + red + "+ 30s\n" + `A > interrupt {"agent_id":"red"}` + "\n+ 30s\n" + red, "0 0 0 1"},
		{"used over another connection meanwhile", idle + red + "+ 30s\nB > chat red: Hi\n+ 30s\n" + red, "0 0 0 0"},
		{"another session that was used meanwhile", idle + red + "+ 30s\n" + other + "+ 30s\n" + red, "0 0 0 1"},
		{"a session with other capitals used meanwhile", idle + red + "+ 30s\nA > chat Red: Hi\n+ 30s\n" + red,
			"0 0 0 1"},
		{"messages of no session do not count as use",
			idle + red + "+ 30s\nA < pong {}\nA < system {\"agent_id\":null}\nA < usage [1]\nA junk\nA open\n- a remark\n+ " +
				"30s\n" + red, "0 0 0 0 0 0 0 0 1"},
		{"another session that was idle", idle + red + other + "+ 30s\n" + red + "+ 30s\n" + other + red, "0 0 0 0 0 0"},
		{"all of it", idle + red + rests + "+ 60s\n" + red + "A closed\n" + red + "+ 60s\nA < result red s-1: ",
			"0 0 0 2 2 3 4"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			records := script(t, r.in)
			life := lives(records)
			var got []string
			for _, rec := range records {
				got = append(got, fmt.Sprint(life("red", rec.N)))
			}
			if diff := cmp.Diff(strings.Fields(r.want), got); diff != "" {
				t.Errorf("lives; want(-) got(+):\n%s", diff)
			}
		})
	}
	if got := lives(nil)("red", 1); got != 0 {
		t.Errorf("where nothing has happened it has had %d lives", got)
	}
	if got := lives(script(t, idle+red+rests+"+ 60s\n"+red))("green", 4); got != 1 {
		t.Errorf("a session that nobody has used has had %d lives, want one for the restart", got)
	}
}

func lives(t []transcript.Record) func(agent string, n int) int {
	m := newIDs().memory
	for _, r := range t {
		m.take(r)
	}
	return m.life
}
