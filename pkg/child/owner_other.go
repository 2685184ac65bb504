//go:build !linux

package child

// unmappedRoot: root always has its number here.
func unmappedRoot() int { return -1 }
