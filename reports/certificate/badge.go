package certificate

import (
	"time"
	"unicode/utf8"

	"parley/reports"
	"parley/transport/transcript"
)

// Badge returns a badge for the certificate: what it certifies, or that it has expired.
func (c *Certificate) Badge(now time.Time) reports.Badge {
	b := reports.Badge{Message: "conformant · ", Colour: reports.Green}
	if c.Predicate.Expired(now) {
		b = reports.Badge{Message: "expired · ", Colour: reports.Grey}
	}
	b.Message += transcript.Printable(c.Predicate.Target.Protocol)
	if utf8.RuneCountInString(b.Message) > maxBadge {
		b.Message = string([]rune(b.Message)[:maxBadge]) + "…"
	}
	return b
}

// maxBadge bounds the text of a badge, in characters.
const maxBadge = 60
