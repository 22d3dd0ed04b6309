package runner

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/unixurl"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// Time limits for probing what a server is. Nothing is judged by them.
const (
	lookTime  = 2 * time.Second // for one place to answer
	lookWhole = 3 * time.Second // for all of them, side by side
)

// ForeignError says that the server at the target's address does not speak the protocol, requires credentials or
// stays silent: what was seen and what to do, in one line.
type ForeignError struct{ Msg string }

func (e *ForeignError) Error() string { return e.Msg }

// Recognise probes the server at a base URL for a few seconds. It returns a *ForeignError if the server evidently
// does not speak its profile's protocol. Nil proves nothing: the server may use a binding of its own.
func Recognise(ctx context.Context, ps *steps.Protocols, p *target.Profile, base string) error {
	protocol, err := ps.Find(p.Protocol)
	rec, ok := protocol.(steps.Recognisable)
	if err != nil || !ok {
		return nil
	}
	place, there := ownPlace(rec, p)
	if !there {
		return nil
	}
	place.Say = nil
	t := visitPlace(ctx, protocol, p, base, place, nil, p.Limits.Open.Duration)
	defer t.Release()
	if s := seenIn(t.All()); s.isDecisive() {
		return &ForeignError{explainAnswer(ctx, ps, protocol, p, base, place.Driver, t.All())}
	}
	return nil
}

// Explain says in one line why the server at a base URL is not recognised as speaking its profile's protocol, and
// what to do.
func Explain(ctx context.Context, ps *steps.Protocols, p *target.Profile, base string) error {
	protocol, err := ps.Find(p.Protocol)
	if err != nil {
		return err
	}
	rec := protocol.(steps.Recognisable)
	place, there := ownPlace(rec, p)
	if !there {
		return &ForeignError{fmt.Sprintf("nothing shows whether the target at %s speaks %s: no connection is opened there "+
			"without a request", base, p.Protocol)}
	}
	t := visitPlace(ctx, protocol, p, base, place, rec, lookTime)
	defer t.Release()
	return &ForeignError{explainAnswer(ctx, ps, protocol, p, base, place.Driver, t.All())}
}

// ownPlace returns the place where a profile has its target, and whether there is one.
func ownPlace(rec steps.Recognisable, p *target.Profile) (place steps.Place, there bool) {
	all := rec.UsualPlaces()
	if len(all) == 0 {
		return place, false
	}
	place = all[0]
	if own := p.PathOver(place.Driver); own != "" {
		place.Path = own
	}
	return place, true
}

// visitPlace opens a place, sends its messages, and listens until a message of the protocol arrives, the connection
// ends, or the time is up. With a nil protocol it only opens the connection.
func visitPlace(ctx context.Context, protocol steps.Protocol, p *target.Profile, base string, place steps.Place,
	rec steps.Recognisable, limit time.Duration) *transcript.Transcript {
	ctx, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	t := transcript.New(nil)
	var d closingDriver = overWS(protocol, p)
	if place.Driver == sse.Name {
		d = sse.NewTLS(p.TLSConfig())
	}
	defer d.Close()
	h := http.Header{}
	for k, v := range p.Headers {
		h.Set(k, v)
	}
	conn, err := d.Open(ctx, driver.OpenOptions{Party: "look", URL: base + place.Path, Header: h, MaxEvent: 1 << 20},
		t.Append)
	if err != nil {
		return t
	}
	defer conn.Close(driver.Reset)
	if rec == nil {
		return t
	}
	for _, text := range place.Say {
		if _, err := conn.Send(ctx, driver.Message{Body: []byte(text)}); err != nil {
			return t
		}
	}
	_, _ = t.Await(ctx, 0, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received &&
			(r.Kind == transcript.Closed || steps.SpeaksProtocol(rec, []transcript.Record{*r}))
	})
	return t
}

// serverBehaviour is what a server did when it was probed.
type serverBehaviour struct {
	asked  string // "GET /events"
	status int    // of its answer; 0 without one
	media  string // of its answer
	body   string // of a refusal
	fault  string // how the transport failed, or ended
	said   string // the first message on an open connection that is not empty
	empty  bool   // there were messages
	opened bool   // the connection is of the requested kind: an event stream or a WebSocket
}

