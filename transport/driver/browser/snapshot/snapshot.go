// Package snapshot is what a user sees of a page at one moment, as read by package browser: the payload of transcript
// records of Kind Snapshot.
package snapshot

// Page is the state of a page at one moment. White space in texts is collapsed.
type Page struct {
	URL string `json:"url"`

	// Text is the visible text in document order, including titles and placeholders, without the log panel and the
	// options of Select.
	Text string `json:"text"`

	Select   Select             `json:"select"`   // the select that is read in full
	Controls map[string]Control `json:"controls"` // by name, as in driver.Page.Controls
	Chat     []string           `json:"chat"`     // visible text of each direct child of the chat box, text nodes too
	Log      []Row              `json:"log"`      // rows of the event log in document order, visible or not
	Loading  bool               `json:"loading"`  // driver.Page.Loading is visible

	// Between counts the visible buttons, links, inputs and selects between Select and the control "new-session" in the
	// same row; -1: they are in different rows.
	Between int `json:"between"`

	Modal string `json:"modal"` // text of an open dialog:modal or [aria-modal=true]; "": none
	Cut   int    `json:"cut"`   // how many of the oldest log rows were left out
}

// Select is a <select> in full.
type Select struct {
	Control
	Busy     bool     `json:"busy"`    // aria-busy on it or one of its 3 nearest ancestors
	Classes  []string `json:"classes"` // of it and of its 3 nearest ancestors below body, sorted
	Cursor   string   `json:"cursor"`  // computed, e.g. "wait"
	Options  []Option `json:"options"`
	Index    int      `json:"index"` // selectedIndex; -1: none
	Multiple bool     `json:"multiple"`
}

// Control is an element that can be acted on.
type Control struct {
	Found    bool   `json:"found"`   // if false, the rest is empty
	Visible  bool   `json:"visible"` // displayed, neither hidden nor transparent, with a non-empty box
	Disabled bool   `json:"disabled"`
	Tag      string `json:"tag"` // lower-case
	ID       string `json:"id"`
	Text     string `json:"text"` // visible text; for a select, that of the selected option
	Value    string `json:"value"`
	Title    string `json:"title"`
	Rect     Rect   `json:"rect"`
}

// Rect is a box in viewport pixels.
type Rect struct {
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Option is an option of the select.
type Option struct {
	Value    string `json:"value"`
	Text     string `json:"text"`
	Disabled bool   `json:"disabled"` // itself or its optgroup
	Selected bool   `json:"selected"`
}

// Row is a row of the event log.
type Row struct {
	Text string `json:"text"`
	// Levels are the lower-case tokens of its class names (split at space, - and _) and its data-level, or those of its
	// descendants if it has neither; and the matching driver.Page.Levels. Sorted.
	Levels []string `json:"levels"`
}
