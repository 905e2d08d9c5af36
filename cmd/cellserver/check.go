package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/internal/vfs"
	"github.com/cellserver/cellserver/persistence"
)

// check reports on files that cellserver or Redis has written: cellserver check [--fix] FILE... A manifest stands for all
// files that it lists. With --fix it cuts off a torn tail and keeps the original file beside it. It goes on after a file that
// it can't read.
func check(args []string) error {
	var paths []string
	fix := false
	for _, arg := range args {
		if arg == "--fix" {
			fix = true
		} else {
			paths = append(paths, arg)
		}
	}
	if len(paths) == 0 {
		return errors.New("usage: cellserver check [--fix] FILE...")
	}
	options := persistence.LoadOptions{NowNanos: time.Now().UnixNano(), Databases: engine.Databases} // the defaults of a start
	bad := 0
	var unread []error
	for _, path := range paths {
		checked, err := persistence.Check(vfs.OS{}, path, fix, options)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		for i := range checked {
			fmt.Println(&checked[i])
			if checked[i].Err != nil {
				bad++
			}
		}
	}
	if bad > 0 {
		unread = append(unread, fmt.Errorf("%d of the files can't be loaded", bad))
	}
	return errors.Join(unread...)
}
