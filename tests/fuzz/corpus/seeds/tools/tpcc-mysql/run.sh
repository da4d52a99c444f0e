./tpcc_start -h127.0.0.1 -P3306 -dtpcc -uroot -w100 -c32 -r60 -l600
