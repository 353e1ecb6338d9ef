package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher/bundle"
)

const cacheVariable = "ROCKETMQ_EMULATOR_CACHE"

// unpacked returns the folder with the files of the bundle. It unpacks them if they are missing or damaged.
func unpacked(from *bundle.Bundle) (string, error) {
	parent, err := cache()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(parent, from.Name())
	if isIntact(from, folder) {
		return folder, nil
	}
	if err := unpack(from, parent, folder); errors.Is(err, bundle.ErrDamaged) {
		return "", err
	} else if err != nil {
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

// unpack writes the files beside the folder, and then moves them there, so that the folder is never incomplete.
func unpack(from *bundle.Bundle, parent, folder string) error {
	debug.SetGCPercent(-1) // this process needs little memory, and ends soon
	made, err := os.MkdirTemp(parent, ".unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := from.Unpack(made); err != nil {
		return err
	}
	found, err := stamps(from, made)
	if err != nil {
		return err
	}
	if err := writeStamps(found, made); err != nil {
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
