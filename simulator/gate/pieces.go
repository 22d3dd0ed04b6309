package gate

import (
	"iter"
	"time"
)

// Piece is one write towards a side, instead of the bytes of a message: see Decision.Wire.
type Piece struct {
	After time.Duration // pause before it, in which nothing else is sent to that side
	Bytes []byte        // not kept
	Half  bool          // after it, the gate ends this direction with a FIN
}

// pieces writes the pieces that Decision.Wire makes of the bytes of a message; the caller has the turn.
func (c *conn) pieces(o *outlet, all iter.Seq[Piece]) error {
	for p := range all {
		if p.After > 0 {
			timer := time.NewTimer(p.After)
			select {
			case <-timer.C:
			case <-c.l.ctx.Done():
				timer.Stop()
				return errGone
			}
		}
		if len(p.Bytes) > 0 {
			if err := o.write(p.Bytes); err != nil {
				return err
			}
		}
		if p.Half {
			o.shut = true
			o.e.closeWrite()
			return nil
		}
	}
	return nil
}
