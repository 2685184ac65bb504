//go:build !linux

package socket

func throughDescriptor(int, string) (string, bool) { return "", false }
