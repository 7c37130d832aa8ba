// Verify checks proof bundles of "indelible prove --ledger" with Go's standard library alone.
//
//	go run . bundle.json ORIGIN VKEY [WITNESS-VKEY...]
//
// It prints "good" and what is proven, or "bad" and why, with exit code 1. Each witness that is named must have signed.
// With - for the file it reads one bundle a line, as a JSON string, and prints a line for each; the exit code is 0.
// The grammar and the steps are those of docs/evidence.md.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A bundle: its members in their order.
type bundle struct {
	Indelible string `json:"indelible"`
	Version   int    `json:"version"`
	Entry     entry  `json:"entry"`
	Ledger    ledger `json:"ledger"`
}

type entry struct {
	Indelible string            `json:"indelible"`
	Version   int               `json:"version"`
	Session   string            `json:"session"`
	Row       int64             `json:"row"`
	Body      string            `json:"body"`
	At        int64             `json:"at"`
	Salt      *string           `json:"salt,omitempty"`
	Blocks    map[string]string `json:"blocks"` // written in the order of the ids
	Head      head              `json:"head"`
	Path      []string          `json:"path"`
}

type head struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
}

type ledger struct {
	Body  string `json:"body"`
	At    int64  `json:"at"`
	Proof string `json:"proof"`
}

const (
	mostNumber = 1<<53 - 1
	mostTime   = 8_640_000_000_000_000
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: verify BUNDLE ORIGIN VKEY [WITNESS-VKEY...]")
		os.Exit(2)
	}
	file, origin, vkey, witnesses := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	if file == "-" {
		verifyLines(origin, vkey, witnesses)
		return
	}
	text, err := os.ReadFile(file)
	if err == nil {
		var said string
		if said, err = verify(text, origin, vkey, witnesses); err == nil {
			fmt.Println("good:", said)
			return
		}
	}
	fmt.Println("bad:", err)
	os.Exit(1)
}

func verifyLines(origin, vkey string, witnesses []string) {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var text string
		if err == nil {
			err = json.Unmarshal(line, &text)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if said, err := verify([]byte(text), origin, vkey, witnesses); err != nil {
			fmt.Fprintln(out, "bad:", err)
		} else {
			fmt.Fprintln(out, "good:", said)
		}
	}
}

func verify(text []byte, origin, vkey string, witnesses []string) (string, error) {
	b, err := readBundle(text)
	if err != nil {
		return "", err
	}
	index, path, checkpoint, err := readProof(b.Ledger.Proof)
	if err != nil {
		return "", err
	}
	size, root, err := readCheckpoint(checkpoint, origin, vkey, witnesses)
	if err != nil {
		return "", err
	}
	if !included(index, size, leaf(1, b.Ledger.At, nil, b.Ledger.Body), path, root) {
		return "", errors.New("the ledger's row is not under the checkpoint")
	}
	e := b.Entry
	row := fmt.Sprintf(`{"type":"head","id":%s,"size":%d,"root":"%s"}`, quote(e.Session), e.Head.Size, e.Head.Root)
	if b.Ledger.Body != row {
		return "", errors.New("the ledger's row is not that of the session's head")
	}
	var salt []byte
	if e.Salt != nil {
		salt, _ = hex.DecodeString(*e.Salt) // readBundle has looked at its digits, and at those of the hashes
	}
	var entryPath [][]byte
	for _, digits := range e.Path {
		hash, _ := hex.DecodeString(digits)
		entryPath = append(entryPath, hash)
	}
	sessionRoot, _ := hex.DecodeString(e.Head.Root)
	if !included(e.Row, e.Head.Size, leaf(0, e.At, salt, e.Body), entryPath, sessionRoot) {
		return "", errors.New("the message is not in the session's head")
	}
	if err := checkBlocks(e.Body, e.Blocks); err != nil {
		return "", err
	}
	return fmt.Sprintf("row %d of session %q, under %s with %d rows", e.Row, e.Session, origin, size), nil
}

