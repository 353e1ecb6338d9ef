// Package bundle is the format of the second part of the executable: files in frames of S2, and their index.
//
// The contents of all files, one after the other, are cut into frames of 4 MiB, each compressed alone, so that frames
// are decoded in parallel. S2 is decoded in half the time of zstd, and takes a third more space. The index follows the
// frames, one line for each frame, file and symbolic link. The end is the length of the index in 8 bytes, its SHA-256,
// and a word. The index has the SHA-256 of each frame, as it is stored, and of each file, so that the hash of the index
// stands for everything.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	magic       = "RMQTK-S2"
	trailerSize = 8 + sha256.Size + len(magic)
	frameSize   = 4 << 20
)

// Errors of a bundle that cannot be used.
var (
	ErrIncomplete = errors.New("the file is incomplete")
	ErrDamaged    = errors.New("the file is damaged, its content has another hash")
)

// File is a file of the bundle, or a symbolic link if it has a target.
type File struct {
	Path   string
	Target string
	Mode   os.FileMode
	Size   int64
	Hash   string
	offset int64
}

type frame struct {
	stored int64
	size   int64
	hash   string
	at     int64
	offset int64
}

// Bundle is an open bundle. Its source stays open until the program replaces this process.
type Bundle struct {
	Files  []File
	frames []frame
	source io.ReaderAt
	hash   []byte
}

// Open reads the index of the bundle at the end of a file.
func Open(path string) (*Bundle, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	end := info.Size() - int64(trailerSize)
	trailer := make([]byte, trailerSize)
	if _, err := file.ReadAt(trailer, end); err != nil || !bytes.HasSuffix(trailer, []byte(magic)) {
		return nil, ErrIncomplete
	}
	size := int64(binary.BigEndian.Uint64(trailer))
	if size < 0 || size > end {
		return nil, ErrDamaged
	}
	index := make([]byte, size)
	if _, err := file.ReadAt(index, end-size); err != nil {
		return nil, err
	}
	hash := trailer[8 : 8+sha256.Size]
	if found := sha256.Sum256(index); !bytes.Equal(found[:], hash) {
		return nil, ErrDamaged
	}
	opened := &Bundle{source: file, hash: hash}
	if err := opened.read(string(index)); err != nil {
		return nil, err
	}
	var stored int64
	for _, each := range opened.frames {
		stored += each.stored
	}
	for i := range opened.frames {
		opened.frames[i].at += end - size - stored
	}
	return opened, nil
}

// Name is that of the folder in the cache: each content has its own.
func (b *Bundle) Name() string {
	return hex.EncodeToString(b.hash)[:32]
}

func (b *Bundle) read(index string) error {
	var at, offset, content int64
	for _, line := range strings.Split(strings.TrimSuffix(index, "\n"), "\n") {
		words := strings.Split(line, "\t")
		var err error
		switch words[0] {
		case "frame":
			found := frame{hash: words[3], at: at, offset: offset}
			_, err = fmt.Sscan(words[1]+" "+words[2], &found.stored, &found.size)
			at += found.stored
			offset += found.size
			b.frames = append(b.frames, found)
		case "file":
			found := File{Path: words[4], Hash: words[3], offset: content}
			_, err = fmt.Sscanf(words[1]+" "+words[2], "%o %d", &found.Mode, &found.Size)
			content += found.Size
			b.Files = append(b.Files, found)
		case "link":
			b.Files = append(b.Files, File{Path: words[2], Target: words[1], offset: content})
		}
		if err != nil {
			return fmt.Errorf("index: %q: %w", line, err)
		}
	}
	return nil
}

// Intact reports whether a folder has every file, with the size and the hash of the index.
func (b *Bundle) Intact(folder string) bool {
	return inParallel(len(b.Files), func(i int) error {
		file := b.Files[i]
		path := filepath.Join(folder, filepath.FromSlash(file.Path))
		if file.Target != "" {
			if target, err := os.Readlink(path); err != nil || target != file.Target {
				return ErrDamaged
			}
			return nil
		}
		content, err := os.Open(path)
		if err != nil {
			return err
		}
		defer content.Close()
		found := sha256.New()
		if size, err := io.Copy(found, content); err != nil || size != file.Size {
			return ErrDamaged
		}
		if hex.EncodeToString(found.Sum(nil)) != file.Hash {
			return ErrDamaged
		}
		return nil
	}) == nil
}
