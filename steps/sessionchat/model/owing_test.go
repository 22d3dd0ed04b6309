package model

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/steps/obligation"
)

// TestOwing checks what a server owes at the end of a transcript: by which record, and what.
func TestOwing(t *testing.T) {
	const stop = `A > interrupt {"agent_id":"red"}` + "\n"
	for _, r := range []struct {
		reason, in string
		want       []string
	}{
		{"nothing", "A open", nil},
		{"a turn", "A open\n" + ask1 + "A < system red s-1: \n", []string{`2 the turn of agent_id "red", up to its result`}},
		{"the turn has ended", "A open\n" + whole1, nil},
		{"it has failed", "A open\n" + ask1 + `A < result {"agent_id":"red","subtype":"error"}`, nil},
		{"two turns", "A open\n" + ask1 + blue, []string{`2 the turn of agent_id "red", up to its result`,
			`3 the turn of agent_id "blue", up to its result`}},
		{"the result of another session", "A open\n" + ask1 + "A < result blue s-2: ",
			[]string{`2 the turn of agent_id "red", up to its result`}},
		{"an interrupted turn", "A open\n" + ask1 + stop, []string{`3 the end of the interrupted turn of agent_id "red"`}},
		{"an interrupted turn has ended", "A open\n" + ask1 + stop + interrupted, nil},
		{"an interrupt of nothing", "A open\n" + stop, nil},
		{"a pong", "A open\nA > ping {}", []string{"2 a pong for the ping"}},
		{"one of two pongs", "A open\nA > ping {}\nA > ping {}\nA < pong {}", []string{"3 a pong for the ping"}},
		{"the refusal of an incomplete chat", "A open\n" + whole1 + `A > chat {"agent_id":"new"}`,
			[]string{"5 an error, or a close with 1003, 1007 or 1008"}},
		{"the same, where no chat was answered before", "A open\n" + `A > chat {"agent_id":"new"}`, nil},
		{"the connection has ended", "A open\n" + ask1 + "A > ping {}\nA closed", nil},
	} {
		t.Run(r.reason, func(t *testing.T) {
			for _, o := range []obligation.Observer{obligation.Ours, obligation.Foreign} {
				m := New(o)
				for _, rec := range script(t, r.in) {
					m.Take(rec)
				}
				var got []string
				for _, e := range m.Owing() {
					got = append(got, fmt.Sprintf("%d %s", e.Record, e.What))
				}
				if diff := cmp.Diff(r.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("observer %d; want(-) got(+):\n%s", o, diff)
				}
			}
		})
	}
}
