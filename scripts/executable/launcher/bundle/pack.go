package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"

	"github.com/klauspost/compress/s2"
)

// Pack writes a bundle of the files of a folder. The same files give the same bytes.
func Pack(folder string, out io.Writer) error {
	files, err := list(folder)
	if err != nil {
		return err
	}
	var index bytes.Buffer
	var content []byte
	for _, file := range files {
		if file.Target != "" {
			fmt.Fprintf(&index, "link\t%s\t%s\n", file.Target, file.Path)
			continue
		}
		read, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(file.Path)))
		if err != nil {
			return err
		}
		hash := sha256.Sum256(read)
		fmt.Fprintf(&index, "file\t%o\t%d\t%s\t%s\n", file.Mode, len(read), hex.EncodeToString(hash[:]), file.Path)
		content = append(content, read...)
	}
	if err := writeFrames(content, &index, out); err != nil {
		return err
	}
	hash := sha256.Sum256(index.Bytes())
	trailer := binary.BigEndian.AppendUint64(nil, uint64(index.Len()))
	trailer = append(append(trailer, hash[:]...), magic...)
	_, err = out.Write(append(index.Bytes(), trailer...))
	return err
}

func writeFrames(content []byte, index io.Writer, out io.Writer) error {
	for len(content) > 0 {
		part := content[:min(frameSize, len(content))]
		content = content[len(part):]
		stored := s2.EncodeBest(nil, part)
		hash := sha256.Sum256(stored)
		fmt.Fprintf(index, "frame\t%d\t%d\t%s\n", len(stored), len(part), hex.EncodeToString(hash[:]))
		if _, err := out.Write(stored); err != nil {
			return err
		}
	}
	return nil
}

// list returns the files below a folder, those with the same ending together.
func list(folder string) ([]File, error) {
	var found []File
	err := filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, at)
		if err != nil {
			return err
		}
		file := File{Path: filepath.ToSlash(relative), Mode: 0o644}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			file.Target, err = os.Readlink(at)
		} else if info.Mode()&0o100 != 0 {
			file.Mode = 0o755
		}
		found = append(found, file)
		return err
	})
	sort.SliceStable(found, func(i, j int) bool {
		left, right := path.Ext(found[i].Path), path.Ext(found[j].Path)
		return left < right || left == right && found[i].Path < found[j].Path
	})
	return found, err
}
