parameter {
  name  = "shared_buffers"
  value = "1"
}
x = ["work_mem = 8MB", "-c", "fsync=off"]
journal_mode: 'WAL',
