package features

import "embed"

// Doctor holds the scenarios with which parley doctor examines a profile, by protocol. They are not part of the
// suite: FS does not contain them, and Digest does not count them.
//
//go:embed */doctor/*.feature
var Doctor embed.FS
