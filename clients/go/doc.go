// Package rocketmqtest runs an Apache RocketMQ emulator for Go tests.
//
// A test gets an emulator of its own, which ends with the test:
//
//	func TestOrder(t *testing.T) {
//		mq := rocketmqtest.Run(t, "orders")
//		NewShop(mq.Endpoint).Order("two teas")
//		mq.AssertBodies(t, "orders", "two teas")
//	}
//
// The emulator is the command rocketmq-emulator. Run looks for it in the environment variable ROCKETMQ_EMULATOR, in
// PATH, and as a module of python3. All tests of a test binary share one process of it; each test gets a fork with ports
// of its own, so that tests may call t.Parallel. With RunWithReset, tests that run one after another use the same
// emulator, which is reset for each of them. If ROCKETMQ_CONTROL_URL is set, Run uses the emulator with that control
// port instead, such as a sidecar in CI, and resets it before each test. Run such tests one after another. Tests of
// several packages, which go test runs at the same time, wait for each other.
package rocketmqtest
