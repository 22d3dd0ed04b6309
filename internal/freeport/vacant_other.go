//go:build !unix

package freeport

// isVacant reports whether nothing listens on a port.
func isVacant(port int) bool {
	l, err := listenLoopback(port)
	return err == nil && l.Close() == nil
}
