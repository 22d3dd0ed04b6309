//go:build !unix

package freeport

// vacant reports whether nothing listens on a port.
func vacant(port int) bool {
	l, err := listen(port)
	return err == nil && l.Close() == nil
}
