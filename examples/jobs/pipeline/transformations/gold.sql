-- What the dashboard reads.
CREATE MATERIALIZED VIEW totals_per_shop
COMMENT 'All orders so far'
AS SELECT shop, count(*) AS orders, sum(total) AS total FROM orders GROUP BY shop;

CREATE STREAMING TABLE orders_per_hour
AS SELECT window.start AS hour, shop, count(*) AS orders
FROM STREAM orders WATERMARK placed_at DELAY OF INTERVAL 10 MINUTES
GROUP BY window(placed_at, '1 hour'), shop;

CREATE STREAMING TABLE customers;

CREATE FLOW apply_customers AS AUTO CDC INTO customers
FROM STREAM customer_changes
KEYS (id)
APPLY AS DELETE WHEN op = 'D'
SEQUENCE BY seq
COLUMNS * EXCEPT (op, seq)
STORED AS SCD TYPE 2;

CREATE MATERIALIZED VIEW totals_per_city
AS SELECT city, sum(total) AS total
FROM orders JOIN customers ON customer_id = id AND `__END_AT` IS NULL
GROUP BY city;
