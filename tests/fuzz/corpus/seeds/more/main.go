package main

import (
	"database/sql"
	"time"
)

func run(db *sql.DB) time.Duration {
	begin := time.Now()
	db.Exec("INSERT INTO t (a) VALUES (1)")
	_ = err
	return time.Since(begin)
}
