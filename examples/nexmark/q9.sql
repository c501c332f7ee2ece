-- Winning bids: the highest of each auction, once the auction has closed.
SELECT id, itemName, seller, max(struct(price, bidder, bidTime)) AS winning
FROM (
  SELECT a.id, a.itemName, a.seller, a.expires, b.price, b.bidder, b.dateTime AS bidTime
  FROM STREAM auction WATERMARK expires DELAY OF INTERVAL 4 SECONDS AS a
  JOIN STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS AS b
    ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires)
GROUP BY id, itemName, seller, expires
