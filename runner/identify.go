package runner

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/unixurl"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// Suspect is a protocol that a server may speak, and what was seen at the usual places of its servers.
type Suspect struct {
	Protocol steps.Protocol
	Speaks   bool   // one of its places sent a message that only this protocol has
	Opens    bool   // none did, but its default place opens as that of its servers does
	URL      string // the URL by which the protocol's profile reaches the place; "": the one that was given
	Says     string // what was seen, in one line
}

// secondLook is how long a server that answers nothing at first is waited for.
const secondLook = 5 * time.Second

// Identify looks for every protocol of a suite at the server of a profile: side by side, at the usual places of each,
// or at the path of the WebSocket if exact. The profile's protocol does not matter. A server that refuses everybody,
// does not speak HTTP, or answers nothing is a *ForeignError with the reason, after lookTime and at most twice
// secondLook.
func Identify(ctx context.Context, ps *steps.Protocols, p *target.Profile, base, exact string) ([]Suspect, error) {
	owner, err := ps.Find(p.Protocol)
	if err != nil {
		return nil, err
	}
	looks := placesToLook(ps, owner, exact)
	lookAt(ctx, looks, p, base, lookTime)
	defer func() { releaseTarget(looks) }()
	if noneAnswered(looks) && ctx.Err() == nil {
		first := *looks[0]
		first.visitPlace(ctx, p, base, secondLook)
		if seenIn(first.seen.All()).status != 0 { // a slow server
			releaseTarget(looks)
			lookAt(ctx, looks, p, base, secondLook)
		}
		first.seen.Release()
	}
	all := suspectedProtocols(ps, looks, base)
	if slices.ContainsFunc(all, func(s Suspect) bool { return s.Speaks || s.Opens }) || ctx.Err() != nil {
		return all, ctx.Err()
	}
	if l := firstRefusing(looks); l != nil {
		return all, &ForeignError{explainAnswer(ctx, ps, l.protocol, p, base, l.place.Driver, l.seen.All())}
	}
	for i, s := range all {
		if _, hears := s.Protocol.(steps.Recognisable); !hears && slices.Contains(s.Protocol.Kind().Drivers, target.Browser) {
			all[i].Says = "no: GET / serves no page"
			if servesPage(ctx, p, base) {
				all[i].Opens, all[i].Says = true, "perhaps: GET / serves a page, as every web server does"
			}
		}
	}
	return all, nil
}

// visitedPlace is one place of one protocol, and what was seen there.
type visitedPlace struct {
	owner    steps.Protocol // of the profile
	protocol steps.Protocol
	rec      steps.Recognisable
	place    steps.Place
	first    bool // the default place of the protocol, or the only one that is asked for
	seen     *transcript.Transcript
}

// placesToLook lists where the protocols of a suite are looked for.
func placesToLook(ps *steps.Protocols, owner steps.Protocol, exact string) []*visitedPlace {
	var all []*visitedPlace
	for _, p := range ps.All {
		rec, ok := p.(steps.Recognisable)
		if !ok {
			continue
		}
		first := true
		for _, place := range rec.UsualPlaces() {
			if exact != "" {
				if place.Driver != ws.Name || !first {
					continue
				}
				place.Path = exact
			}
			all = append(all, &visitedPlace{owner: owner, protocol: p, rec: rec, place: place, first: first})
			first = false
		}
	}
	return all
}

// visitPlace visits the place.
func (l *visitedPlace) visitPlace(ctx context.Context, p *target.Profile, base string, limit time.Duration) {
	l.seen = visitPlace(ctx, l.owner, p, base, l.place, l.rec, limit)
}

// lookAt visits places side by side.
func lookAt(ctx context.Context, looks []*visitedPlace, p *target.Profile, base string, limit time.Duration) {
	var wg sync.WaitGroup
	for _, l := range looks {
		wg.Go(func() { l.visitPlace(ctx, p, base, limit) })
	}
	wg.Wait()
}

func releaseTarget(looks []*visitedPlace) {
	for _, l := range looks {
		l.seen.Release()
	}
}

// noneAnswered reports whether no place has answered, for want of time.
func noneAnswered(looks []*visitedPlace) bool {
	return len(looks) > 0 && !slices.ContainsFunc(looks, func(l *visitedPlace) bool {
		s := seenIn(l.seen.All())
		return s.status != 0 || !s.saysAny("within the limit", "deadline exceeded", "Client.Timeout", "timed out")
	})
}

// firstRefusing returns the first place whose answer tells why no protocol was found: it wants credentials, or TLS; or
// that of a server none of whose places answers HTTP. Nil if there is none.
func firstRefusing(looks []*visitedPlace) *visitedPlace {
	answered := false
	for _, l := range looks {
		s := seenIn(l.seen.All())
		if s.status != 0 && s.isDecisive() {
			return l
		}
		answered = answered || s.status != 0
	}
	if answered || len(looks) == 0 {
		return nil
	}
	return looks[0]
}

// suspectedProtocols sums up what was seen, protocol by protocol.
func suspectedProtocols(ps *steps.Protocols, looks []*visitedPlace, base string) []Suspect {
	var all []Suspect
	for _, protocol := range ps.All {
		name := steps.Name(protocol)
		s := Suspect{Protocol: protocol, Says: "not tried: what it is cannot be told from outside (name it by --protocol " +
			name + ")"}
		var elsewhere []string
		for _, l := range looks {
			if steps.Name(l.protocol) != name || s.Speaks {
				continue
			}
			saw := seenIn(l.seen.All())
			switch {
			case steps.SpeaksProtocol(l.rec, l.seen.All()):
				s.Speaks, s.Opens, s.Says = true, false, fmt.Sprintf("yes: %s answers as %s does", saw.asked, name)
				s.URL = l.placeURL(base)
			case l.first:
				s.Opens, s.Says = saw.opened, "no: "+saw.describeBriefly(name)
				if saw.opened {
					s.Says = "perhaps: " + saw.describeBriefly(name)
				}
			default:
				elsewhere = append(elsewhere, l.place.Path)
			}
		}
		if len(elsewhere) > 0 && !s.Speaks {
			s.Says += "; nor is it at " + strings.Join(elsewhere, ", ")
		}
		all = append(all, s)
	}
	return all
}

// placeURL returns the URL by which a profile reaches the place.
func (l *visitedPlace) placeURL(base string) string {
	if l.first || l.place.Driver != ws.Name || l.protocol.Kind().Locate == nil || unixurl.Is(base) {
		return ""
	}
	return "ws" + strings.TrimPrefix(base, "http") + l.place.Path
}

// describeBriefly says what a server did at a place.
func (s serverBehaviour) describeBriefly(protocol string) string {
	if s.status == 0 {
		return fmt.Sprintf("%s is answered by %s", s.asked, orNothing(lastPart(s.fault)))
	}
	if s.status == http.StatusOK && s.media == "" {
		return fmt.Sprintf("%s is answered by HTTP 200", s.asked)
	}
	return s.describeInstead(protocol)
}
