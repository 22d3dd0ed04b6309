package gate

import (
	"net/http"

	"parley/internal/rawhttp"
)

func (x *exchange) acceptStream(m Message) bool { return x.respond(m) }

func (x *exchange) stream(e *end, h rawhttp.Head, r *http.Response) bool { return x.pass(e, h, r) }

func (c *conn) endStream(o *outlet) {}
