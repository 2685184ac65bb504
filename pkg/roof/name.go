// Package roof puts many servers under one roof: their lists as one list, under
// names that no two share, and what a host says of them taken apart again (W18).
// It works on raw results and asks nobody: who is visible is given to it.
package roof

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// MaxName is the longest name that a host is given. Hosts put one of their own in
// front, such as mcp__mcpx__, and models take 64 characters in all (report I1).
const MaxName = 50

const (
	separator  = "__"
	hashLength = 12 // 60 bits
	maxServer  = 15 // what a short name keeps of the server's
)

// Name is the name under which a host sees the tool or prompt item of server: a
// pure function of the two, so that it is the same after a restart and whoever
// starts first (rule R24). It is server__item where that is a name that hosts
// take and can be made of no other pair: the first "__" in it is ours. Any other
// pair gets a short form with a hash of both, which has no "__" in it at all.
func Name(server, item string) string {
	if isPlain(server) && isName(item) && len(server)+len(separator)+len(item) <= MaxName {
		return server + separator + item
	}
	short := readable(server, maxServer)
	if rest := readable(item, MaxName-len(short)-hashLength-2); rest != "" {
		short = strings.TrimPrefix(short+"_"+rest, "_")
	}
	return strings.TrimPrefix(short+"_"+hash(server, item), "_")
}

// isPlain reports whether what stands before the first "__" of a name can be
// this server.
func isPlain(server string) bool {
	return isName(server) && !strings.Contains(server+"_", separator)
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return c-'a' < 26 || c-'A' < 26 || c-'0' < 10 || c == '_' || c == '-'
}

// readable is what can be kept of s in at most n bytes: other characters as "-",
// no underscore at an end or beside another.
func readable(s string, n int) string {
	kept := make([]byte, 0, n)
	for _, r := range s {
		c := byte('-')
		if r < 0x80 && isNameByte(byte(r)) {
			c = byte(r)
		}
		last := len(kept) - 1
		if c == '_' && (last < 0 || kept[last] == '_') || c == '-' && last >= 0 && kept[last] == '-' {
			continue
		}
		if kept = append(kept, c); len(kept) == n {
			break
		}
	}
	return strings.TrimRight(string(kept), "_")
}

func hash(server, item string) string {
	in := binary.AppendUvarint(nil, uint64(len(server)))
	sum := sha256.Sum256(append(append(in, server...), item...))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashLength])
}
