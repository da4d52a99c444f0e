k6 run --vus 30 --duration 2m tests/load.js
