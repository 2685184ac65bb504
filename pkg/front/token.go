package front

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// TokenFile is the name of the file in the state directory that holds the token.
const TokenFile = "http.token"

// tokenSize is in bytes of randomness (threat T32).
const tokenSize = 32

// Token returns the digest of the token that opens the front, and the file that
// holds the token itself. It is made when there is none, and stays the same over
// daemons, since hosts are told it once. Whoever removes the file revokes it.
func Token(dir string) (digest [sha256.Size]byte, file string, err error) {
	file = filepath.Join(dir, TokenFile)
	token, err := readToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		token, err = makeToken(file)
	}
	if err != nil {
		return digest, file, err
	}
	return sha256.Sum256([]byte(token)), file, nil
}

func readToken(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", &fs.PathError{Op: "stat", Path: file, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o077 != 0 || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s: others could read or replace it: remove it, and the daemon makes a new one", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenSize {
		return "", fmt.Errorf("%s: not a token of mcpx's: remove it, and the daemon makes a new one", file)
	}
	return token, nil
}

// makeToken writes a new one beside the name and then gives it the name, so that
// nobody reads half of it.
func makeToken(file string) (string, error) {
	raw := make([]byte, tokenSize)
	_, _ = rand.Read(raw) // it never fails
	token := hex.EncodeToString(raw)
	f, err := os.CreateTemp(filepath.Dir(file), TokenFile+".*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return token, nil
}
