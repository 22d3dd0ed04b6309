package protocols

// Released are the digests of the suites of released versions, by version. The suite of a released version is frozen:
// certificates name it, and verdicts by it can be compared.
var Released = map[string]string{}
