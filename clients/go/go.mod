module github.com/rocketmq-testkit/rocketmq-testkit/clients/go

go 1.21
