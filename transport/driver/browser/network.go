package browser

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"parley/internal/deadline"
	"parley/transport/transcript"
)

// bodyTime bounds the wait for a request's body if the event does not include it. A long body takes more than a second
// on a busy machine.
const bodyTime = 10 * time.Second

// The relevant fields of network events; the rest is not decoded.
type (
	requestEvent struct {
		RequestID network.RequestID `json:"requestId"`
	}
	willBeSent struct {
		RequestID network.RequestID    `json:"requestId"`
		LoaderID  string               `json:"loaderId"`
		Type      network.ResourceType `json:"type"`
		FrameID   cdp.FrameID          `json:"frameId"`
		Request   struct {
			URL             string                   `json:"url"`
			Method          string                   `json:"method"`
			HasPostData     bool                     `json:"hasPostData"`
			PostDataEntries []*network.PostDataEntry `json:"postDataEntries"`
		} `json:"request"`
		RedirectResponse *struct {
			Status int `json:"status"`
		} `json:"redirectResponse"`
	}
	responseEvent struct {
		RequestID network.RequestID    `json:"requestId"`
		Type      network.ResourceType `json:"type"`
		FrameID   cdp.FrameID          `json:"frameId"`
		Response  struct {
			Status int `json:"status"`
		} `json:"response"`
	}
	failedEvent struct {
		RequestID     network.RequestID `json:"requestId"`
		ErrorText     string            `json:"errorText"`
		BlockedReason string            `json:"blockedReason"`
	}
	socketCreated struct {
		RequestID network.RequestID `json:"requestId"`
		URL       string            `json:"url"`
	}
	socketError struct {
		RequestID    network.RequestID `json:"requestId"`
		ErrorMessage string            `json:"errorMessage"`
	}
	postData struct {
		PostData      string `json:"postData"`
		Base64Encoded bool   `json:"base64Encoded"`
	}
)

var getRequestPostData = cdp.Command[network.GetRequestPostDataParams,
	postData]{Method: network.GetRequestPostData.Method}

// sentRequest is a pending request.
type sentRequest struct {
	n      int // its record; 0: not recorded
	status int
}

func (c *Conn) onRequest(e willBeSent) {
	if e.RedirectResponse != nil {
		if a := c.asks[e.RequestID]; a != nil {
			a.status = e.RedirectResponse.Status
		}
		c.recordRequestEnd(e.RequestID, "finished")
	}
	if hostPort(e.Request.URL) == "" || isOwn(e) {
		return
	}
	if e.Type == network.ResourceTypeDocument && string(e.FrameID) == string(c.t.id) {
		c.document.request, c.document.status, c.document.fault = e.RequestID, 0, ""
		c.faulted = false
		c.countOrExceed(&c.uses.documents, maxDocuments, "it has requested documents without end")
	}
	r := transcript.Record{Kind: transcript.Ask, Label: e.Request.Method + " " + e.Request.URL,
		Type: strings.ToLower(string(e.Type))}
	if e.Request.HasPostData {
		r.Bytes, r.Cut = c.requestBody(e)
	}
	c.recordRequest(e.RequestID, e.Request.URL, r)
}

// isOwn reports whether the request is the browser's own: a preflight, or the icon that it looks for on every host.
func isOwn(e willBeSent) bool {
	return e.Type == network.ResourceTypePreflight || e.Type == network.ResourceTypeOther &&
		(e.Request.Method == "OPTIONS" || strings.HasSuffix(e.Request.URL, "/favicon.ico"))
}

// requestBody returns the body of a request.
func (c *Conn) requestBody(e willBeSent) (b []byte, cut int) {
	for _, p := range e.Request.PostDataEntries {
		b = append(b, p.Bytes...)
	}
	if b == nil { // long, or from a file
		ctx, cancel := deadline.WithLimit(c.live, bodyTime)
		defer cancel()
		v, err := callCommand(ctx, c.s, getRequestPostData, network.GetRequestPostDataParams{RequestID: e.RequestID})
		if err != nil {
			return nil, 0
		}
		b = []byte(v.PostData)
		if d, err := base64.StdEncoding.DecodeString(v.PostData); v.Base64Encoded && err == nil {
			b = d
		}
	}
	if cut = len(b) - maxBody; cut > 0 {
		return b[:maxBody:maxBody], cut
	}
	return b, 0
}

func (c *Conn) onSocket(e socketCreated) {
	c.recordRequest(e.RequestID, e.URL, transcript.Record{Kind: transcript.Ask, Label: "GET " + e.URL,
		Type: "websocket"})
}

// recordRequest records a request; a refused one only once per URL.
func (c *Conn) recordRequest(id network.RequestID, address string, r transcript.Record) {
	a := &sentRequest{}
	c.asks[id] = a
	defer c.countRequest(r.Type)
	if !c.t.profile.fence.allowsURL(address) {
		r.Label = "blocked " + r.Label
		if c.blocked[address] || len(c.blocked) >= maxAttempts {
			return
		}
		c.blocked[address] = true
	}
	a.n = c.appendRecord(r)
}

func (c *Conn) onResponse(e responseEvent) {
	if a := c.asks[e.RequestID]; a != nil {
		a.status = e.Response.Status
	}
	if e.RequestID == c.document.request {
		c.document.status = e.Response.Status
	}
}

func (c *Conn) onFailed(e failedEvent) {
	why := e.ErrorText
	if why == "" {
		why = e.BlockedReason
	}
	if e.RequestID == c.document.request {
		c.document.fault = why
	}
	if a := c.asks[e.RequestID]; a != nil && a.status != 0 && why == "net::ERR_ABORTED" {
		c.recordRequestEnd(e.RequestID, "finished") // the response has no body, or the page has not read all of it
		return
	}
	c.recordRequestEnd(e.RequestID, "failed: "+why)
}

// recordRequestEnd records that a request has ended.
func (c *Conn) recordRequestEnd(id network.RequestID, how string) {
	a := c.asks[id]
	delete(c.asks, id)
	if a != nil && a.n != 0 {
		c.appendRecord(transcript.Record{Kind: transcript.Answered, Reply: a.n, Status: a.status, Label: how})
	}
}
