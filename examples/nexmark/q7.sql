-- Highest bid of every ten seconds: the bids joined with their period's highest price.
SELECT b.auction, b.price, b.bidder, b.w.end AS dateTime, b.extra
FROM (
  SELECT auction, price, bidder, extra, window(dateTime, '10 seconds') AS w
  FROM STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS) AS b
JOIN (
  SELECT window(dateTime, '10 seconds') AS w, max(price) AS price
  FROM STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS
  GROUP BY window(dateTime, '10 seconds')) AS highest
ON b.price = highest.price AND b.w = highest.w
