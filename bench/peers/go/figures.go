package main

import (
	"fmt"
	"slices"
	"time"
)

// figures are the milliseconds of each repeat of a step.
type figures struct {
	tool, step string
	ms         []float64
}

// table collects figures in the order in which steps are first measured.
type table struct{ rows []*figures }

// time calls a step, and adds its time to the row of the tool and the step.
func (t *table) time(tool, step string, call func() error) error {
	begin := time.Now()
	err := call()
	taken := float64(time.Since(begin).Microseconds()) / 1000
	if err != nil {
		return fmt.Errorf("%s: %s: %w", tool, step, err)
	}
	for _, row := range t.rows {
		if row.tool == tool && row.step == step {
			row.ms = append(row.ms, taken)
			return nil
		}
	}
	t.rows = append(t.rows, &figures{tool, step, []float64{taken}})
	return nil
}

// print writes a table in Markdown.
func (t *table) print() {
	fmt.Println("| tool | step | median | least |\n|---|---|---:|---:|")
	for _, row := range t.rows {
		slices.Sort(row.ms)
		fmt.Printf("| %s | %s | %.2f | %.2f |\n", row.tool, row.step, row.ms[len(row.ms)/2], row.ms[0])
	}
}
