package main

import (
	"archive/zip"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

const cacheVariable = "ROCKETMQ_EMULATOR_CACHE"

// unpacked returns the folder with the files of the archive. It unpacks them if they are missing or damaged.
func unpacked(from *archive) (string, error) {
	parent, err := cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(parent, from.name())
	if isIntact(from, folder) {
		return folder, nil
	}
	if err := from.verify(); err != nil {
		return "", err
	}
	if err := unpack(from, parent, folder); err != nil {
		return "", fmt.Errorf("%s: cannot unpack the program (%v); make room there, or set %s to another folder",
			parent, err, cacheVariable)
	}
	return folder, nil
}

// cache returns the folder that holds unpacked programs: that of the variable, of the user, or a temporary one.
func cache() (string, error) {
	if path := os.Getenv(cacheVariable); path != "" {
		if err := claim(path); err != nil {
			return "", fmt.Errorf("%s=%s: %v; name a folder that this user can write to", cacheVariable, path, err)
		}
		return path, nil
	}
	if path, err := os.UserCacheDir(); err == nil {
		if path = filepath.Join(path, program); claim(path) == nil {
			return path, nil
		}
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", program, os.Getuid()))
	if err := claim(path); err != nil {
		return "", fmt.Errorf("%s: %v; set %s to a folder that this user can write to", path, err, cacheVariable)
	}
	return path, nil
}

// claim makes a folder that only this user can write to. Others must not choose the program that runs.
func claim(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if !info.IsDir() || int(owner) != os.Getuid() && owner != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("other users can write to this folder")
	}
	return nil
}

// isIntact reports whether a folder has every file of the archive, with its size and checksum.
func isIntact(from *archive, folder string) bool {
	return each(from.files, func(file *zip.File) error {
		path := filepath.Join(folder, filepath.FromSlash(file.Name))
		if file.Mode()&os.ModeSymlink != 0 {
			_, err := os.Stat(path)
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if uint64(len(content)) != file.UncompressedSize64 || crc32.ChecksumIEEE(content) != file.CRC32 {
			return zip.ErrChecksum
		}
		return nil
	}) == nil
}

// unpack writes the files beside the folder, and then moves them there, so that the folder is never incomplete.
func unpack(from *archive, parent, folder string) error {
	made, err := os.MkdirTemp(parent, ".unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	for _, file := range from.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(made, filepath.FromSlash(file.Name))), 0o755); err != nil {
			return err
		}
	}
	if err := each(from.files, func(file *zip.File) error { return write(file, made) }); err != nil {
		return err
	}
	if os.Rename(made, folder) == nil {
		return nil
	}
	// Another process was quicker, or the folder is damaged.
	if isIntact(from, folder) {
		return nil
	}
	old := made + ".old"
	defer os.RemoveAll(old)
	if err := os.Rename(folder, old); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(made, folder)
}

func write(file *zip.File, folder string) error {
	path := filepath.Join(folder, filepath.FromSlash(file.Name))
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	if file.Mode()&os.ModeSymlink != 0 {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return os.Symlink(string(target), path)
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, file.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, content); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// each calls a function with every file, on all processors, and returns the first error.
func each(files []*zip.File, call func(*zip.File) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range make([]struct{}, runtime.NumCPU()) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if err := call(files[i]); err != nil {
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
