working_mode = small_03
warm_time = 30
test_time = 180
init_docs = 100000
