-- New users that sell: persons and auctions of the same ten seconds.
SELECT p.id, p.name, p.w.start AS starttime
FROM (
  SELECT id, name, window(dateTime, '10 seconds') AS w
  FROM STREAM person WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS) AS p
JOIN (
  SELECT seller, window(dateTime, '10 seconds') AS w
  FROM STREAM auction WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS) AS a
ON p.id = a.seller AND p.w = a.w