var (
	hash64  = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
	salt32  = regexp.MustCompile(`\A[0-9a-f]{32}\z`)
	decimal = regexp.MustCompile(`\A(0|[1-9][0-9]{0,15})\z`)
)

// readBundle reads a bundle that follows the grammar.
func readBundle(text []byte) (b bundle, err error) {
	if !utf8.Valid(text) || hasLoneSurrogate(text) {
		return b, errors.New("not valid Unicode")
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, err
	}
	again, err := json.Marshal(b)
	if err != nil {
		return b, err
	}
	// The same tokens: so each member is there once, by its name and in its place, and no other is.
	given, own := tokens(text), tokens(again)
	if !slices.Equal(given, own) {
		return b, errors.New("it does not follow the grammar of a bundle")
	}
	e := b.Entry
	if e.Path == nil || e.Blocks == nil { // null
		return b, errors.New("it does not follow the grammar of a bundle")
	}
	if b.Indelible != "evidence" || b.Version != 1 || e.Indelible != "proof" || e.Version != 1 {
		return b, errors.New("not a bundle of version 1")
	}
	for _, number := range []int64{e.Row, e.Head.Size} {
		if number < 0 || number > mostNumber {
			return b, errors.New("a number is too large")
		}
	}
	for _, at := range []int64{e.At, b.Ledger.At} {
		if at < -mostTime || at > mostTime {
			return b, errors.New("not a time")
		}
	}
	for _, digits := range append([]string{e.Head.Root}, e.Path...) {
		if !hash64.MatchString(digits) {
			return b, errors.New("a hash is not 64 hexadecimal digits")
		}
	}
	if e.Salt != nil && !salt32.MatchString(*e.Salt) {
		return b, errors.New("a salt is not 32 hexadecimal digits")
	}
	return b, nil
}

// tokens are those of a JSON text, numbers as they are written.
func tokens(text []byte) (all []json.Token) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return all
		}
		all = append(all, token)
	}
}

// hasLoneSurrogate looks for an escaped half of a pair: Go would read it as U+FFFD.
func hasLoneSurrogate(text []byte) bool {
	unit := func(at int) uint64 {
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return 0
		}
		code, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return code
	}
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		switch code := unit(at); {
		case code >= 0xd800 && code < 0xdc00:
			if low := unit(at + 6); low < 0xdc00 || low > 0xdfff {
				return true
			}
			at += 11
		case code >= 0xdc00 && code < 0xe000:
			return true
		default:
			at++ // what is escaped is no backslash that escapes
		}
	}
	return false
}

var kinds = []string{"bootstrap", "constraint", "plan", "preference", "evidence", "conversation"}

// checkBlocks: the row is written as it has to be before its message, and exactly the blocks that it names are there.
func checkBlocks(body string, blocks map[string]string) error {
	start := strings.Index(body, `"message":`)
	if start < 0 || !strings.HasSuffix(body, "}") {
		return errors.New("the row is no message")
	}
	var row struct {
		Page, Tag string
		Blocks    []struct {
			Path []any
			ID   string
			As   string
		}
	}
	decoder := json.NewDecoder(strings.NewReader(body[:start] + `"message":0}`))
	decoder.UseNumber()
	if err := decoder.Decode(&row); err != nil {
		return errors.New("the row is no message")
	}
	kind, member := row.Page, "page"
	if row.Tag != "" {
		kind, member = row.Tag, "tag"
	}
	if !slices.Contains(kinds, kind) {
		return errors.New("the row is no message")
	}
	var again strings.Builder
	fmt.Fprintf(&again, `{"%s":"%s",`, member, kind)
	var message any
	if err := json.Unmarshal([]byte(body[start+len(`"message":`):len(body)-1]), &message); err != nil {
		return errors.New("the row is no message")
	}
	named := map[string]bool{}
	for number, block := range row.Blocks {
		again.WriteString(map[bool]string{true: `"blocks":[`, false: ","}[number == 0])
		again.WriteString(`{"path":[`)
		for step, part := range block.Path {
			if step > 0 {
				again.WriteString(",")
			}
			switch part := part.(type) {
			case string:
				again.WriteString(quote(part))
			case json.Number:
				if !decimal.MatchString(part.String()) {
					return errors.New("the row is no message")
				}
				again.WriteString(part.String())
			default:
				return errors.New("the row is no message")
			}
		}
		fmt.Fprintf(&again, `],"id":"%s","as":"%s"}`, block.ID, block.As)
		content, err := decodeBase64(blocks[block.ID])
		digest := sha256.Sum256(content)
		if err != nil || hex.EncodeToString(digest[:]) != block.ID || (block.As != "base64" && block.As != "utf8") {
			return errors.New("a block is missing or is not what its name says")
		}
		if (block.As == "utf8" && !utf8.Valid(content)) || !fill(message, block.Path) {
			return errors.New("a block is not the text that was taken out")
		}
		named[block.ID] = true
	}
	if len(row.Blocks) > 0 {
		again.WriteString("],")
	}
	if again.String() != body[:start] {
		return errors.New("the row is not written as it has to be")
	}
	if len(named) != len(blocks) {
		return errors.New("a block does not belong to the message")
	}
	return nil
}

