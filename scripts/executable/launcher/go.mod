module github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher

go 1.21
