sysbench --test=oltp.lua --num-threads=4 --max-time=60 run
