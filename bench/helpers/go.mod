module github.com/rocketmq-testkit/rocketmq-testkit/bench/helpers

go 1.22

require github.com/rocketmq-testkit/rocketmq-testkit/clients/go v0.1.0

replace github.com/rocketmq-testkit/rocketmq-testkit/clients/go => ../../clients/go
