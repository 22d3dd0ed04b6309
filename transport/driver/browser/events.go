package browser

import (
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/go-json-experiment/json"

	"parley/internal/cut"
	"parley/transport/transcript"
)

const (
	maxConsole = 200      // console messages recorded
	maxChatter = 100      // of these, neither errors nor warnings
	maxMessage = 16 << 10 // bytes of one message
)

// decodeEvent decodes an event and handles it. It ignores what cannot be decoded.
func decodeEvent[E any](m *cdproto.Message, do func(E)) {
	var e E
	if json.Unmarshal(m.Params, &e, lenient) == nil {
		do(e)
	}
}

// handleEvent handles an event of the page. Events come in order; no handler may wait for the page.
func (c *Conn) handleEvent(m *cdproto.Message) {
	if c.fault != "" {
		return
	}
	switch string(m.Method) {
	case runtime.BindingCalled.Method:
		decodeEvent(m, c.onTold)
	case runtime.ExecutionContextCreated.Method:
		decodeEvent(m, c.onWorld)
	case runtime.ExecutionContextDestroyed.Method:
		decodeEvent(m, c.onWorldGone)
	case runtime.ExecutionContextsCleared.Method:
		c.moveTo("", "")
	case target.AttachedToTarget.Method:
		decodeEvent(m, c.onWorker)
	case target.DetachedFromTarget.Method:
		decodeEvent(m, c.onWorkerGone)
	case page.WindowOpen.Method:
		c.countOrExceed(&c.uses.windows, maxWindows, "it has opened windows without end")
	case page.JavascriptDialogOpening.Method:
		decodeEvent(m, c.onDialog)
	case page.FrameRequestedNavigation.Method:
		decodeEvent(m, c.onMoving)
	case page.NavigatedWithinDocument.Method:
		decodeEvent(m, c.onMovedWithin)
	case runtime.ConsoleAPICalled.Method:
		decodeEvent(m, c.onConsole)
	case runtime.ExceptionThrown.Method:
		decodeEvent(m, c.onException)
	case fetch.RequestPaused.Method:
		decodeEvent(m, c.onPaused)
	case inspector.TargetCrashed.Method:
		c.crashed = true
		c.s.c.endSession(c.s.id)
	default:
		if strings.HasPrefix(string(m.Method), "Network.") {
			c.heardNetwork(m)
		}
	}
}

// onTold handles messages of the reader: L and a look; O and the first look of a loaded document; E if the browser
// shows a page of its own because there is no document.
func (c *Conn) onTold(e runtime.EventBindingCalled) {
	if e.Name != tellName || e.Payload == "" {
		return
	}
	what, l := e.Payload[0], e.Payload[1:]
	switch what {
	case 'O':
		c.onLoaded(l)
	case 'L':
		c.recordLook(l)
	case 'E':
		c.recordFailedDocument(c.document.fault)
		c.recordLook(l)
	}
}

// onLoaded records that a document has loaded, and the first look at it.
func (c *Conn) onLoaded(first string) {
	l := c.onItsWay()
	r := transcript.Record{Kind: transcript.Open, Label: "page", Status: c.document.status}
	if l != nil {
		r.Reply = l.reply
	}
	if l != nil && l.first && r.Status >= 400 {
		c.recordEnd("") // Open returns the error instead
		c.documentArrived(l, &statusError{r.Status})
		return
	}
	c.faulted = false
	c.appendRecord(r)
	c.telling.Lock()
	c.last = "" // a new document has a first look
	c.telling.Unlock()
	c.recordLook(first)
	c.documentArrived(l, nil)
}

// recordFailedDocument records that a document will not come.
func (c *Conn) recordFailedDocument(why string) {
	if why == "" {
		why = "the page cannot be loaded"
	}
	l := c.onItsWay()
	again := c.faulted
	c.faulted = true
	switch {
	case l != nil && l.first:
		c.recordEnd("")
	case l != nil:
		c.appendRecord(transcript.Record{Kind: transcript.Failure, Label: why, Reply: l.reply})
	case !again:
		c.appendRecord(transcript.Record{Kind: transcript.Failure, Label: why})
	}
	c.documentArrived(l, &loadError{why})
}

type loadError struct{ why string }

func (e *loadError) Error() string { return e.why }

func (c *Conn) onWorld(e runtime.EventExecutionContextCreated) {
	var aux struct {
		FrameID cdp.FrameID `json:"frameId"`
	}
	if e.Context == nil || e.Context.Name != worldName || json.Unmarshal(e.Context.AuxData, &aux, lenient) != nil {
		return
	}
	if string(aux.FrameID) == string(c.t.id) {
		c.moveTo(e.Context.UniqueID, "")
	}
}

func (c *Conn) onWorldGone(e runtime.EventExecutionContextDestroyed) {
	c.moveTo("", e.ExecutionContextUniqueID)
}

