package steps

import (
	"context"
	"net/url"
	"strings"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// gatewaySink returns a sink that notices what a gateway answers in the target's place. The target does not know of
// such a request, so from then on the scenario judges nothing.
func (w *World) gatewaySink(to driver.Sink) driver.Sink {
	return func(r transcript.Record) int {
		if driver.ByGateway(&r) {
			why := "the gateway answered " + r.Label
			w.gateway.CompareAndSwap(nil, &why)
		}
		return to(r)
	}
}

// gatewayEnds extends the limits of a wait by the time for which a request was held back, and reports whether the wait
// ends because a gateway has answered in the target's place.
func (a *awaiting) gatewayEnds(ctx context.Context, r *transcript.Record) bool {
	if held := driver.HeldFor(r); held > 0 {
		deadline.Extend(ctx, held)
		a.held += held
	}
	if driver.ByGateway(r) {
		a.w.isCut()
		a.miss = &verdict.Miss{Reason: a.w.cutBy(), At: r.N}
	}
	return a.miss != nil
}

// describeUnflushed says that the compression of a connection's stream is not flushed; "" if it is, or there is none.
func (w *World) describeUnflushed(conn string) string {
	for _, r := range w.T.All() {
		if r.Kind == transcript.Remark && r.Conn == conn && strings.HasPrefix(r.Label, driver.Unflushed) {
			return "; " + r.Label
		}
	}
	return ""
}

// Routed returns the cookie by which a balancer may have led two parties to different instances of the target: it has
// set it for both, to different values. "" if there is none.
func (w *World) Routed(one, other string) string {
	u, err := url.Parse(w.Target.BaseURL())
	if err != nil || w.jars[one] == nil || w.jars[other] == nil {
		return ""
	}
	for _, a := range w.jars[one].Cookies(u) {
		for _, b := range w.jars[other].Cookies(u) {
			if a.Name == b.Name && a.Value != b.Value {
				return a.Name
			}
		}
	}
	return ""
}
