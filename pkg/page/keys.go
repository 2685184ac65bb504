package page

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/gate"
)

// codeLife is how long the code in a link is good for (threat T32).
const codeLife = time.Minute

// maxTokens is how many pages can be open before the oldest must be opened again.
const maxTokens = 16

// keys are who may come in: codes, of which each is exchanged once for a token
// that a page holds in its memory. Only digests are kept. They end with the port.
type keys struct {
	mu     sync.Mutex // guards what follows
	codes  []key
	tokens []key
}

// key is one of either kind.
type key struct {
	is      func([sha256.Size]byte) bool
	visitor Visitor
	until   time.Time // a code's
	used    func()    // called once the code is
}

// secret makes a key of 256 bits and its text.
func secret(v Visitor) (key, string) {
	raw := make([]byte, sha256.Size)
	_, _ = rand.Read(raw) // it never fails
	text := hex.EncodeToString(raw)
	return key{is: gate.One(sha256.Sum256([]byte(text))), visitor: v}, text
}

// code makes one for a visitor. used is called when it has been exchanged.
func (k *keys) code(v Visitor, now time.Time, used func()) string {
	c, text := secret(v)
	c.until, c.used = now.Add(codeLife), used
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(now)
	k.codes = append(k.codes, c)
	return text
}

// drop forgets codes that are too old.
func (k *keys) drop(now time.Time) {
	var good []key
	for _, c := range k.codes {
		if now.Before(c.until) {
			good = append(good, c)
		}
	}
	k.codes = good
}

// exchange takes a code and gives a token; false when the code is not known, was
// used, or is too old.
func (k *keys) exchange(code string, now time.Time) (token string, ok bool) {
	digest := sha256.Sum256([]byte(code))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(now)
	for i, c := range k.codes {
		if c.is(digest) {
			k.codes = append(k.codes[:i:i], k.codes[i+1:]...)
			c.used()
			t, text := secret(c.visitor)
			k.tokens = append(k.tokens, t)
			k.tokens = k.tokens[max(0, len(k.tokens)-maxTokens):]
			return text, true
		}
	}
	return "", false
}

// holder is who holds a token.
func (k *keys) holder(digest [sha256.Size]byte) (v Visitor, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.tokens { // all of them, so that the time says nothing
		if t.is(digest) {
			v, ok = t.visitor, true
		}
	}
	return v, ok
}
