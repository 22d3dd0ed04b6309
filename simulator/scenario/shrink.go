package scenario

import (
	"regexp"
	"slices"
	"strings"

	"parley/steps"
)

// Shrink leaves out lines as long as keeps says that the rest shows the same (delta debugging). It asks at most bound
// times; lines itself is not asked about. The lines of one record are left out together. The result is minimal if
// the bound was not reached: nothing of a single record can be left out.
func Shrink(lines []Line, bound int, keeps func([]Line) bool) []Line {
	s := &shrinking{left: bound, keeps: keeps}
	return s.leaveOutUnits(lines, byRecord)
}

// ShrinkFurther is Shrink, and leaves out single lines too, and puts one step in the place of several. What then stands
// there may be no longer what the source demands: keeps is to ask a target that conforms as well.
func ShrinkFurther(lines []Line, bound int, folds []steps.Fold, keeps func([]Line) bool) []Line {
	s := &shrinking{left: bound, keeps: keeps}
	lines = s.foldAll(lines, folds)
	lines = s.leaveOutUnits(lines, byRecord)
	lines = s.leaveOutUnits(s.foldAll(lines, folds), byLine)
	return s.foldAll(lines, folds)
}

func (s *shrinking) foldAll(lines []Line, folds []steps.Fold) []Line {
	for _, f := range folds {
		lines = s.foldSteps(lines, f)
	}
	return lines
}

type shrinking struct {
	left  int
	keeps func([]Line) bool
}

// showsSame reports whether lines show the same; not if too much was asked.
func (s *shrinking) showsSame(lines []Line) bool {
	if len(lines) == 0 || s.left == 0 {
		return false
	}
	s.left--
	return s.keeps(lines)
}

// byRecord returns the indices of lines in groups that are left out together.
func byRecord(lines []Line) (out [][]int) {
	for i, l := range lines {
		if i > 0 && l.Of > 0 && l.Of == lines[i-1].Of {
			out[len(out)-1] = append(out[len(out)-1], i)
		} else {
			out = append(out, []int{i})
		}
	}
	return out
}

// byLine returns the indices of the lines behind the first of their record, each alone.
func byLine(lines []Line) (out [][]int) {
	for _, group := range byRecord(lines) {
		for _, i := range group[1:] {
			out = append(out, []int{i})
		}
	}
	return out
}

// leaveOutUnits leaves out units of lines: half of them, a quarter, and so on down to one.
func (s *shrinking) leaveOutUnits(lines []Line, units func([]Line) [][]int) []Line {
	for size := max(1, len(units(lines))/2); ; size /= 2 {
		for shorter := true; shorter && s.left > 0; {
			shorter = false
			for at := 0; at < len(units(lines)); {
				all := units(lines)
				rest := withoutRange(lines, slices.Concat(all[at:min(at+size, len(all))]...))
				if s.showsSame(rest) {
					lines, shorter = rest, true
				} else {
					at += size
				}
			}
		}
		if size <= 1 {
			return lines
		}
	}
}

func withoutRange(lines []Line, indices []int) (out []Line) {
	for i, l := range lines {
		if !slices.Contains(indices, i) {
			out = append(out, l)
		}
	}
	return out
}

// foldSteps puts one step in the place of several, wherever it can.
func (s *shrinking) foldSteps(lines []Line, f steps.Fold) []Line {
	for at := 0; at+len(f.Steps) <= len(lines); at++ {
		by, ok := matchFold(lines[at:at+len(f.Steps)], f)
		if !ok {
			continue
		}
		shorter := slices.Concat(lines[:at], []Line{{Text: by, Of: lines[at].Of}}, lines[at+len(f.Steps):])
		if s.showsSame(shorter) {
			lines = shorter
		}
	}
	return lines
}

// matchFold returns the step that stands for some lines.
func matchFold(lines []Line, f steps.Fold) (by string, ok bool) {
	by = f.By
	names := map[string]string{}
	for i, expr := range f.Steps {
		re := regexp.MustCompile("^" + expr + "$")
		m := re.FindStringSubmatch(lines[i].Text)
		if m == nil || lines[i].Comment || lines[i].Below != nil || lines[i].Rows != "" {
			return "", false
		}
		for n, name := range re.SubexpNames() {
			if was, there := names[name]; name != "" && there && was != m[n] {
				return "", false
			} else if name != "" {
				names[name] = m[n]
				by = strings.ReplaceAll(by, "$"+name, m[n])
			}
		}
	}
	return by, true
}
