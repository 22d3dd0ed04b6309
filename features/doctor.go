package features

import "embed"

// Doctor holds the scenarios by which parley doctor examines a profile, by protocol. They do not belong to the suite:
// FS does not have them, and Digest does not count them.
//
//go:embed */doctor/*.feature
var Doctor embed.FS
