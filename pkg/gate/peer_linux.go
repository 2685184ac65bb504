package gate

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// peerUID is who owns the other end of a connection within this machine, as the
// kernel has it; ok is false when it does not say. It belongs to a port, and
// goes by both ends, so that nobody is taken for who had the port before.
func peerUID(c net.Conn) (uid int, ok bool) {
	own, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	peer, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	if err1 != nil || err2 != nil {
		return 0, false
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if uid, ok := findUID(table, kernelAddr(peer, table), kernelAddr(own, table)); ok {
			return uid, true
		}
	}
	return 0, false
}

func findUID(table, local, remote string) (uid int, ok bool) {
	f, err := os.Open(table)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid …
		if field := strings.Fields(lines.Text()); len(field) > 7 && field[1] == local && field[2] == remote {
			uid, err := strconv.Atoi(field[7])
			return uid, err == nil
		}
	}
	return 0, false
}

// kernelAddr is an address as the table writes it: words in the machine's order.
func kernelAddr(ap netip.AddrPort, table string) string {
	addr := ap.Addr().Unmap().AsSlice()
	if strings.HasSuffix(table, "6") {
		long := ap.Addr().As16()
		addr = long[:]
	}
	var b strings.Builder
	for ; len(addr) >= 4; addr = addr[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(addr))
	}
	return fmt.Sprintf("%s:%04X", b.String(), ap.Port())
}
