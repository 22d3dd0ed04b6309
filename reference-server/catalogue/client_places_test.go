package catalogue

import (
	"fmt"
	"testing"
)

func TestCrowd(t *testing.T) {
	c := &Crowd{}
	for i := range Places {
		if by := c.Over(fmt.Sprint(i)); by != "" {
			t.Fatalf("client %d is over by %q", i, by)
		}
	}
	if by := c.Over("next"); by != "" {
		t.Errorf("the newest is over by %q", by)
	}
	if by := c.Over("0"); by != "next" {
		t.Errorf("the first is over by %q, want the newest in its place", by)
	}
	if by := c.Over("1"); by != "" {
		t.Errorf("the second is over by %q", by)
	}
}
