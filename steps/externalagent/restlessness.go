package externalagent

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/internal/words"
	wjson "parley/transport/wire/json"
)

// restlessness is what the scenarios of a run have found to change by itself. It holds for each of them, also for those
// that were over before. It is safe for concurrent use.
type restlessness struct {
	mu     sync.Mutex
	places []string
	since  []string          // when each of them was found out
	beside []string          // those of them that were found out while other scenarios ran
	alone  bool              // other scenarios may cause changes: what is found out beside them does not count
	once   map[string]change // by place, a change between two states with nothing done in their session
}

// change is how a value changed: digests of the old and the new one.
type change struct{ from, to [sha256.Size]byte }

// known returns the places known so far.
func (r *restlessness) known() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places
}

// learn adds places, and returns those that were not known. beside says whether other scenarios run.
func (r *restlessness) learn(since string, beside bool, places ...string) (news []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alone && beside {
		return nil
	}
	for _, at := range places {
		if !slices.Contains(r.places, at) {
			r.places, r.since = append(slices.Clip(r.places), at), append(r.since, since)
			news = append(news, at)
			if beside {
				r.beside = append(r.beside, at)
			}
		}
	}
	return news
}

// distrust forgets what was found out beside other scenarios, as these cause changes.
func (r *restlessness) distrust() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alone {
		return
	}
	var places, since []string
	for i, at := range r.places {
		if !slices.Contains(r.beside, at) {
			places, since = append(places, at), append(since, r.since[i])
		}
	}
	r.places, r.since, r.beside, r.once, r.alone = places, since, nil, nil, true
}

// mostTold bounds the places that RunNotes names.
const mostTold = 20

// RunNotes implements steps.RunNoter: it says what is compared in no scenario.
func (r *restlessness) RunNotes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.places) == 0 {
		return nil
	}
	var told []string
	for i, at := range r.places[:min(len(r.places), mostTold)] {
		told = append(told, at+" (since "+r.since[i]+")")
	}
	if more := len(r.places) - mostTold; more > 0 {
		told = append(told, words.Counted(more, "other part"))
	}
	return []string{"not compared in any scenario, as it changes on its own: " + strings.Join(told, "; ")}
}

// mostRemembered bounds the places of which a change is remembered.
const mostRemembered = 1000

// saw takes in two consecutive states of a session in which nothing has been done. A place changes by itself if it has
// changed twice in the run, from another value and to another value: what is still loading as a session begins changes
// in the same way in each.
func (r *restlessness) saw(since string, beside bool, a, b state) {
	for _, at := range placesApart(a, b) {
		name, pointer, _ := strings.Cut(at, "/")
		if strings.Contains(at, "*") {
			continue // the values of several places
		}
		now := change{digest(a.Member(name), "/"+pointer), digest(b.Member(name), "/"+pointer)}
		r.mu.Lock()
		if r.alone && beside {
			r.mu.Unlock()
			return
		}
		if r.once == nil {
			r.once = map[string]change{}
		}
		before, seen := r.once[at]
		if !seen && len(r.once) < mostRemembered {
			r.once[at] = now
		}
		r.mu.Unlock()
		if seen && before.from != now.from && before.to != now.to {
			r.learn(since, beside, at)
		}
	}
}

func digest(doc any, pointer string) [sha256.Size]byte {
	v, there := wjson.Lookup(doc, pointer)
	return sha256.Sum256([]byte(fmt.Sprintf("%v %s", there, wjson.Compact(v))))
}