// fill puts a text where the path leads, if an empty one is there.
func fill(message any, path []any) bool {
	for step, part := range path {
		key := fmt.Sprint(part)
		isLast := step == len(path)-1
		switch place := message.(type) {
		case map[string]any:
			message = place[key]
			if isLast && message == "" {
				place[key] = "filled"
				return true
			}
		case []any:
			at, err := strconv.Atoi(key)
			if err != nil || at < 0 || at >= len(place) || strconv.Itoa(at) != key {
				return false
			}
			message = place[at]
			if isLast && message == "" {
				place[at] = "filled"
				return true
			}
		default:
			return false
		}
	}
	return false
}

// decodeBase64 takes the one spelling of some bytes.
func decodeBase64(text string) ([]byte, error) {
	found, err := base64.StdEncoding.DecodeString(text)
	if err == nil && base64.StdEncoding.EncodeToString(found) != text {
		err = errors.New("not the base64 of these bytes")
	}
	return found, err
}

// quote writes a string as JSON.stringify does.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, letter := range text {
		if short, found := map[rune]string{
			'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
		}[letter]; found {
			out.WriteString(short)
		} else if letter < ' ' {
			fmt.Fprintf(&out, `\u%04x`, letter)
		} else {
			out.WriteRune(letter)
		}
	}
	out.WriteByte('"')
	return out.String()
}

func readNumber(digits string) (int64, error) {
	if !decimal.MatchString(digits) {
		return 0, errors.New("a number is not in digits alone")
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && number > mostNumber {
		err = errors.New("a number is too large")
	}
	return number, err
}

// readProof reads c2sp.org/tlog-proof@v1.
func readProof(text string) (index int64, path [][]byte, checkpoint string, err error) {
	before, checkpoint, found := strings.Cut(text, "\n\n")
	lines := strings.Split(before, "\n")
	if !found || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, nil, "", errors.New("not a tlog-proof")
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		if _, err := decodeBase64(lines[0][len("extra "):]); err != nil {
			return 0, nil, "", err
		}
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return 0, nil, "", errors.New("the tlog-proof has no index")
	}
	if index, err = readNumber(lines[0][len("index "):]); err != nil {
		return 0, nil, "", err
	}
	for _, line := range lines[1:] {
		hash, err := decodeBase64(line)
		if err != nil || len(hash) != 32 {
			return 0, nil, "", errors.New("a hash of the tlog-proof is not 32 bytes")
		}
		path = append(path, hash)
	}
	if len(path) > 63 {
		return 0, nil, "", errors.New("the tlog-proof has too many hashes")
	}
	return index, path, checkpoint, nil
}

type signature struct {
	name  string
	bytes []byte
}

