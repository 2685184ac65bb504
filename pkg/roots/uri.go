package roots

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// URI is the file URI of an absolute path. Bytes that a URI cannot hold are
// escaped one by one, so Path gives any path back as it was.
func URI(path string) string {
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Path is the absolute path of a file URI, not yet canonical; an error says
// what is wrong with it. Whatever a reader could take for another place is
// refused: a host, a query, an escaped slash (threat T24).
func Path(uri string) (string, error) {
	if strings.HasPrefix(uri, "/") {
		return "", errors.New("a plain path, not a file URI")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "", errors.New("not a URI")
	}
	switch {
	case u.Scheme == "":
		return "", errors.New("not a file URI")
	case u.Scheme != "file":
		return "", fmt.Errorf("scheme %q is not a directory here", u.Scheme)
	case u.User != nil || u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return "", fmt.Errorf("names the host %q", u.Host)
	case strings.ContainsAny(uri, "?#"):
		return "", errors.New("has a query or fragment: escape ? and # in paths")
	case !strings.HasPrefix(u.Path, "/"):
		return "", errors.New("not an absolute path")
	case strings.HasPrefix(u.Path, "//"):
		return "", errors.New("names a network share")
	case strings.ContainsRune(u.Path, 0):
		return "", errors.New("holds a NUL")
	case strings.Contains(strings.ToLower(uri), "%2f"):
		return "", errors.New("holds an escaped slash")
	}
	return u.Path, nil
}
