package scripted

import (
	"slices"
	"strings"

	"parley/internal/script"
	"parley/internal/words"
	"parley/steps/pack"
)

// checkTypes finds types in a script that are like one of the protocol and are none. Others may be meant: a script may
// answer what it does not know, too.
func checkTypes(text []byte, name string, p *pack.Pack) error {
	if !p.Knows("sends", "receives", "message") {
		return nil
	}
	var rd script.Reader
	check := func(at script.Value) {
		all, several := at.Items()
		if !several {
			all = []script.Value{at}
		}
		for _, one := range all {
			kind, is := one.Scalar().(string)
			near := words.Near(kind, p.Messages(), 1)
			if is && len(near) > 0 && !p.Told(kind) && !slices.Contains(p.Messages(), kind) {
				rd.Fail(one, "protocol.yaml knows no message %q (did you mean %q?)", kind, near[0])
			}
		}
	}
	rules, _ := rd.Read(text, "script").At("rules").Items()
	for _, rule := range rules {
		if on := rule.At("on"); len(on.Keys()) > 0 {
			check(on.At("type"))
		} else {
			check(on)
		}
		answer, _ := rule.At("answer").Items()
		for _, action := range answer {
			for _, pointer := range p.Types() {
				check(action.At("send").At(strings.TrimPrefix(pointer, "/")))
			}
		}
	}
	return rd.Err(name)
}
