// Package orders has tests with the emulator in a container, whose ports Testcontainers maps to random ones.
package orders

import (
	"context"
	"testing"

	"github.com/docker/go-connections/nat"
	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// RunContainer starts a container of the image rocketmq-emulator, and returns its emulator with the addresses at which
// this machine reaches it. It ends with the test.
func RunContainer(t *testing.T, arguments ...string) *rocketmqtest.RocketMQ {
	t.Helper()
	container, err := testcontainers.Run(context.Background(), "rocketmq-emulator",
		testcontainers.WithExposedPorts("9876/tcp", "10911/tcp", "8081/tcp", "8090/tcp"),
		testcontainers.WithCmd(arguments...),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/readyz").WithPort("8090/tcp")),
	)
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	address := func(port string) string {
		found, err := container.PortEndpoint(context.Background(), nat.Port(port), "")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	mq, err := rocketmqtest.Connect("http://" + address("8090/tcp"))
	if err == nil {
		mq, err = mq.Mapped(address("9876/tcp"), address("10911/tcp"), address("8081/tcp"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return mq
}