// moveTo sets the reader's world in the document. If from is not "", it does so only if that is the present world.
func (c *Conn) moveTo(world, from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from != "" && c.world != from {
		return
	}
	c.world = world
	close(c.moved)
	c.moved = make(chan struct{})
}

// prepareWorker subscribes to the network requests of a worker of the page, and lets it run.
func (c *Conn) prepareWorker(id target.SessionID) {
	s := c.s.c.attachTo(id, c.s, func(m *cdproto.Message) {
		if c.fault == "" && strings.HasPrefix(string(m.Method), "Network.") {
			c.heardNetwork(m)
		}
	})
	body := int64(maxBody)
	startCommand(s, network.Enable, network.EnableParams{MaxPostDataSize: &body})
	startCommand(s, runtime.RunIfWaitingForDebugger, cdp.Empty{})
}

// onMoving notes that the page has requested another document.
func (c *Conn) onMoving(e page.EventFrameRequestedNavigation) {
	if string(e.FrameID) != string(c.t.id) || e.Disposition != page.ClientNavigationDispositionCurrentTab {
		return
	}
	if c.onItsWay() == nil {
		c.awaitDocument(0, false)
	}
}

// onMovedWithin notes that a navigation stayed within the document.
func (c *Conn) onMovedWithin(e page.EventNavigatedWithinDocument) {
	if string(e.FrameID) != string(c.t.id) {
		return
	}
	if l := c.onItsWay(); l != nil && !l.first {
		c.documentArrived(l, nil)
	}
}

// onDialog records a dialog, and accepts it. Scripts are blocked until then, so it waits for nothing.
func (c *Conn) onDialog(e page.EventJavascriptDialogOpening) {
	startCommand(c.s, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true,
		PromptText: e.DefaultPrompt})
	c.appendRecord(transcript.Record{Kind: transcript.Dialog, Type: string(e.Type), Label: string(e.Type),
		Bytes: []byte(e.Message)})
	c.countOrExceed(&c.uses.dialogs, maxDialogs, "it has opened dialogs without end")
}

func (c *Conn) onConsole(e runtime.EventConsoleAPICalled) {
	var words []string
	for _, a := range e.Args {
		words = append(words, consoleText(a))
	}
	c.recordConsole(string(e.Type), strings.Join(words, " "))
}

func (c *Conn) onException(e runtime.EventExceptionThrown) {
	if e.ExceptionDetails != nil {
		c.recordConsole(transcript.Exception, exceptionText(e.ExceptionDetails))
	}
}

// recordConsole records a message, unless there were too many.
func (c *Conn) recordConsole(typ, text string) {
	if c.consoles >= maxConsole {
		return
	}
	if typ != "error" && typ != "warning" && typ != transcript.Exception && typ != "assert" {
		if c.chatter++; c.chatter > maxChatter {
			return
		}
	}
	c.consoles++
	r := transcript.Record{Kind: transcript.Console, Type: typ, Bytes: []byte(text)}
	r.Bytes = cut.Bytes(r.Bytes, maxMessage)
	r.Cut = len(text) - len(r.Bytes)
	if c.consoles == maxConsole {
		r.Label = "and no more of the console is recorded"
	}
	c.appendRecord(r)
}

// consoleText returns a value as the console shows it.
func consoleText(o *runtime.RemoteObject) string {
	var s string
	switch {
	case o == nil:
		return ""
	case json.Unmarshal(o.Value, &s, lenient) == nil:
		return s
	case o.Description != "":
		return o.Description
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return string(o.Type)
}

func exceptionText(e *runtime.ExceptionDetails) string {
	if e.Exception != nil {
		return strings.TrimSpace(e.Text + " " + consoleText(e.Exception))
	}
	return e.Text
}

// heardNetwork handles a network event.
func (c *Conn) heardNetwork(m *cdproto.Message) {
	switch string(m.Method) {
	case network.RequestWillBeSent.Method:
		decodeEvent(m, c.onRequest)
	case network.ResponseReceived.Method:
		decodeEvent(m, c.onResponse)
	case network.LoadingFinished.Method:
		decodeEvent(m, func(e requestEvent) { c.recordRequestEnd(e.RequestID, "finished") })
	case network.LoadingFailed.Method:
		decodeEvent(m, c.onFailed)
	case network.WebSocketCreated.Method:
		decodeEvent(m, c.onSocket)
	case network.WebSocketHandshakeResponseReceived.Method:
		decodeEvent(m, func(e responseEvent) {
			if a := c.asks[e.RequestID]; a != nil {
				a.status = e.Response.Status
			}
		})
	case network.WebSocketFrameError.Method:
		decodeEvent(m, func(e socketError) { c.recordRequestEnd(e.RequestID, "failed: "+e.ErrorMessage) })
	case network.WebSocketClosed.Method:
		decodeEvent(m, func(e requestEvent) { c.recordRequestEnd(e.RequestID, "finished") })
	}
}
