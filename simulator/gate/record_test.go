package gate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// short formats a record without its number, its time and addresses.
func short(r transcript.Record) string {
	s := fmt.Sprintf("%s %s %s", r.Conn, r.Dir, r.Kind)
	if r.Kind != transcript.Open && r.Kind != transcript.Request {
		s += " " + r.Label
	}
	s += fmt.Sprintf(" %d %s %q to %d", r.Status, r.Type, r.Bytes, r.Reply)
	if r.Late {
		s += " late"
	}
	return s
}

func shorts(all []transcript.Record) []string {
	var out []string
	for _, r := range all {
		out = append(out, short(r))
	}
	return out
}

func closedRecord(r transcript.Record) bool { return r.Kind == transcript.Closed }

// TestRecordsOfServers: the gate records the same about a server as a driver that talks to it.
func TestRecordsOfServers(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ws":
			echoMessages(w, r)
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\nretry: 5\nevent: a\nid: 1\ndata: one\n\ndata: cut")
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
	})
	for _, handle := range []gate.Handler{nil, pass} {
		for _, path := range []string{"/ws", "/stream", "/refused"} {
			for _, d := range []driver.Driver{ws.New(), sse.New()} {
				if (path == "/ws") != (d.Name() == "ws") && path != "/refused" {
					continue
				}
				t.Run(d.Name()+path, func(t *testing.T) {
					g := openGate(t, up, func(o *gate.Options) {
						o.Program, o.Handle = gate.Server, handle
						o.Party = func(*http.Request, int) string { return "A" }
					})
					own := transcript.New(nil)
					defer d.(io.Closer).Close()
					c, err := d.Open(boundedContext(t), driver.OpenOptions{Party: "A", URL: g.URL() + path}, own.Append)
					if err == nil {
						if path == "/ws" {
							for _, text := range []string{"one", "bye"} {
								_, _ = c.Send(t.Context(), driver.Message{Body: []byte(text)})
							}
						}
						_, _ = own.Await(boundedContext(t), 0, func(r *transcript.Record) bool { return closedRecord(*r) })
						g.awaitRecord("the end", closedRecord)
						_ = c.Close(driver.Graceful)
					} else {
						g.awaitRecord("the refusal", func(r transcript.Record) bool { return r.Kind == transcript.Response })
					}
					g.Close()
					// the echo may come before or after the client's next message
					want, got := shorts(own.All()), shorts(g.log.All())
					if path == "/ws" {
						slices.Sort(want)
						slices.Sort(got)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("the driver's records (-) and the gate's (+):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestRecordsShowWhatTheProgramGets: the records of a client have the replaced message, not the one that the peer sent.
func TestRecordsShowWhatTheProgramGets(t *testing.T) {
	for program, want := range map[gate.Side][]string{
		gate.Client: {"received one", "sent changed", "received bye"},
		gate.Server: {"sent one", "received one", "sent bye"},
	} {
		t.Run(program.String(), func(t *testing.T) {
			g := openGate(t, serve(t, echoMessages), func(o *gate.Options) {
				o.Program = program
				o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
					if m.From == gate.Server && m.Kind == transcript.Frame {
						return gate.Decision{With: []gate.Message{{Body: []byte("changed")}}}
					}
					return gate.Decision{}
				}
			})
			c := dial(t, g.URL(), nil)
			sendText(t, c, "one")
			wantText(t, c, "changed")
			sendText(t, c, "bye")
			_, _, _ = c.Read(boundedContext(t))
			g.awaitRecord("the end", closedRecord)
			var got []string
			for _, r := range g.log.All() {
				if r.Kind == transcript.Frame {
					got = append(got, string(r.Dir)+" "+string(r.Bytes))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTLS uses TLS on both sides.
func TestTLS(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			echoMessages(w, r)
			return
		}
		_, _ = io.WriteString(w, r.Proto)
	}))
	defer up.Close()
	trust := up.Client().Transport.(*http.Transport).TLSClientConfig
	g := openGate(t, up, func(o *gate.Options) {
		o.TLS = up.TLS
		o.UpstreamTLS = trust
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(g.URL())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(b) != "HTTP/1.1" {
		t.Errorf("got %q", b)
	}
	c := dialWith(t, g.URL()+"/ws", client)
	sendText(t, c, "one")
	wantText(t, c, "one")
	if err := g.End("C1", driver.Reset); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Read(boundedContext(t)); err == nil {
		t.Error("the connection is still open")
	}
}
