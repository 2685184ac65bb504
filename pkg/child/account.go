package child

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
)

// Account is a user as the system knows it, whatever the environment says.
type Account struct {
	Name  string
	Home  string
	Shell string // "" when it is not in /etc/passwd
}

// CurrentAccount is the account of the user this process runs as.
func CurrentAccount() (Account, error) {
	u, err := user.Current()
	if err != nil {
		return Account{}, fmt.Errorf("account: %w", err)
	}
	a := Account{Name: u.Username, Home: u.HomeDir}
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return a, nil // a system that keeps its users elsewhere; the shell is unknown
	}
	defer f.Close()
	a.Shell = shellOf(f, u.Uid)
	return a, nil
}

// shellOf finds the shell of uid in a passwd(5) file, "" if it is not there.
func shellOf(passwd io.Reader, uid string) string {
	lines := bufio.NewScanner(passwd)
	for lines.Scan() {
		// name:password:uid:gid:comment:home:shell
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 || fields[2] != uid {
			continue
		}
		if fields[6] == "" {
			return "/bin/sh"
		}
		return fields[6]
	}
	return ""
}
