package rocketmqtest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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

func TestCommandThatEndsIsQuoted(t *testing.T) {
	_, err := startProcess(program(t, t.TempDir(), "emulator", "echo no such option >&2; exit 3"), nil)
	if err == nil || !strings.HasSuffix(err.Error(), ": has not become ready (it ended with code 3): no such option") {
		t.Error(err)
	}
}

func TestEndOfACommandDoesNotWaitForItsChildren(t *testing.T) {
	const limit = 500 * time.Millisecond
	for script, want := range map[string]string{
		"echo '{}'; cat > /dev/null": "",
		"echo '{}'; exec sleep 20":   "rocketmq-emulator: has not stopped within 500ms, and was killed; ",
		"echo no JSON":               "has not become ready (invalid character",
	} {
		script, want := script, want
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			started, err := startProcess(program(t, t.TempDir(), "emulator", "sleep 20 &\n"+script), nil)
			if err == nil {
				err = started.stopWithin(limit)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("the end has taken %s", took)
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}