// readCheckpoint verifies a signed note and reads its text.
func readCheckpoint(note, origin, vkey string, witnesses []string) (size int64, root []byte, err error) {
	for _, letter := range note {
		if letter < ' ' && letter != '\n' {
			return 0, nil, errors.New("the checkpoint has a control character")
		}
	}
	split := strings.LastIndex(note, "\n\n")
	if split < 0 || !strings.HasSuffix(note[split+2:], "\n") {
		return 0, nil, errors.New("the checkpoint is not signed")
	}
	text := note[:split+1]
	var signatures []signature
	for _, line := range strings.Split(strings.TrimSuffix(note[split+2:], "\n"), "\n") {
		parts := strings.Split(line, " ")
		if len(parts) != 3 || parts[0] != "\u2014" || !isKeyName(parts[1]) {
			return 0, nil, errors.New("a line of the checkpoint is no signature")
		}
		bytes, err := decodeBase64(parts[2])
		if err != nil || len(bytes) < 5 {
			return 0, nil, errors.New("a line of the checkpoint is no signature")
		}
		signatures = append(signatures, signature{parts[1], bytes})
	}
	if len(signatures) > 100 {
		return 0, nil, errors.New("the checkpoint has too many signatures")
	}
	for number, key := range append([]string{vkey}, witnesses...) {
		if err := signed(text, signatures, key, number > 0); err != nil {
			return 0, nil, err
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[0] != origin || slices.Contains(lines, "") {
		return 0, nil, fmt.Errorf("the checkpoint is not of %s", origin)
	}
	if size, err = readNumber(lines[1]); err != nil {
		return 0, nil, err
	}
	if root, err = decodeBase64(lines[2]); err != nil || len(root) != 32 {
		return 0, nil, errors.New("the checkpoint's root is not 32 bytes")
	}
	return size, root, nil
}

func isKeyName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(letter rune) bool {
		return letter == '+' || letter == '\ufeff' || unicode.IsSpace(letter) || unicode.IsControl(letter)
	})
}

// signed: the key NAME+ID+BASE64(TYPE, PUBLIC KEY) has signed, and each signature that is by it fits.
func signed(text string, signatures []signature, vkey string, isWitness bool) error {
	parts := strings.SplitN(vkey, "+", 3)
	kind := map[bool]byte{false: 1, true: 4}[isWitness]
	if len(parts) != 3 || !isKeyName(parts[0]) {
		return errors.New("a key is NAME+ID+BASE64")
	}
	key, err := decodeBase64(parts[2])
	id := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if err != nil || len(key) != 33 || key[0] != kind || parts[1] != hex.EncodeToString(id[:4]) {
		return errors.New("a key is NAME+ID+BASE64")
	}
	found := false
	for _, one := range signatures {
		if one.name != parts[0] || !bytes.HasPrefix(one.bytes, id[:4]) {
			continue
		}
		message, rest := []byte(text), one.bytes[4:]
		if isWitness { // a cosignature has its time before it
			if len(rest) != 72 || binary.BigEndian.Uint64(rest) > mostNumber {
				return fmt.Errorf("the signature by %s does not fit", parts[0])
			}
			message = fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(rest), text)
			rest = rest[8:]
		}
		if len(rest) != 64 || !ed25519.Verify(ed25519.PublicKey(key[1:]), message, rest) {
			return fmt.Errorf("the signature by %s does not fit", parts[0])
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%s has not signed", parts[0])
	}
	return nil
}

// leaf is the hash of a row.
func leaf(mark byte, at int64, salt []byte, body string) []byte {
	content := binary.BigEndian.AppendUint64([]byte{0, mark + 2}, uint64(at))
	if salt != nil {
		content[1] += 4
		content = append(content, salt...)
	}
	hash := sha256.Sum256(append(content, body...))
	return hash[:]
}

// included is the verification of RFC 9162, section 2.1.3.2.
func included(index, size int64, found []byte, path [][]byte, root []byte) bool {
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
