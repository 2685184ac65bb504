package socket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// SendFiles sends one byte and the descriptors, in one message. The files stay
// the caller's, in the mode they are in.
func SendFiles(c *net.UnixConn, files ...*os.File) error {
	fds := make([]int, 0, len(files))
	for _, f := range files {
		if err := onDescriptor(f, func(fd int) error { fds = append(fds, fd); return nil }); err != nil {
			return fmt.Errorf("hand over %s: %w", f.Name(), err)
		}
	}
	// The numbers stay good: the caller holds the files until this returns.
	if _, _, err := c.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("hand over descriptors: %w", err)
	}
	return nil
}

// ReceiveFiles takes exactly n descriptors from one message of one byte,
// close-on-exec from their first instant (threat T15); any other number, or
// truncation, closes all that came and is an error (threat T17). Deadlines of c
// hold; a peer that closes instead is io.EOF.
func ReceiveFiles(c *net.UnixConn, n int) ([]*os.File, error) {
	// Room for two bytes, so that a second one shows. The kernel drops what does
	// not fit in oob and says so; alignment may make room for one more than n.
	data, oob := make([]byte, 2), make([]byte, unix.CmsgSpace(4*n))
	got, oobn, flags, _, err := c.ReadMsgUnix(data, oob)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &fault{msg: "receive descriptors: the other end closed", err: io.EOF}
	case err != nil:
		return nil, fmt.Errorf("receive descriptors: %w", err)
	}
	fds, err := descriptors(oob[:oobn])
	switch {
	case err != nil:
	case got != 1:
		err = errors.New("more than one byte came with the descriptors")
	case flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0:
		err = fmt.Errorf("more than %d descriptors came", n)
	case len(fds) != n:
		err = fmt.Errorf("%d descriptors came, not %d", len(fds), n)
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, fmt.Errorf("receive descriptors: %w", err)
	}
	files := make([]*os.File, n)
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), fmt.Sprintf("received descriptor %d", i))
	}
	return files, nil
}

// descriptors gathers every descriptor in the control messages, those before an
// error included: they are ours to close.
func descriptors(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range messages {
		fds, perr := unix.ParseUnixRights(&messages[i])
		if perr != nil {
			err = errors.New("a control message that is not descriptors came")
			continue
		}
		all = append(all, fds...)
	}
	return all, err
}

// onDescriptor calls f with the file's descriptor, in the mode it is in:
// (*os.File).Fd would set it to blocking.
func onDescriptor(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := raw.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return err
	}
	return ferr
}
