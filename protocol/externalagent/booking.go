package externalagent

// Stages of the default booking flow, in order.
const (
	MovieStage   = "movie"
	TheaterStage = "theater"
	DateStage    = "date"
	TimeStage    = "time"
	SeatStage    = "seat"
	TicketStage  = "ticket"
	ConfirmStage = "confirm"
)

// Stages lists the stages of the default booking flow.
func Stages() []string {
	return []string{MovieStage, TheaterStage, DateStage, TimeStage, SeatStage, TicketStage, ConfirmStage}
}

// Tools of the default booking flow.
const (
	Select      = "select"      // itemId: choose an item; for seats, choose or release
	SetQuantity = "setQuantity" // itemId, quantity: how many tickets of a type
	Next        = "next"        // to the next stage; from ConfirmStage: book
	Prev        = "prev"        // to the previous stage
	PostMessage = "postMessage" // text: a message of the host's assistant in the chat
	Filter      = "filter"      // attribute, value: show only items that have it; an empty value shows all
	Sort        = "sort"        // attribute, order: asc or desc
	Highlight   = "highlight"   // itemId: draw attention to an item
)

// Tool is one announced tool, an item of toolSchema.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters"` // a JSON Schema object, or a flat map {param: {type, enum?, optional?}}
}

// UISpec is what the default host shows: the form of one stage. While none is shown (before the first session, and
// after booking) uiSpec is null.
type UISpec struct {
	Stage  string   `json:"stage"`
	Stages []string `json:"stages"` // all of them, in order
	Title  string   `json:"title"`
	// the available choices, as filtered and sorted; none at ConfirmStage
	Items       []Item         `json:"items"`
	Selected    []string       `json:"selected"`              // ids of the chosen items
	Quantities  map[string]int `json:"quantities,omitempty"`  // TicketStage: ticket type → tickets
	Highlighted []string       `json:"highlighted,omitempty"` // ids
	Filter      *FilterSpec    `json:"filter,omitempty"`      // the one in use
	Sort        *SortSpec      `json:"sort,omitempty"`        // the one in use
	Summary     []Line         `json:"summary"`               // what has been chosen so far
	Total       *float64       `json:"total,omitempty"`       // price in the catalogue's currency, from TicketStage on
}

// Item is one choice.
type Item struct {
	ID         string         `json:"id"`
	Label      string         `json:"label"`
	Available  bool           `json:"available"`            // false: sold out; choosing it fails while running
	Attributes map[string]any `json:"attributes,omitempty"` // used to filter and sort items
}

// FilterSpec is a filter in use.
type FilterSpec struct {
	Attribute string `json:"attribute"`
	Value     string `json:"value"`
}

// SortSpec is an order in use.
type SortSpec struct {
	Attribute string `json:"attribute"`
	Order     string `json:"order"` // asc, desc
}

// Line is one line of a summary.
type Line struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// ChatMessage is one entry of the default host's messageHistory.
type ChatMessage struct {
	ID        string `json:"id"`
	Role      string `json:"role"` // user, agent, assistant
	Text      string `json:"text"`
	Stage     string `json:"stage"`
	Timestamp string `json:"timestamp"` // RFC 3339, UTC
}
