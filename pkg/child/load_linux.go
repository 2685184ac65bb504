package child

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
)

// checkBinary holds what is no script against what the kernel loads: ELF of this
// machine, and whatever else was registered with it (binfmt_misc).
func checkBinary(program string) error {
	data := head(program, 64)
	switch {
	case data == nil: // may be run and not read
		return nil
	case isELF(data):
		return missingLoader(program)
	case registered():
		return nil
	}
	return foreignError(program)
}

func isELF(data []byte) bool {
	if len(data) < 52 || string(data[:4]) != elf.ELFMAG {
		return false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(data[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	kind, machine := elf.Type(order.Uint16(data[16:])), elf.Machine(order.Uint16(data[18:]))
	return (kind == elf.ET_EXEC || kind == elf.ET_DYN) && ours(machine)
}

// ours reports whether this machine, or its kernel for an older one, runs a
// machine's programs; where we do not know, all are.
func ours(m elf.Machine) bool {
	known, ok := map[string][]elf.Machine{
		"amd64": {elf.EM_X86_64, elf.EM_386},
		"386":   {elf.EM_X86_64, elf.EM_386},
		"arm64": {elf.EM_AARCH64, elf.EM_ARM},
	}[runtime.GOARCH]
	return !ok || slices.Contains(known, m)
}

// registered reports whether the kernel was told of other formats.
func registered() bool {
	entries, _ := os.ReadDir("/proc/sys/fs/binfmt_misc")
	return len(entries) > 2 // register, status
}
