mysqlslap --concurrency=50 --iterations=10 --auto-generate-sql -u root -psecret
