package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// serverKeys reads an entry, where other hosts have keys too.
func (d *decoder) serverKeys(v hujson.Value, s *RawServer) {
	into := reflect.ValueOf(s).Elem()
	block := keysOf(reflect.TypeFor[RawMcpx]())
	ours := append(keysOf(into.Type()), block...)
	for name, member := range d.members(v, "", ours...) {
		if i, ok := fieldNamed(into.Type(), name); ok {
			d.value(member.Value, into.Field(i), name)
			continue
		}
		d.foreignServerKey(member, block, keysOf(into.Type()))
	}
}

// foreignServerKey judges a key at server level that does not belong there: one
// of the mcpx block's, a slip, or another host's business.
func (d *decoder) foreignServerKey(m hujson.ObjectMember, block, known []string) {
	name := nameOf(m)
	if slices.Contains(block, name) {
		d.report(m.Name.StartOffset, name, fault{
			msg:  `belongs in the "mcpx" block`,
			hint: fmt.Sprintf(`write "mcpx": { %q: %s }`, name, d.oneLine(m.Value)),
		})
		return
	}
	if k := DidYouMean(name, known); k != "" {
		d.slips[k] = len(d.problems)
		d.report(m.Name.StartOffset, name, fault{msg: "unknown key", hint: "did you mean " + k + "?", warn: true})
	}
}

// oneLine is a value as written, "…" when it takes more than a hint has room for.
func (d *decoder) oneLine(v hujson.Value) string {
	s := string(d.text.src[v.StartOffset:v.EndOffset])
	if len(s) > 60 || strings.ContainsAny(s, "\r\n") {
		return "…"
	}
	return s
}

// checkServer holds what one entry must keep whatever other files say.
func (d *decoder) checkServer(s *RawServer) {
	d.checkDestination(s)
	d.checkDisabled(s)
	d.checkValues(s)
	if _, set := d.at["url"]; set {
		d.checkRemote(s)
	} else {
		d.checkLocal(s)
	}
	if s.Mcpx != nil {
		d.checkMcpx(s.Mcpx, "mcpx")
	}
}

// checkDestination wants exactly one of command and url, in the file that sets
// any of the spawn part. An entry of an mcpx block alone is an override.
func (d *decoder) checkDestination(s *RawServer) {
	_, hasCommand := d.at["command"]
	_, hasURL := d.at["url"]
	switch {
	case hasCommand && hasURL:
		d.reportAt("url", fault{msg: "set beside command", hint: "keep command for a local server, url for a remote one"})
	case hasCommand || hasURL:
	case d.blameSlip():
	case s.hasSpawn():
		d.reportAt("", fault{
			msg:  "neither command nor url",
			hint: "command, args, env, cwd, url, headers and secrets come from one file together: repeat the command here",
		})
	case s.Mcpx == nil && s.Disabled == nil:
		d.reportAt("", fault{msg: "neither command nor url", hint: `add "command": "program" or "url": "https://…"`})
	}
}

// blameSlip turns the warning about a misspelt command or url into the error
// that explains why there is none (report J6).
func (d *decoder) blameSlip() bool {
	for _, key := range []string{"command", "url"} {
		if i, ok := d.slips[key]; ok {
			d.problems[i].Warning = false
			d.problems[i].Msg = "unknown key, and there is neither command nor url"
			return true
		}
	}
	return false
}

// checkDisabled takes the key other hosts have for our own.
func (d *decoder) checkDisabled(s *RawServer) {
	switch {
	case s.Disabled == nil:
		return
	case s.Mcpx == nil:
		s.Mcpx = new(RawMcpx)
	case s.Mcpx.Disabled != nil && *s.Mcpx.Disabled != *s.Disabled:
		d.reportAt("disabled", fault{
			msg:  fmt.Sprintf("contradicts mcpx.disabled on line %d", d.at["mcpx.disabled"].Line),
			hint: "keep one of the two",
		})
		return
	}
	s.Mcpx.Disabled = s.Disabled
	d.at["mcpx.disabled"] = d.at["disabled"]
}

// checkValues goes through every string that reaches the server.
func (d *decoder) checkValues(s *RawServer) {
	for _, one := range s.values() {
		field, v := one.field, one.text
		if strings.ContainsRune(v, 0) {
			d.reportAt(field, fault{msg: "holds a NUL character", hint: "no program can be passed one"})
			continue
		}
		d.checkPlaceholders(field, v)
		if (strings.HasPrefix(v, "~/") || strings.Contains(v, "=~/")) && !strings.HasPrefix(field, "mcpx.") && !strings.HasPrefix(field, "headers.") {
			d.reportAt(field, fault{msg: "~ is passed as it stands", hint: "write the directory out", warn: true})
		}
	}
	if i := placeholderInCode(s.Command, s.Args); i >= 0 {
		d.reportAt(fmt.Sprintf("args[%d]", i), fault{
			msg:  "placeholder in code for an interpreter, which reads a directory's name as code",
			hint: `pass it as an argument after the code and use "$1" there, or by env`,
			rule: "shell-placeholder",
		})
	}
}

func (d *decoder) checkPlaceholders(field, v string) {
	if err, ok := errors.AsType[*PlaceholderError](CheckPlaceholders(v)); ok {
		d.reportAt(field, fault{msg: err.msg, hint: err.hint, rule: "placeholder"})
		return
	}
	if hasPlaceholder(v) && !substituted(field) {
		d.reportAt(field, fault{
			msg:  "${mcpx.…} is not substituted here",
			hint: "it is in args, env values and cwd",
			rule: "placeholder",
		})
		return
	}
	if l := literal(v); l != "" && !strings.HasPrefix(field, "mcpx.") {
		d.reportAt(field, fault{
			msg:  fmt.Sprintf("holds %s literally: mcpx expands only ${mcpx.…}", l),
			hint: literalHint(field),
			rule: "literal",
			warn: true,
		})
	}
}

func hasPlaceholder(v string) bool { return strings.Contains(v, opener) }

// substituted reports whether placeholders are expanded in the field (record
// 0004 §4).
func substituted(field string) bool {
	return field == "cwd" || strings.HasPrefix(field, "args[") || strings.HasPrefix(field, "env.")
}

func literalHint(field string) string {
	for _, part := range []string{"env.", "headers."} {
		if name, ok := strings.CutPrefix(field, part); ok {
			return fmt.Sprintf(`read it when the server starts: "mcpx": { "secrets": { %q: { "file": "~/.secrets/…" } } }`, name)
		}
	}
	return "write the value out, or pass it by env"
}
