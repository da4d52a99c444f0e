fio --name=x --rw=randwrite --bs=4k --direct=0 --size=1G --runtime=60 --ioengine=libaio --iodepth=16
