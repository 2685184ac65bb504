package config

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dezren39/mcpx/pkg/scope"
)

//go:generate env UPDATE=1 go test -run TestSchemaIsFresh .

// Schema is the JSON Schema of config files, generated from the raw types. Keys
// of other hosts are allowed in entries and beside mcpServers; our own blocks
// are closed.
func Schema() ([]byte, error) {
	s, err := jsonschema.For[RawFile](&jsonschema.ForOptions{TypeSchemas: typeSchemas()})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "mcpx config"
	withoutNull(s)
	servers := s.Properties["mcpServers"]
	servers.PropertyNames = &jsonschema.Schema{Pattern: "^[A-Za-z0-9._-]{1,64}$"}
	servers.AdditionalProperties.AdditionalProperties = nil
	s.AdditionalProperties = nil
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// typeSchemas are those that the Go types alone do not tell.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	// Not a full grammar of durations; Parse has the last word.
	const length = `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`
	one := 1.0
	all := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[int]():             {Type: "integer", Minimum: &one},
		reflect.TypeFor[Duration]():        {Type: "string", Pattern: length},
		reflect.TypeFor[DurationOrNever](): {Type: "string", Pattern: `^never$|` + length},
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[scope.Scope](), reflect.TypeFor[Sharing](), reflect.TypeFor[Protocol](),
		reflect.TypeFor[ServerRequests](), reflect.TypeFor[EnvPolicy](), reflect.TypeFor[Approve](),
		reflect.TypeFor[Auth](), reflect.TypeFor[OnError](), reflect.TypeFor[ManagementTool](),
	} {
		s := &jsonschema.Schema{Type: "string"}
		for _, w := range allowed(t) {
			s.Enum = append(s.Enum, w)
		}
		all[t] = s
	}
	return all
}

// withoutNull takes out the null that Go's pointers and slices bring along: a
// key that is not meant is left out.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	withoutNull(s.AdditionalProperties)
	withoutNull(s.Items)
}
