// Package load puts a server under the load of many sessions and judges every message that arrives, by the passive
// monitors of its protocol (docs/passive.md) and by what each session knows of itself: nobody else acts in it. It knows
// no protocol; steps.Loadable says how a session acts.
//
// Acts arrive on an open schedule: their times are fixed before the first one, and a latency counts from the intended
// time. A slow server is therefore not spared the acts that it delays.
//
// A session keeps only the records of its present connection, which is a life: it is judged as a whole when it ends,
// and forgotten unless a clause is broken in it.
package load
