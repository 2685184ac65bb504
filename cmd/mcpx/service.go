package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/dezren39/mcpx/pkg/socket"
)

// socketNames are those that a daemon listens on, as systemd calls them.
var socketNames = map[string]string{"attach": socket.Attach, "control": socket.Control}

// passedSockets are the listeners that systemd passed to this process, nil when
// there are none. Their order is systemd's; their names are the .socket units'.
func passedSockets() (map[string]net.Listener, error) {
	return listeners(activation.Files(true))
}

// listeners takes exactly one of each. The files are closed: a listener has a
// descriptor of its own.
func listeners(files []*os.File) (map[string]net.Listener, error) {
	if len(files) == 0 {
		return nil, nil
	}
	found := map[string]net.Listener{}
	err := collect(found, files)
	for _, f := range files {
		_ = f.Close()
	}
	if err == nil {
		err = allPassed(found)
	}
	if err != nil {
		for _, l := range found {
			_ = l.Close()
		}
		return nil, err
	}
	return found, nil
}

func collect(found map[string]net.Listener, files []*os.File) error {
	for _, f := range files {
		name, known := socketNames[f.Name()]
		if !known {
			return activationError("systemd passed a socket named %q", f.Name())
		}
		if found[name] != nil {
			return activationError("systemd passed two sockets named %q", f.Name())
		}
		l, err := net.FileListener(f)
		if err != nil {
			return activationError("what systemd passed as %q is no listening socket", f.Name())
		}
		found[name] = l
	}
	return nil
}

func allPassed(found map[string]net.Listener) error {
	var missing []string
	for name, file := range socketNames {
		if found[file] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return activationError("systemd passed no socket named %s", strings.Join(missing, " and none named "))
}

func activationError(format string, args ...any) error {
	return &failure{
		msg:  "socket activation: " + fmt.Sprintf(format, args...),
		hint: "mcpx takes two .socket units, one with FileDescriptorName=attach and one with FileDescriptorName=control",
	}
}

// notify tells systemd what state the daemon is in, if it asked to be told. That
// it does not listen is not for us to mend.
func notify(state string) { _, _ = systemd.SdNotify(false, state) }