// seenIn extracts what a server did from a transcript.
func seenIn(records []transcript.Record) serverBehaviour {
	var s serverBehaviour
	for _, r := range records {
		switch {
		case r.Dir == transcript.Sent && r.Kind == transcript.Open:
			s.asked = askedAt(r.Label)
		case r.Dir != transcript.Received:
		case r.Kind == transcript.Open:
			s.status = r.Status
			s.media, _, _ = mime.ParseMediaType(r.Type)
			s.opened = r.Label == "socket" || s.media == "text/event-stream" && r.Status == http.StatusOK
		case r.Kind == transcript.Response && s.said == "" && !s.opened:
			s.status, s.body, s.fault = r.Status, string(r.Bytes), ""
			if r.Type != "" {
				s.media, _, _ = mime.ParseMediaType(r.Type)
			}
		case r.Kind == transcript.Failure, r.Kind == transcript.Closed && !strings.Contains(r.Label, "by the harness"):
			s.fault = r.Label
		case r.Kind == transcript.Comment && s.empty: // part of a message, at the end
		case (r.Kind == transcript.Stream || r.Kind == transcript.Frame || r.Kind == transcript.Comment) && s.said == "":
			s.said, s.empty = string(r.Bytes), s.empty || r.Kind != transcript.Comment
		}
	}
	return s
}

// askedAt renders the request that opened a connection for people: "GET /events", "WebSocket /chat/ws".
func askedAt(label string) string {
	rest, socket := strings.CutSuffix(label, " (upgrade)")
	if !socket {
		return label
	}
	if u, err := url.Parse(strings.TrimPrefix(rest, "GET ")); err == nil {
		return "WebSocket " + u.RequestURI()
	}
	return rest
}

func (s serverBehaviour) saysAny(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(s.fault, w) ||
			strings.Contains(s.body, w)
	})
}

// isDecisive reports whether trying other places is pointless: the server requires credentials, expects TLS, or did not
// answer over HTTP.
func (s serverBehaviour) isDecisive() bool {
	return s.status == http.StatusUnauthorized || s.status == http.StatusForbidden || s.status == 0 || s.plainToTLS()
}

// plainToTLS reports whether a TLS server has complained about plain HTTP.
func (s serverBehaviour) plainToTLS() bool {
	return s.saysAny("HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port")
}

// unasked is the error text of net/http for bytes that arrive before the request was written. If they arrive a moment
// later, net/http reports a malformed response.
const unasked = "readLoopPeekFailLocked: %!w(<nil>)"

