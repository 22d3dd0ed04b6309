// Package snapshot is what a person sees of a page at one moment, as package browser reads it: the payload of a
// transcript's records of Kind Snapshot.
package snapshot

// Page is a page at one moment. Texts have their white space folded.
type Page struct {
	URL string `json:"url"`

	// Text is what is visible, in document order, titles and placeholders included, without the log's panel and the
	// options of Select.
	Text string `json:"text"`

	Select   Select             `json:"select"`   // the select that is read in full
	Controls map[string]Control `json:"controls"` // by name, as in driver.Page.Controls
	Chat     []string           `json:"chat"`     // visible text of each direct child of the chat's box, text nodes too
	Log      []Row              `json:"log"`      // rows of the event log in document order, in view or not
	Loading  bool               `json:"loading"`  // driver.Page.Loading is visible

	// Between counts the visible buttons, links, inputs and selects between Select and the control "new-session" in the
	// same row; -1: they are not in one row.
	Between int `json:"between"`

	Modal string `json:"modal"` // text of an open dialog:modal or [aria-modal=true]; "" for none
	Cut   int    `json:"cut"`   // how many rows of the log, its oldest, were left out
}

// Select is a <select> in full.
type Select struct {
	Control
	Busy     bool     `json:"busy"`    // aria-busy on it or one of its 3 nearest ancestors
	Classes  []string `json:"classes"` // of it and its 3 nearest ancestors below body, sorted
	Cursor   string   `json:"cursor"`  // computed, e.g. "wait"
	Options  []Option `json:"options"`
	Index    int      `json:"index"` // selectedIndex; -1: nothing is selected
	Multiple bool     `json:"multiple"`
}

// Control is what can be acted on.
type Control struct {
	Found    bool   `json:"found"`   // the rest is empty when false
	Visible  bool   `json:"visible"` // displayed, neither hidden nor transparent, and with a box that is not empty
	Disabled bool   `json:"disabled"`
	Tag      string `json:"tag"` // lower-case
	ID       string `json:"id"`
	Text     string `json:"text"` // visible text; of a select that of what is selected
	Value    string `json:"value"`
	Title    string `json:"title"`
	Rect     Rect   `json:"rect"`
}

// Rect is a box in pixels of the viewport.
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
	Disabled bool   `json:"disabled"` // it, or its optgroup
	Selected bool   `json:"selected"`
}

// Row is a row of the event log.
type Row struct {
	Text string `json:"text"`
	// Levels are lower-case tokens of its class names (split at space, - and _) and its data-level, or, where it has
	// neither, those of its descendants; and the driver.Page.Levels that match. Sorted.
	Levels []string `json:"levels"`
}
