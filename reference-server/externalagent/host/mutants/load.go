package mutants

import (
	_ "embed"
	"sync"

	proto "parley/protocol/externalagent"
	"parley/reference-server/catalogue"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
)

//go:embed load.yaml
var loadRows []byte

// UnderLoad has the faults that only a load shows.
var UnderLoad = catalogue.New[options](loadRows, loadFaults)

// Put puts the fault with that id into the options, whether a scenario or only a load shows it; "" puts none.
func Put(id string, o *options) error {
	if UnderLoad.Put(id, o) == nil {
		return nil
	}
	return Catalogue.Put(id, o)
}

// loadFaults show only while more relay sessions are in use than a table has places.
var loadFaults = map[string]fault{
	"load-mailboxes-shared": loadLikeRelay("load-mailboxes-shared"),
	"load-queue-drops":      loadLikeRelay("load-queue-drops"),
	"load-one-writer":       loadLikeRelay("load-one-writer"),
	"load-sent-again":       loadLikeRelay("load-sent-again"),
	"load-histories-mixed":  loadHistories,
	"load-study-ids-mixed":  loadStudyIDs,
	"load-history-repeats":  loadRepeats,
}

// loadLikeRelay reuses the fault of a relay.
func loadLikeRelay(id string) fault {
	return func(o *options) {
		if err := relaymutants.UnderLoad.Put(id, &o.Relay); err != nil {
			panic(err)
		}
	}
}

// crowded is a fault of the hosts of relay sessions whose place another one has taken; over returns that one, "" if
// there is none. share guards what the hosts of a server share: each has a lock of its own.
func crowded(put func(h *hostOptions, session string, over func() string, share *sync.Mutex)) fault {
	return func(o *options) {
		crowd, share := &catalogue.Crowd{}, &sync.Mutex{}
		inSession(func(h *hostOptions, session string) {
			crowd.Over(session)
			put(h, session, func() string { return crowd.Over(session) }, share)
		})(o)
	}
}

// loadHistories shows the history of the newest host in the place.
func loadHistories(o *options) {
	histories := map[string][]any{}
	crowded(func(h *hostOptions, session string, over func() string, share *sync.Mutex) {
		h.Policy.State = func(_ view, _ part, s state) state {
			share.Lock()
			defer share.Unlock()
			if by := over(); by != "" {
				s.MessageHistory = append(s.MessageHistory, histories[by]...)
			} else {
				histories[session] = s.MessageHistory
			}
			return s
		}
	})(o)
}

// loadStudyIDs names the study session of the newest host in the place.
func loadStudyIDs(o *options) {
	ids := map[string]string{}
	crowded(func(h *hostOptions, session string, over func() string, share *sync.Mutex) {
		h.Outbound = func(v view, msg message, send sender) {
			share.Lock()
			if ids[session] = v.SessionID(); msg.Type() == proto.SnapshotState && ids[over()] != "" {
				msg.Payload()["sessionId"] = ids[over()]
			}
			share.Unlock()
			send(msg)
		}
	})(o)
}

// loadRepeats shows the latest entry of a history twice.
func loadRepeats(o *options) {
	crowded(func(h *hostOptions, _ string, over func() string, _ *sync.Mutex) {
		h.Policy.State = func(_ view, _ part, s state) state {
			if n := len(s.MessageHistory); n > 0 && over() != "" {
				s.MessageHistory = append(s.MessageHistory, s.MessageHistory[n-1])
			}
			return s
		}
	})(o)
}
