-- Hot items: the auction with the most bids of the last ten seconds, every two seconds.
SELECT w.start, w.end, max_by(auction, bids) AS auction, max(bids) AS bids
FROM (
  SELECT auction, window(dateTime, '10 seconds', '2 seconds') AS w, count(*) AS bids
  FROM STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS
  GROUP BY auction, window(dateTime, '10 seconds', '2 seconds'))
GROUP BY w
