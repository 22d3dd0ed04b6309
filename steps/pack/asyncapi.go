package pack

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
)

// AsyncAPI returns an AsyncAPI 3.0.0 document of the server that the folder describes, as JSON: its channels, and its
// messages with their JSON Schemas. FromAsyncAPI reads it again. host is HOST:PORT of a server.
func (p *Pack) AsyncAPI(host string) []byte {
	d := p.doc
	type object = map[string]any
	ref := func(at string) object { return object{"$ref": "#/" + at} }
	messages, channels, operations, servers := object{}, object{}, object{}, object{}
	for _, kind := range append(sorted(d.sends), d.receives...) {
		messages[kind] = object{"name": kind, "payload": p.payload(kind)}
	}
	channel := func(name, scheme, address, method string, sides map[string][]string) {
		of, bindings := object{}, object{"ws": object{"method": "GET", "bindingVersion": "0.1.0"}}
		if method != "" {
			bindings = object{"http": object{"method": method, "bindingVersion": "0.3.0"}}
		}
		for action, types := range sides {
			var all []any
			for _, kind := range types {
				of[kind] = ref("components/messages/" + kind)
				all = append(all, ref("channels/"+name+"/messages/"+kind))
			}
			o := object{"action": action, "channel": ref("channels/" + name), "messages": all}
			if method != "" {
				o["bindings"] = bindings
			}
			operations[action+strings.ToUpper(name[:1])+name[1:]] = o
		}
		servers[scheme] = object{"host": host, "protocol": scheme}
		channels[name] = object{"address": strings.ReplaceAll(address, "${", "{"), "messages": of,
			"servers": []any{ref("servers/" + scheme)}}
		if method == "" {
			channels[name].(object)["bindings"] = bindings
		}
	}
	sends := sorted(d.sends)
	if d.ws != "" {
		channel("socket", "ws", d.ws, "", map[string][]string{"receive": sends, "send": d.receives})
	}
	if d.open != "" {
		channel("events", "http", d.open, "GET", map[string][]string{"send": d.receives})
	}
	if method, path, ok := strings.Cut(d.send, " "); ok {
		channel("messages", "http", path, method, map[string][]string{"receive": sends})
	}
	if d.post.path != "" {
		channel("requests", "http", d.post.path, "POST", map[string][]string{"receive": sends, "send": d.receives})
	}
	text, err := json.Marshal(object{"asyncapi": "3.0.0", "info": object{"title": d.id, "version": "unversioned"},
		"defaultContentType": "application/json", "servers": servers, "channels": channels, "operations": operations,
		"components": object{"messages": messages}}, json.Deterministic(true), jsonform.Escaped, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // it has JSON alone
	}
	return append(text, '\n')
}

// payload returns the JSON Schema of a type: that of messages, or what protocol.yaml says of it.
func (p *Pack) payload(kind string) any {
	for _, folder := range []string{schemaFolder, asyncFile} {
		if text := p.schemas[folder+"/"+kind+".json"]; text != nil {
			return jsontext.Value(text)
		}
	}
	members := map[string]any{}
	at := strings.TrimPrefix(string(p.doc.typeAt), "/")
	if _, sent := p.doc.sends[kind]; sent {
		at = strings.TrimPrefix(string(p.doc.sentAt), "/")
	}
	if p.doc.only == "" && !strings.Contains(at, "/") {
		members[at] = map[string]any{"const": kind}
	}
	template, _ := p.doc.sends[kind].(map[string]any)
	for name := range template {
		members[name] = map[string]any{}
	}
	return map[string]any{"type": "object", "properties": members}
}
