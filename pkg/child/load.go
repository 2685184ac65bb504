package child

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
)

// explainExec puts the system's refusal to run program into words.
func explainExec(program string, err error) error {
	if _, gone := os.Stat(program); gone != nil {
		return checkProgram(program)
	}
	if why := unloadable(program); why != nil {
		return why
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // and it is there, so what reads it is not
		return loaderError(program)
	case errors.Is(err, syscall.ENOEXEC):
		return foreignError(program)
	}
	return fmt.Errorf("%s: %w", program, canon.Reason(err))
}

// unloadable says why the system would refuse to run an executable file, as far
// as the file shows it: the interpreter of a script, or the loader of a program,
// is missing, or the file is neither.
func unloadable(program string) error {
	if words := shebangWords(program); len(words) > 0 {
		return checkInterpreter(program, words[0])
	}
	return checkBinary(program)
}

func checkInterpreter(program, interpreter string) error {
	if !filepath.IsAbs(interpreter) {
		return nil // from the child's directory; whether it is there shows then
	}
	err := checkProgram(interpreter)
	if err == nil {
		return nil
	}
	needs := fmt.Sprintf("%s needs the interpreter %s", program, shown(interpreter))
	if rest, ok := strings.CutPrefix(err.Error(), interpreter+" "); ok {
		err = errors.New(needs + ", which " + rest)
	} else {
		err = fmt.Errorf("%s: %w", needs, err)
	}
	if strings.HasSuffix(interpreter, "\r") {
		return &lineEndError{err, program}
	}
	return err
}

// shown quotes a name that holds what does not show.
func shown(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// lineEndError is of a script whose lines end as on Windows: the carriage return
// is part of the interpreter's name.
type lineEndError struct {
	error
	program string
}

func (e *lineEndError) Error() string {
	return e.error.Error() + ": its first line ends with a carriage return"
}

// Hint says how to take them out.
func (e *lineEndError) Hint() string {
	return `save it with Unix line ends: sed -i 's/\r$//' ` + e.program
}

// shebangWords are the interpreter that the first line of a script names, and
// its argument in words. Only blanks part them, as in the kernel.
func shebangWords(program string) []string {
	line, ok := strings.CutPrefix(string(head(program, 256)), "#!") // the kernel reads no more
	if !ok {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
}

// head is how a file begins, nil when it cannot be read.
func head(file string, n int) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, n)
	n, _ = f.Read(data)
	return data[:n]
}

func foreignError(program string) error {
	return fmt.Errorf("%s is neither a program of this machine nor a script with a #! line", program)
}

func loaderError(program string) error {
	return fmt.Errorf("%s was built for a system whose program loader is not here", program)
}

// missingLoader finds that the program loader which an ELF file names is not here.
func missingLoader(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return nil // stripped of what only debuggers read; the kernel needs less
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return nil
		}
		if _, err := os.Stat(strings.TrimRight(string(name), "\x00")); errors.Is(err, fs.ErrNotExist) {
			return loaderError(program)
		}
	}
	return nil
}
