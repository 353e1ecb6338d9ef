package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// The end of the executable: the length of the archive, its SHA-256, and this word.
const (
	magic       = "RMQTKZIP"
	trailerSize = 8 + sha256.Size + len(magic)
)

// archive is the zip archive at the end of the executable.
type archive struct {
	path  string
	hash  []byte
	bytes *io.SectionReader
	files []*zip.File
}

// openArchive reads the directory of the archive. The file stays open until the program replaces this process.
func openArchive(path string) (*archive, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	broken := fmt.Errorf("%s: the file is incomplete; build or download it again", path)
	trailer := make([]byte, trailerSize)
	if _, err := file.ReadAt(trailer, info.Size()-int64(trailerSize)); err != nil || !bytes.HasSuffix(trailer, []byte(magic)) {
		return nil, broken
	}
	size := int64(binary.BigEndian.Uint64(trailer))
	part := io.NewSectionReader(file, info.Size()-int64(trailerSize)-size, size)
	reader, err := zip.NewReader(part, size)
	if err != nil {
		return nil, broken
	}
	return &archive{path, trailer[8 : 8+sha256.Size], part, reader.File}, nil
}

// name is that of the folder in the cache: each content has its own.
func (a *archive) name() string {
	return hex.EncodeToString(a.hash)[:32]
}

// verify compares the content of the archive with its hash.
func (a *archive) verify() error {
	found := sha256.New()
	if _, err := io.Copy(found, io.NewSectionReader(a.bytes, 0, a.bytes.Size())); err != nil {
		return err
	}
	if !bytes.Equal(found.Sum(nil), a.hash) {
		return fmt.Errorf("%s: the file is damaged, its content has another hash; build or download it again", a.path)
	}
	return nil
}
