package main

import "syscall"

func modified(stat *syscall.Stat_t) int64 { return stat.Mtim.Nano() }

func changed(stat *syscall.Stat_t) int64 { return stat.Ctim.Nano() }
