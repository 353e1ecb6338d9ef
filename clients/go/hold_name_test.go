package rocketmqtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHoldNamesPackageTestAndProcess(t *testing.T) {
	if name := holdName("shop.test.exe", "TestOrder/paid", 4711); name != "shop.TestOrder/paid (pid 4711)" {
		t.Error(name)
	}
	name := holdName("shop.test", strings.Repeat("ä", 300), 4711)
	if len([]rune(name)) != holdNameMax || !strings.HasSuffix(name, "ä (pid 4711)") {
		t.Error(name)
	}
}

func TestEmulatorWithoutHoldsIsToBeUpdated(t *testing.T) {
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	_, err := connected(addresses{Control: old.URL}, "", nil).Hold("a test", 0)
	if err != errNoHold {
		t.Error(err)
	}
}
