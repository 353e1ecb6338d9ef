package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

// Unpack writes all files into a folder, which has to be empty. It compares each frame with its hash.
func (b *Bundle) Unpack(folder string) error {
	if err := b.prepare(folder); err != nil {
		return err
	}
	buffers := sync.Pool{New: func() any { return &buffer{} }}
	return inParallel(len(b.frames), func(i int) error {
		taken := buffers.Get().(*buffer)
		defer buffers.Put(taken)
		content, err := b.decode(b.frames[i], taken)
		if err != nil {
			return err
		}
		return b.write(content, b.frames[i].offset, folder)
	})
}

// buffer is the memory for one frame, as it is stored and as it is decoded.
type buffer struct{ stored, content []byte }

// prepare makes the folders, the symbolic links, and the files without content, which are in no frame.
func (b *Bundle) prepare(folder string) error {
	made := map[string]bool{}
	for _, file := range b.Files {
		path := filepath.Join(folder, filepath.FromSlash(file.Path))
		if parent := filepath.Dir(path); !made[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			made[parent] = true
		}
		if file.Target != "" {
			if err := os.Symlink(file.Target, path); err != nil {
				return err
			}
		} else if file.Size == 0 {
			if err := os.WriteFile(path, nil, file.Mode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bundle) decode(from frame, into *buffer) ([]byte, error) {
	if int64(cap(into.stored)) < from.stored {
		into.stored = make([]byte, from.stored)
	}
	stored := into.stored[:from.stored]
	if _, err := b.source.ReadAt(stored, from.at); err != nil {
		return nil, err
	}
	if found := sha256.Sum256(stored); hex.EncodeToString(found[:]) != from.hash {
		return nil, ErrDamaged
	}
	if into.content == nil {
		into.content = make([]byte, frameSize)
	}
	content, err := s2.Decode(into.content, stored)
	if err != nil || int64(len(content)) != from.size {
		return nil, fmt.Errorf("%w (%v)", ErrDamaged, err)
	}
	return content, nil
}

// write writes the parts of files that a frame has. Other frames may have the other parts of the first and the last.
func (b *Bundle) write(content []byte, offset int64, folder string) error {
	end := offset + int64(len(content))
	first := sort.Search(len(b.Files), func(i int) bool { return b.Files[i].offset+b.Files[i].Size > offset })
	for _, file := range b.Files[first:] {
		if file.Target != "" || file.Size == 0 {
			continue
		}
		if file.offset >= end {
			break
		}
		begin, until := max(file.offset, offset), min(file.offset+file.Size, end)
		if err := writePart(file, content[begin-offset:until-offset], begin-file.offset, folder); err != nil {
			return err
		}
	}
	return nil
}

func writePart(file File, part []byte, at int64, folder string) error {
	path := filepath.Join(folder, filepath.FromSlash(file.Path))
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, file.Mode)
	if err != nil {
		return err
	}
	if _, err := out.WriteAt(part, at); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// inParallel calls a function with each number below count, on all processors, and returns the first error.
func inParallel(count int, call func(int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range make([]struct{}, runtime.NumCPU()) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if err := call(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		}()
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
