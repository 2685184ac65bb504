package roof

import "strings"

// Owner is whose resource the URI is: the one that lists it, else the one with
// the template that begins most like it, else the only one there is. URIs are
// never rewritten, since texts and tools speak of them.
func Owner(uri string, resources, templates *List) (Target, bool) {
	if t, ok := resources.targets[uri]; ok {
		return t, true
	}
	best, longest := Target{}, -1
	for _, name := range templates.order {
		literal, _, _ := strings.Cut(name, "{")
		if len(literal) > longest && strings.HasPrefix(uri, literal) {
			best, longest = templates.targets[name], len(literal)
		}
	}
	switch {
	case longest >= 0:
		return Target{Server: best.Server, Item: uri}, true
	case len(resources.servers) == 1:
		return Target{Server: resources.servers[0], Item: uri, Guessed: true}, true
	}
	return Target{}, false
}

// TemplateOwner is whose template or resource completion/complete speaks of in
// ref.uri.
func TemplateOwner(uri string, resources, templates *List) (Target, bool) {
	if t, ok := templates.targets[uri]; ok {
		return t, true
	}
	return Owner(uri, resources, templates)
}
