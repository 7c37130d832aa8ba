// Verify checks a proof bundle of "indelible prove --ledger" with Go's standard library alone.
//
//	go run . bundle.json ORIGIN VKEY [WITNESS-VKEY...]
//
// It prints "good" and what is proven, or "bad" and why, with exit code 1. Each witness that is named must have signed.
// The format is described in docs/evidence.md.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

type bundle struct {
	Indelible string
	Version   int
	Entry     struct {
		Session string
		Row     uint64
		Body    string
		At      *int64
		Salt    *string
		Blocks  map[string]string
		Head    head
		Path    []string
	}
	Ledger struct {
		Body  string
		At    *int64
		Proof string
	}
}

type head struct {
	Size uint64
	Root string
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: verify BUNDLE ORIGIN VKEY [WITNESS-VKEY...]")
		os.Exit(2)
	}
	said, err := verify(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fmt.Println("bad:", err)
		os.Exit(1)
	}
	fmt.Println("good:", said)
}

func verify(file, origin, vkey string, witnesses []string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var b bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return "", err
	}
	if b.Indelible != "evidence" || b.Version != 1 {
		return "", errors.New("not a bundle of version 1")
	}
	index, path, checkpoint, err := readProof(b.Ledger.Proof)
	if err != nil {
		return "", err
	}
	size, root, err := readCheckpoint(checkpoint, origin, vkey, witnesses)
	if err != nil {
		return "", err
	}
	ledgerLeaf, err := leaf(1, b.Ledger.At, nil, b.Ledger.Body)
	if err != nil {
		return "", err
	}
	if !included(index, size, ledgerLeaf, path, root) {
		return "", errors.New("the ledger's row is not under the checkpoint")
	}
	var row struct {
		Type string
		ID   string
		Size uint64
		Root string
	}
	if err := json.Unmarshal([]byte(b.Ledger.Body), &row); err != nil {
		return "", err
	}
	if row.Type != "head" || row.ID != b.Entry.Session || row.Size != b.Entry.Head.Size || row.Root != b.Entry.Head.Root {
		return "", errors.New("the ledger's row is of another session or head")
	}
	entryLeaf, err := leaf(0, b.Entry.At, b.Entry.Salt, b.Entry.Body)
	if err != nil {
		return "", err
	}
	var entryPath [][]byte
	for _, digits := range b.Entry.Path {
		hash, err := hex.DecodeString(digits)
		if err != nil || len(hash) != 32 {
			return "", errors.New("a hash of the path is not 32 bytes")
		}
		entryPath = append(entryPath, hash)
	}
	sessionRoot, err := hex.DecodeString(row.Root)
	if err != nil || len(sessionRoot) != 32 {
		return "", errors.New("the session's root is not 32 bytes")
	}
	if !included(b.Entry.Row, row.Size, entryLeaf, entryPath, sessionRoot) {
		return "", errors.New("the message is not in the session's head")
	}
	for id, content := range b.Entry.Blocks {
		block, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			return "", err
		}
		digest := sha256.Sum256(block)
		if hex.EncodeToString(digest[:]) != id {
			return "", errors.New("a block is not what its name says")
		}
	}
	return fmt.Sprintf("row %d of session %q, under %s with %d rows", b.Entry.Row, row.ID, origin, size), nil
}

// readProof reads c2sp.org/tlog-proof@v1.
func readProof(text string) (index uint64, path [][]byte, checkpoint string, err error) {
	before, checkpoint, found := strings.Cut(text, "\n\n")
	lines := strings.Split(before, "\n")
	if !found || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, nil, "", errors.New("not a tlog-proof")
	}
	lines = lines[1:]
	if strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return 0, nil, "", errors.New("the tlog-proof has no index")
	}
	if index, err = strconv.ParseUint(lines[0][len("index "):], 10, 63); err != nil {
		return 0, nil, "", err
	}
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(hash) != 32 {
			return 0, nil, "", errors.New("a hash of the tlog-proof is not 32 bytes")
		}
		path = append(path, hash)
	}
	return index, path, checkpoint, nil
}

// readCheckpoint verifies a signed note and reads its text.
func readCheckpoint(note, origin, vkey string, witnesses []string) (size uint64, root []byte, err error) {
	split := strings.LastIndex(note, "\n\n")
	if split < 0 {
		return 0, nil, errors.New("the checkpoint is not signed")
	}
	text, signatures := note[:split+1], note[split+2:]
	for _, key := range append([]string{vkey}, witnesses...) {
		if err := signed(text, signatures, key); err != nil {
			return 0, nil, err
		}
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[0] != origin {
		return 0, nil, fmt.Errorf("the checkpoint is not of %s", origin)
	}
	if size, err = strconv.ParseUint(lines[1], 10, 63); err != nil {
		return 0, nil, err
	}
	if root, err = base64.StdEncoding.DecodeString(lines[2]); err != nil || len(root) != 32 {
		return 0, nil, errors.New("the checkpoint's root is not 32 bytes")
	}
	return size, root, nil
}

// signed looks for a good signature by the key NAME+ID+BASE64(TYPE, PUBLIC KEY).
func signed(text, signatures, vkey string) error {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return errors.New("a key is NAME+ID+BASE64")
	}
	id, err := hex.DecodeString(parts[1])
	key, err2 := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || err2 != nil || len(id) != 4 || len(key) != 33 {
		return errors.New("a key is NAME+ID+BASE64")
	}
	for _, line := range strings.Split(signatures, "\n") {
		encoded, found := strings.CutPrefix(line, "\u2014 "+parts[0]+" ")
		if !found {
			continue
		}
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !bytes.HasPrefix(signature, id) {
			continue
		}
		message, rest := []byte(text), signature[4:]
		if key[0] == 4 { // a cosignature has its time before it
			if len(rest) != 72 {
				return fmt.Errorf("the signature by %s is too short", parts[0])
			}
			seconds := binary.BigEndian.Uint64(rest)
			message = []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", seconds, text))
			rest = rest[8:]
		}
		if len(rest) == 64 && ed25519.Verify(ed25519.PublicKey(key[1:]), message, rest) {
			return nil
		}
		return fmt.Errorf("the signature by %s does not fit", parts[0])
	}
	return fmt.Errorf("%s has not signed", parts[0])
}

// leaf is the hash of a row.
func leaf(mark byte, at *int64, salt *string, body string) ([]byte, error) {
	content := []byte{0, mark}
	if at != nil {
		content[1] += 2
		content = binary.BigEndian.AppendUint64(content, uint64(*at))
	}
	if salt != nil {
		bytes, err := hex.DecodeString(*salt)
		if err != nil || len(bytes) != 16 {
			return nil, errors.New("a salt is 16 bytes")
		}
		content[1] += 4
		content = append(content, bytes...)
	}
	hash := sha256.Sum256(append(content, body...))
	return hash[:], nil
}

// included is the verification of RFC 9162, section 2.1.3.2.
func included(index, size uint64, found []byte, path [][]byte, root []byte) bool {
	if index >= size {
		return false
	}
	node, last := index, size-1
	for _, sibling := range path {
		if last == 0 {
			return false
		}
		if node%2 == 1 || node == last {
			found = parent(sibling, found)
			for node%2 == 0 && node != 0 {
				node, last = node/2, last/2
			}
		} else {
			found = parent(found, sibling)
		}
		node, last = node/2, last/2
	}
	return last == 0 && bytes.Equal(found, root)
}

func parent(left, right []byte) []byte {
	hash := sha256.Sum256(append(append([]byte{1}, left...), right...))
	return hash[:]
}
