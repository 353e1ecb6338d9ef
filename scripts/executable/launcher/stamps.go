package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher/bundle"
)

// stampsFile has the stamps of all files of an unpacked program, as they were when their hashes were compared.
const stampsFile = ".stamps"

// stamps returns size, inode, mode, and the times of the last change of content and of inode, for each file. Each
// change of a file changes the last of these, which no program can set.
func stamps(of *bundle.Bundle, folder string) (string, error) {
	var found strings.Builder
	for _, file := range of.Files {
		var stat syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(folder, filepath.FromSlash(file.Path)), &stat); err != nil {
			return "", err
		}
		fmt.Fprintln(&found, stat.Size, stat.Ino, stat.Mode, modified(&stat), changed(&stat), file.Path)
	}
	return found.String(), nil
}

// isIntact reports whether a folder has every file of the bundle as it was unpacked. It compares the hashes of all
// files if a stamp differs, which is so after the folder was copied, and then writes new stamps.
func isIntact(from *bundle.Bundle, folder string) bool {
	found, err := stamps(from, folder)
	if err != nil {
		return false
	}
	if known, err := os.ReadFile(filepath.Join(folder, stampsFile)); err == nil && string(known) == found {
		return true
	}
	if !from.Intact(folder) {
		return false
	}
	// A folder that cannot be written to is compared again at the next start.
	_ = writeStamps(found, folder)
	return true
}

// writeStamps replaces the file at once, for other processes that start.
func writeStamps(content, folder string) error {
	file, err := os.CreateTemp(folder, stampsFile)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(folder, stampsFile))
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
