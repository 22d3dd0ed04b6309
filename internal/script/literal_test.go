package script_test

import (
	"testing"

	"parley/internal/script"
)

// TestLiteral: $${ is a literal ${, in a text and alone, in a message and in a condition; a hole beside it is filled
// in.
func TestLiteral(t *testing.T) {
	s := parse(t, `vars: {x: 5}
rules:
- on: {type: a, where: {/text: '$${x}'}}
  answer: [{send: '$${x} $$${x} $${${x}} $${'}, {send: {a: '$${x}', b: '$${', c: ['${x}', '${']}}]
`)
	actions, matched := s.Engine(fixed()).On(message("a", `{"text":"${x}"}`))
	if !matched || len(actions) != 2 {
		t.Fatalf("matched %v: %+v", matched, actions)
	}
	for i, want := range []string{"${x} $${x} ${5} ${", `{"a":"${x}","b":"${","c":[5,"${"]}`} {
		if got := string(actions[i].Body); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
	free := "rules:\n- on: a\n  answer: [{send: '$${not a name}'}]\n"
	if _, err := script.Parse("x.yaml", []byte(head+free)); err != nil {
		t.Error(err)
	}
}
