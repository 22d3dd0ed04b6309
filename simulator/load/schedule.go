package load

import (
	"math"
	"time"
)

// schedule has the times at which acts arrive, fixed in advance.
type schedule struct {
	rate     float64 // acts per second, of the whole shape
	duration time.Duration
	shape    Shape
}

// count returns how many acts arrive.
func (s schedule) count() int {
	whole := s.rate * s.duration.Seconds()
	switch s.shape {
	case Ramp:
		whole /= 2
	case Step:
		whole *= (steppings + 1) / 2.0 / steppings
	}
	return max(int(whole), 1)
}

// at returns when the act with a number, from 0, arrives: the inverse of the number of acts over time.
func (s schedule) at(n int) time.Duration {
	seconds := float64(n) / s.rate
	switch s.shape {
	case Ramp: // n = rate·t²/2D
		seconds = math.Sqrt(2 * s.duration.Seconds() * float64(n) / s.rate)
	case Step:
		seconds = s.stepped(float64(n))
	}
	return min(time.Duration(seconds*float64(time.Second)), s.duration)
}

// stepped is at for Step.
func (s schedule) stepped(n float64) float64 {
	each := s.duration.Seconds() / steppings
	for i := range steppings {
		rate := s.rate * float64(i+1) / steppings
		if n < rate*each || i == steppings-1 {
			return each*float64(i) + n/rate
		}
		n -= rate * each
	}
	return s.duration.Seconds()
}

// stage returns in which step of Step a time is, from 0; 0 for other shapes.
func (s schedule) stage(at time.Duration) int {
	if s.shape != Step {
		return 0
	}
	return min(int(at*steppings/s.duration), steppings-1)
}
