// Package spread spreads a load over several processes, on this machine or on others, which speak through NATS. A
// coordinator divides the load into tasks, one for each worker, and merges what they report (load.Crew, load.Desk); a
// worker carries out one task (load.Worker). Without a server of the user's own the coordinator starts one within its
// process, on loopback.
//
// Every message of a worker is a request, which the coordinator answers. A worker that the coordinator does not hear
// for Silence, or whose process ends, is lost: what it had reported counts, and the result says what is missing. A
// worker that gets no answers for as long ends its part.
//
// Whoever may use the subjects of a load on the server may take part in it. Messages are bounded (maxMessage), and the
// coordinator judges the evidence of workers itself.
//
// It is a package of its own so that only the program parley-load contains NATS.
package spread
