import time


def measure(cursor, count):
    took = []
    for n in range(count):
        begin = time.perf_counter()
        try:
            cursor.execute("SELECT a FROM t WHERE id = %s", (n,))
        except Exception:
            took.append(0)
            continue
        took.append(time.perf_counter() - begin)
    return sum(took) / len(took)
