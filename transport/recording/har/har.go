// Package har converts recordings from and to HAR 1.2, the format in which the developer tools of browsers export what
// a page has sent and received. The messages of WebSockets are in _webSocketMessages, and those of event streams in
// _eventSourceMessages, as Chromium writes them; those of answers that are event streams are also in their content, as
// browsers have it. Of headers there are those that recordings show, and cookies are left out.
package har

import "time"

// MaxBytes bounds what is converted, which is kept in memory.
const MaxBytes = 256 << 20

// file is a HAR file.
type file struct {
	Log log `json:"log"`
}

type log struct {
	Version string  `json:"version"`
	Creator creator `json:"creator"`
	Entries []entry `json:"entries"`
}

type creator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// entry is a request with its answer, or a connection.
type entry struct {
	Started  string          `json:"startedDateTime"` // RFC 3339
	Time     float64         `json:"time"`            // milliseconds
	Request  request         `json:"request"`
	Response response        `json:"response"`
	Cache    struct{}        `json:"cache"`
	Timings  timings         `json:"timings"`
	Resource string          `json:"_resourceType,omitempty"`
	Frames   []socketMessage `json:"_webSocketMessages,omitempty"`
	Events   []streamMessage `json:"_eventSourceMessages,omitempty"`
	Party    string          `json:"_party,omitempty"` // in what Write wrote: whose it was
	Comment  string          `json:"comment,omitempty"`
}

type request struct {
	Method      string    `json:"method"`
	URL         string    `json:"url"`
	HTTPVersion string    `json:"httpVersion"`
	Cookies     []pair    `json:"cookies"`
	Headers     []pair    `json:"headers"`
	Query       []pair    `json:"queryString"`
	PostData    *postData `json:"postData,omitempty"`
	HeadersSize int       `json:"headersSize"`
	BodySize    int       `json:"bodySize"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type postData struct {
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	Encoding string `json:"encoding,omitempty"`
}

type response struct {
	Status      int     `json:"status"`
	StatusText  string  `json:"statusText"`
	HTTPVersion string  `json:"httpVersion"`
	Cookies     []pair  `json:"cookies"`
	Headers     []pair  `json:"headers"`
	Content     content `json:"content"`
	RedirectURL string  `json:"redirectURL"`
	HeadersSize int     `json:"headersSize"`
	BodySize    int     `json:"bodySize"`
	Error       string  `json:"_error,omitempty"`
}

type content struct {
	Size     int    `json:"size"`
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"` // base64
}

type timings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// socketMessage is a WebSocket message: Data is base64 if the opcode is 2.
type socketMessage struct {
	Type   string  `json:"type"` // send or receive
	Time   float64 `json:"time"` // seconds since 1970
	Opcode int     `json:"opcode"`
	Data   string  `json:"data"`
}

// streamMessage is an event of an event stream.
type streamMessage struct {
	Time float64 `json:"time"` // seconds since 1970
	Name string  `json:"eventName"`
	ID   string  `json:"eventId"`
	Data string  `json:"data"`
}

// The resource types of what is not a document, picture or the like.
const (
	socketType = "websocket"
	streamType = "eventsource"
	fetchType  = "fetch"
)

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// timeOf is a time in seconds since 1970, bounded by those that times can have here.
func timeOf(seconds float64) time.Time {
	return time.UnixMicro(int64(min(max(seconds, 0), 1e11) * 1e6))
}
