package defaults

import "testing"

func TestFill(t *testing.T) {
	type limits struct{ Low, High int }
	type options struct {
		Name   string
		Limits limits
		Hook   func() int
	}
	got := options{Limits: limits{High: 7}}
	Fill(&got, options{"x", limits{1, 2}, func() int { return 3 }})
	if got.Name != "x" || got.Limits != (limits{1, 7}) || got.Hook() != 3 {
		t.Errorf("got %+v", got)
	}
	kept := options{Name: "y"}
	if Fill(&kept, options{Name: "x"}); kept.Name != "y" || kept.Hook != nil {
		t.Errorf("got %+v", kept)
	}
}
