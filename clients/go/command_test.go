package rocketmqtest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// program writes an executable file and returns its path.
func program(t *testing.T, folder, name, script string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandIsFoundByPathThenVariableThenPathFoldersThenPython(t *testing.T) {
	folder := t.TempDir()
	python := program(t, folder, "python3", "exit 0")
	t.Setenv("PATH", folder)
	t.Setenv(CommandVariable, "")
	want := func(path string, words ...string) {
		t.Helper()
		if found, err := findCommand(path); err != nil || !reflect.DeepEqual(found, words) {
			t.Errorf("%v %v, not %v", found, err, words)
		}
	}
	want("", python, "-m", "rocketmq_testkit.fixtures.command")
	inPath := program(t, folder, "rocketmq-emulator", "exit 1")
	want("", inPath)
	other := program(t, t.TempDir(), "other", "exit 1")
	t.Setenv(CommandVariable, other)
	want("", other)
	want(python, python)
	t.Setenv(CommandVariable, "/nowhere/emulator")
	if _, err := findCommand(""); err == nil || !strings.HasPrefix(err.Error(), "ROCKETMQ_EMULATOR=/nowhere/emulator: ") {
		t.Error(err)
	}
}

func TestPythonWithoutThePackageIsNoCommand(t *testing.T) {
	folder := t.TempDir()
	program(t, folder, "python3", "exit 1")
	t.Setenv("PATH", folder)
	t.Setenv(CommandVariable, "")
	if found, err := findCommand(""); err == nil {
		t.Error(found)
	}
}
