//go:build !linux && !darwin

package proc

import "context"

func look(int) (entry, bool) { return entry{}, false }

func list() []entry { return nil }

func owner(int) (uid int, ok bool) { return 0, false }

func argv(int) []string { return nil }

func markOf(int) string { return "" }

// Cwd is where pid stands; here it is always unknown.
func Cwd(int) (dir string, ok bool) { return "", false }

// RSS is pid's resident memory in bytes; here it is always unknown, 0.
func RSS(int) int64 { return 0 }

// Subreap does nothing here: only Linux lets a process adopt orphans.
func Subreap(context.Context) (wait func(), err error) { return func() {}, nil }

func sealDescriptors() {}
