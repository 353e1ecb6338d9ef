module rocketmq-testkit/line

go 1.24
