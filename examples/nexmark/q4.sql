-- Average price of a category: of the highest bids of its auctions, as they are when they close.
SELECT category, closes, avg(final) AS average
FROM (
  SELECT a.category, a.id, window(a.expires, '1 minute') AS closes, max(b.price) AS final
  FROM STREAM auction WATERMARK expires DELAY OF INTERVAL 4 SECONDS AS a
  JOIN STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS AS b
    ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.category, a.id, window(a.expires, '1 minute'))
GROUP BY category, closes
