package socket

import (
	"os"
	"strconv"
)

func throughDescriptor(fd int, name string) (string, bool) {
	dir := "/proc/self/fd/" + strconv.Itoa(fd)
	if _, err := os.Stat(dir); err != nil { // no /proc here
		return "", false
	}
	return dir + "/" + name, true
}
