package rocketmqtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// These files call each exported method of the helper, against the emulator of SHOP_CONTROL_URL, its forks, and emulators
// of this process. tests/support/busy_shop.py describes the messages and groups of the shop.

func shop(t testing.TB) *rocketmqtest.RocketMQ {
	t.Helper()
	return must(rocketmqtest.Connect(os.Getenv("SHOP_CONTROL_URL")))(t)
}

// fork returns an emulator with the state of the shop and without its clients, which a row may change.
func fork(t testing.TB) *rocketmqtest.RocketMQ {
	t.Helper()
	found := must(shop(t).Fork())(t)
	t.Cleanup(func() { check(t, found.Stop()) })
	return found
}

// equal fails the test unless two values are equal.
func equal(t testing.TB, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("%v, not %v", found, wanted)
	}
}

func contains(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q is not in %s", part, text)
	}
}

// fails calls an assertion, which must fail with a text.
func fails(t testing.TB, part string, assertion func(testing.TB)) {
	t.Helper()
	failed := &recorder{TB: t}
	assertion(failed)
	contains(t, only(t, failed.texts), part)
}

// names returns a field of each item.
func names[T any](items []T, name func(T) string) []string {
	found := []string{}
	for _, each := range items {
		found = append(found, name(each))
	}
	return found
}

func has(t testing.TB, found []string, name string) bool {
	t.Helper()
	for _, each := range found {
		if each == name {
			return true
		}
	}
	return false
}

func topicNames(t testing.TB, mq *rocketmqtest.RocketMQ) []string {
	t.Helper()
	return names(must(mq.Topics(false))(t), func(each rocketmqtest.TopicInfo) string { return each.Name })
}

func groupNames(t testing.TB, mq *rocketmqtest.RocketMQ) []string {
	t.Helper()
	return names(must(mq.Groups(false))(t), func(each rocketmqtest.GroupInfo) string { return each.Name })
}

func clientNames(t testing.TB) []string {
	t.Helper()
	return names(must(shop(t).Clients())(t), func(each rocketmqtest.ClientInfo) string { return each.ID })
}

func isRunning(t testing.TB, mq *rocketmqtest.RocketMQ) bool {
	t.Helper()
	return only(t, must(mq.Brokers.List())(t)).Running
}

func advertised(t testing.TB, mq *rocketmqtest.RocketMQ, server string) string {
	t.Helper()
	var ready struct{ Advertised map[string]string }
	check(t, mq.Request("GET", "/readyz", nil, &ready))
	return ready.Advertised[server]
}

func lost() rocketmqtest.Rule {
	criteria := map[string]any{"operation": "SendMessage"}
	return rocketmqtest.Rule{Name: "lost", When: criteria, Then: "drop_response", Times: 3}
}

func TestEachMethodWorks(t *testing.T) {
	for name, call := range allRows() {
		t.Run(name, call)
	}
}

func allRows() map[string]func(*testing.T) {
	found := map[string]func(*testing.T){}
	for _, table := range []map[string]func(*testing.T){rows, assertionRows, viewRows} {
		for name, call := range table {
			found[name] = call
		}
	}
	return found
}

func TestEachMethodHasARowThatCallsIt(t *testing.T) {
	found := []string{}
	for name := range allRows() {
		found = append(found, name)
	}
	sort.Strings(found)
	equal(t, found, exported(t))
	calls := callsOfRows(t)
	for _, name := range found {
		if method := name[strings.Index(name, ".")+1:]; !calls[name][method] {
			t.Errorf("the row of %s does not call it", name)
		}
	}
}

// exported returns the exported functions and methods of the package, without those that encoding/json calls.
func exported(t *testing.T) []string {
	t.Helper()
	sources := func(file fs.FileInfo) bool { return !strings.HasSuffix(file.Name(), "_test.go") }
	found := []string{}
	for _, file := range must(parser.ParseDir(token.NewFileSet(), ".", sources, 0))(t)["rocketmqtest"].Files {
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || !function.Name.IsExported() || strings.HasSuffix(function.Name.Name, "JSON") {
				continue
			}
			receiver := receiverOf(function)
			if receiver == "" {
				found = append(found, function.Name.Name)
			} else if ast.IsExported(receiver) {
				found = append(found, receiver+"."+function.Name.Name)
			}
		}
	}
	sort.Strings(found)
	return found
}

// receiverOf returns the name of the type of a method; "" for a function.
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	kind := function.Recv.List[0].Type
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	return kind.(*ast.Ident).Name
}

// callsOfRows returns the names after a dot in the code of each row.
func callsOfRows(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	inspect := func(node ast.Node) bool {
		row, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := row.Key.(*ast.BasicLit); ok && strings.HasPrefix(key.Value, `"`) {
			calls := map[string]bool{}
			ast.Inspect(row.Value, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok {
					calls[selector.Sel.Name] = true
				}
				return true
			})
			found[strings.Trim(key.Value, `"`)] = calls
		}
		return true
	}
	for _, name := range []string{"rows_test.go", "assertion_rows_test.go", "view_rows_test.go"} {
		ast.Inspect(must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t), inspect)
	}
	return found
}
