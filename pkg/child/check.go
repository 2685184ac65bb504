package child

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// Check takes the steps of Start that start nothing, in the same order and with
// the same errors, and returns the program that was found, be it one that does
// not load. base and home are as in Options. It looks for what a start learns only by starting too: the program
// of a secret's command, and the one that env is to run for a script.
func Check(p spawn.Plan, base []string, home string) (program string, err error) {
	if err := CheckSecrets(p, base, home); err != nil {
		return "", err
	}
	dir, err := enter(p, home)
	if err != nil {
		return "", err
	}
	defer dir.close()
	path := Value(Environ(base, p, nil, home, dir.path, ""), "PATH")
	program, err = lookup(p.Command, path)
	if err == nil {
		err = unloadable(program)
	}
	if err == nil {
		err = checkEnv(program, path)
	}
	if err != nil {
		return program, commandProblem(p, err)
	}
	return program, nil
}

// CheckSecrets is the part of Check that a remote has too.
func CheckSecrets(p spawn.Plan, base []string, home string) error {
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if err := checkSecret(p.Secrets[name], base, home); err != nil {
			return secretProblem(p, name, err)
		}
	}
	return nil
}

// checkSecret reads a file, and only looks for a command.
func checkSecret(s config.Secret, base []string, home string) error {
	if s.File != "" || len(s.Command) == 0 {
		_, err := readSecret(context.Background(), s, base, home)
		return err
	}
	program, err := lookup(s.Command[0], Value(base, "PATH"))
	if err == nil {
		err = unloadable(program)
	}
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	return nil
}

// checkEnv looks for what env is to look up on path, where a script's first line
// names env.
func checkEnv(program, path string) error {
	words := shebangWords(program)
	if len(words) == 0 || filepath.Base(words[0]) != "env" {
		return nil
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		if _, err := lookup(w, path); err != nil {
			return fmt.Errorf("%s needs the interpreter %s: %w", program, shown(w), err)
		}
		return nil
	}
	return nil
}
