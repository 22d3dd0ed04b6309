package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"parley/runner"
	"parley/runner/tags"
)

// plain takes the plain arguments of parley run: the target, and the ids of clauses and scenarios, in any order.
func (o *runOptions) plain(args []string) error {
	var ids []string
	for _, arg := range args {
		id := clauseID(arg)
		switch {
		case tags.IsID(id) && !exists(arg):
			ids = append(ids, id)
		case o.target != "":
			return usagef("parley run judges one target, found %q beside %q (see parley run --help)", arg, o.target)
		default:
			o.target = arg
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := o.protocolOf(ids); err != nil {
		return err
	}
	o.ids, o.besides = ids, o.tags
	chosen := strings.Join(ids, " or ")
	if o.tags != "" {
		chosen = fmt.Sprintf("(%s) and (%s)", chosen, o.tags)
	}
	o.tags = chosen
	return nil
}

// protocolOf has a URL without --protocol judged by the protocol that the ids belong to, and rejects an id that no
// protocol has.
func (o *runOptions) protocolOf(ids []string) error {
	var found []string
	for _, id := range ids {
		protocol := suite.OfClause(id)
		if protocol == "" {
			return unknownID("clause or scenario", id, id, nil)
		}
		found = append(found, protocol)
	}
	if found = unique(found); len(found) == 1 && len(o.protocols) == 0 && isURL(o.target) {
		o.protocols = found
	}
	return nil
}

// knownIDs rejects a plain id that no clause and no scenario has. Random sequences and cuts have ids of their own.
func (o runOptions) knownIDs() error {
	if o.exploring || o.cutPoints {
		return nil
	}
	for _, id := range o.ids {
		books, err := openBooks(suite.Naming(id))
		if err != nil {
			return err
		}
		var others []string
		found := len(find(books, id)) > 0
		for _, b := range books {
			for _, p := range b.scenarios {
				found = found || slices.Contains(p.Marks(), "@"+id)
				others = append(others, p.ID)
			}
		}
		if !found {
			return unknownID("clause or scenario", id, id, others)
		}
	}
	return nil
}

// nothingSelected says of an error that nothing is selected what was given: plain ids, and --tags.
func (o runOptions) nothingSelected(err error) error {
	var usage *runner.UsageError
	if len(o.ids) == 0 || !errors.As(err, &usage) || !strings.Contains(usage.Msg, "selects no scenario") {
		return err
	}
	if _, elsewhere, is := strings.Cut(usage.Msg, "selects no scenario "); is && strings.HasPrefix(elsewhere, "of ") {
		return usagef("%s", strings.Join(o.ids, " ")+" selects no scenario "+elsewhere)
	}
	if o.besides != "" {
		return usagef("%s with --tags %q selects no scenario (leave one out; parley list --scenarios shows the tags)",
			strings.Join(o.ids, " "), o.besides)
	}
	return usagef("%s: no scenario judges it here (parley explain %[1]s shows what does)", strings.Join(o.ids, " "))
}

// asURL completes the address of a target that has no scheme: localhost:3000 is http://localhost:3000. What names a
// file, or is no address, stays as it is.
func asURL(name string) string {
	if rest, ok := strings.CutPrefix(name, "unix:/"); ok && !strings.HasPrefix(rest, "/") {
		return "unix:///" + rest
	}
	host, path, _ := strings.Cut(name, "/")
	if strings.Contains(name, "://") || exists(name) {
		return name
	}
	h, port, err := net.SplitHostPort(host)
	if err != nil || h == "" || port == "" || strings.Trim(port, "0123456789") != "" {
		return name
	}
	if path != "" {
		path = "/" + path
	}
	return "http://" + host + path
}

func isURL(name string) bool { return strings.Contains(asURL(name), "://") }

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
