-- The ten highest bids of each auction: a rank over a stream, which Spark refuses.
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank
  FROM STREAM bid)
WHERE rank <= 10
