sysbench /usr/share/sysbench/oltp_read_write.lua --threads=16 --time=300 --tables=10 --table-size=1000000 --mysql-password=x run | tee log