// explainAnswer says in one line what answers instead of a target of the protocol, and what to do.
func explainAnswer(ctx context.Context, ps *steps.Protocols, protocol steps.Protocol, p *target.Profile, base,
	over string, records []transcript.Record) string {
	s, name := seenIn(records), steps.Name(protocol)
	at := "the target at " + unixurl.Shown(base)
	switch {
	case s.status == http.StatusUnauthorized || s.status == http.StatusForbidden:
		mend := `give them by -H 'Authorization: Bearer @env:TOKEN', or in a profile by headers:`
		if len(p.Headers) > 0 {
			mend = "those of -H, or under headers: in the profile, are not accepted"
		}
		return fmt.Sprintf("%s wants credentials: %s is answered by HTTP %d (%s)", at, s.asked, s.status, mend)
	case s.plainToTLS(), s.status == 0 && s.saysAny(`malformed HTTP response "\x15\x03`):
		return fmt.Sprintf("%s speaks TLS (give an https URL)", at)
	case s.saysAny("server gave HTTP response to HTTPS client", "first record does not look like a TLS handshake"):
		return fmt.Sprintf("%s does not speak TLS (give an http URL)", at)
	case s.status == 0 && s.saysAny("tls: certificate required", "remote error: tls: bad certificate"):
		return fmt.Sprintf("%s wants a certificate of its clients: %s (give one by --client-cert and --client-key, or "+
			"by tls: in a profile)", at, lastPart(s.fault))
	case s.status == 0 && s.saysAny("x509:", "certificate"):
		return fmt.Sprintf("%s has a TLS certificate that is not trusted: %s (name the certificate, or that of its "+
			"authority, by --ca cert.pem, or by tls: in a profile)", at, lastPart(s.fault))
	case s.status == 0 && s.saysAny("tls:"):
		return fmt.Sprintf("the TLS handshake with %s failed: %s (check its certificate and its TLS versions)", at,
			lastPart(s.fault))
	case s.status == 0 && s.saysAny("within the limit", "deadline exceeded", "Client.Timeout", "timed out"):
		if neverShakesHands(ctx, p, base) {
			return fmt.Sprintf("%s accepts connections but does not answer the TLS handshake (give an http URL if it speaks "+
				"no TLS; is it the right port?)", at)
		}
		return fmt.Sprintf("%s accepts connections but sends nothing: %s got no answer (is it the right port? is it still "+
			"starting?)", at, s.asked)
	case s.status == 0 && s.saysAny(unasked):
		return fmt.Sprintf("%s is not an HTTP server: it sends data before any request (is it the right port?)", at)
	case s.status == 0 && s.saysAny("informational responses"):
		return fmt.Sprintf("%s never answers: %s gets %s", at, s.asked, lastPart(s.fault))
	case s.status == 0 && (s.saysAny("malformed") || s.saysAny("transport connection broken") &&
		!s.saysAny("EOF", "reset")):
		return fmt.Sprintf("%s is not an HTTP server: %s (is it the right port?)", at, lastPart(s.fault))
	case s.status == 0:
		return fmt.Sprintf("%s closes the connection: %s is answered by %s (%s)", at, s.asked,
			orNothing(lastPart(s.fault)), hangsUp(base))
	}
	text := fmt.Sprintf("%s does not speak %s: %s", at, name, s.describeInstead(name))
	if found := findElsewhere(ctx, ps, protocol, p, base); found != "" {
		return text + "; " + found
	}
	return fmt.Sprintf("%s; no other protocol was recognised at its usual places either (name the place by %s in "+
		"a profile%s)", text,
		protocol.(steps.Recognisable).PlaceKey(over), socketToo(over, base, protocol))
}

// neverShakesHands reports whether the server at an https URL accepts a connection and leaves its TLS handshake
// without an answer.
func neverShakesHands(ctx context.Context, p *target.Profile, base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "wss" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	port := cmp.Or(u.Port(), "443")
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	defer conn.Close()
	conf := p.TLSConfig()
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.ServerName = cmp.Or(conf.ServerName, u.Hostname())
	err = tls.Client(conn, conf).HandshakeContext(ctx)
	return errors.Is(err, context.DeadlineExceeded)
}

// socketToo explains how to name a WebSocket endpoint without a profile.
func socketToo(over, base string, protocol steps.Protocol) string {
	if over != ws.Name || protocol.Kind().Locate == nil || unixurl.Is(base) {
		return ""
	}
	return ", or a URL such as ws" + strings.TrimPrefix(base, "http") + "/path"
}

// describeInstead says what a server did instead of speaking the protocol.
func (s serverBehaviour) describeInstead(protocol string) string {
	switch {
	case s.opened && s.saysAny("too big", "limited at"):
		return fmt.Sprintf("%s opens, but a message is longer than limits.max-event", s.asked)
	case s.opened && s.said != "":
		return fmt.Sprintf("%s opens, but nothing of %s came; it sends %s", s.asked, protocol,
			cut.Text(strconv.QuoteToGraphic(cut.Line(s.said, 80)), 100))
	case s.opened && s.empty:
		return fmt.Sprintf("%s opens, but nothing of %s came; it sends empty messages", s.asked, protocol)
	case s.opened && s.fault != "":
		return fmt.Sprintf("%s opens, but ends without sending anything: %s", s.asked, lastPart(s.fault))
	case s.opened:
		return fmt.Sprintf("%s opens, but sends nothing", s.asked)
	case s.status >= 300 && s.status < 400:
		return fmt.Sprintf("%s is answered by a redirect, HTTP %d, which is not followed", s.asked, s.status)
	case s.status >= 500:
		return fmt.Sprintf("%s is answered by HTTP %d (see its log)", s.asked, s.status)
	case s.status == http.StatusOK && s.media != "":
		return fmt.Sprintf("%s is answered by %s", s.asked, s.media)
	}
	return fmt.Sprintf("%s is answered by HTTP %d", s.asked, s.status)
}

