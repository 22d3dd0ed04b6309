package reports

// colour is the parameter of a terminal colour code; the zero value means no colour.
type colour string

const (
	bold    colour = "1"
	dim     colour = "2"
	red     colour = "31"
	green   colour = "32"
	yellow  colour = "33"
	magenta colour = "35"
	cyan    colour = "36"
)

// strong returns c in bold.
func strong(c colour) colour {
	if c == "" {
		return bold
	}
	return bold + ";" + c
}

// paint colours text if true.
type paint bool

func (p paint) text(c colour, s string) string {
	if !p || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
