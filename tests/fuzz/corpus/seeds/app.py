import psycopg2


@app.get("/orders")
def orders():
    db = psycopg2.connect(DSN)
    rows = db.cursor().execute("SELECT * FROM orders LIMIT 10")
    db.close()
    return rows