// hangsUp says what to check when a server closes the connection without sending anything.
func hangsUp(base string) string {
	if strings.HasPrefix(base, "http:") {
		return "is it the right port? does it want https? see its log"
	}
	return "is it the right port? see its log"
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// lastPart returns the end of an error chain, which says what happened, on one line.
func lastPart(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, lead := range []string{"failed to WebSocket dial: ", "failed to send handshake request: "} {
		text = strings.TrimPrefix(text, lead)
	}
	if rest, ok := strings.CutPrefix(text, `Get "`); ok {
		if _, cause, ok := strings.Cut(rest, `": `); ok {
			text = cause
		}
	}
	for _, op := range []string{"read tcp ", "dial tcp "} { // cuts off the addresses
		if rest, ok := strings.CutPrefix(text, op); ok {
			if _, cause, ok := strings.Cut(rest, ": "); ok {
				text = cause
			}
		}
	}
	text, _, _ = strings.Cut(text, " (possibly because of")
	return cut.Text(text, 160)
}

// findElsewhere looks for a protocol that the server does speak, at the usual places of each protocol in parallel, and
// for a web page. It says how to go on; "" if nothing was recognised.
func findElsewhere(ctx context.Context, ps *steps.Protocols, own steps.Protocol, p *target.Profile,
	base string) string {
	ctx, cancel := deadline.WithLimit(ctx, lookWhole)
	defer cancel()
	type candidate struct {
		protocol steps.Protocol
		rec      steps.Recognisable
		place    steps.Place
		first    bool // the protocol's default place
		spoke    bool
	}
	var all []*candidate
	add := func(p steps.Protocol) {
		if rec, ok := p.(steps.Recognisable); ok {
			for i, place := range rec.UsualPlaces() {
				all = append(all, &candidate{protocol: p, rec: rec, place: place, first: i == 0})
			}
		}
	}
	add(own)
	for _, other := range ps.Sorted() {
		if steps.Name(other) != steps.Name(own) {
			add(other)
		}
	}
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			t := visitPlace(ctx, own, p, base, c.place, c.rec, lookTime)
			defer t.Release()
			c.spoke = steps.SpeaksProtocol(c.rec, t.All())
		})
	}
	page := false
	wg.Go(func() { page = servesPage(ctx, p, base) })
	wg.Wait()
	for _, c := range all {
		if !c.spoke {
			continue
		}
		url := unixurl.Shown(base)
		if c.place.Driver == ws.Name && !c.first && !unixurl.Is(base) {
			url = "ws" + strings.TrimPrefix(base, "http") + c.place.Path
		}
		isOwn := steps.Name(c.protocol) == steps.Name(own)
		switch {
		case isOwn && (p.Path != "" || own.Kind().Locate == nil):
			return fmt.Sprintf("%s does (%s)", c.place.Path, c.rec.PlaceKey(c.place.Driver))
		case isOwn:
			return fmt.Sprintf("%s does (--target %s)", c.place.Path, url)
		}
		return fmt.Sprintf("%s answers as %s: --target %s --protocol %[2]s?", c.place.Path, steps.Name(c.protocol), url)
	}
	for _, other := range ps.Sorted() {
		if page && slices.Contains(other.Kind().Drivers, target.Browser) {
			return "it serves a page: --protocol " + steps.Name(other) + "?"
		}
	}
	return ""
}

// servesPage reports whether a base URL serves a web page.
func servesPage(ctx context.Context, p *target.Profile, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/", nil)
	if err != nil {
		return false
	}
	for k, v := range p.Headers {
		req.Header.Set(k, v)
	}
	pool := unixurl.Teach(&http.Transport{DisableKeepAlives: true, TLSClientConfig: p.TLSConfig()})
	res, err := httpclient.New(pool).Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode == http.StatusOK && media == "text/html"
}
