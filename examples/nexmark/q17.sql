-- (update mode) Statistics of an auction and day.
SELECT auction, date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price,
  sum(price) AS sum_price
FROM STREAM bid
GROUP BY auction, date_format(dateTime, 'yyyy-MM-dd')
