module github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher

go 1.21

require github.com/klauspost/compress v1.17.11
