package certificate

import (
	"fmt"
	"html"
	"time"
	"unicode/utf8"

	"parley/transcript"
)

// Colours of badges: white text on them has a contrast of more than 4.5.
const (
	green = "#22704f"
	grey  = "#5f6775"
)

// Badge returns a badge for the certificate, as SVG: what it certifies, or that it has expired.
func (c *Certificate) Badge(now time.Time) []byte {
	t := c.Predicate.Target
	right, colour := "conformant · "+transcript.Printable(t.Protocol), green
	if c.Predicate.Expired(now) {
		right, colour = "expired · "+transcript.Printable(t.Protocol), grey
	}
	if utf8.RuneCountInString(right) > maxBadge {
		right = string([]rune(right)[:maxBadge]) + "…"
	}
	return badge("parley", right, colour)
}

// maxBadge bounds the text of a badge, in characters.
const maxBadge = 60

// badge draws two texts side by side. It has no script and no reference; the texts are escaped.
func badge(left, right, colour string) []byte {
	const perRune, pad, height = 7, 12, 20
	a, b := perRune*utf8.RuneCountInString(left)+pad, perRune*utf8.RuneCountInString(right)+pad
	l, r := html.EscapeString(left), html.EscapeString(right)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" role="img" `+
		`aria-label="%[3]s: %[4]s"><title>%[3]s: %[4]s</title><rect width="%[1]d" height="%[2]d" rx="3" fill="#20252f"/>`+
		`<path d="M%[5]d 0h%[6]da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H%[5]dz" fill="%[7]s"/>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`+
		`<text x="%[8]d" y="14" textLength="%[9]d">%[3]s</text><text x="%[10]d" y="14" textLength="%[11]d">%[4]s</text>`+
		"</g></svg>\n",
		a+b, height, l, r, a, b-3, colour, a/2, a-pad, a+b/2, b-pad)
}
