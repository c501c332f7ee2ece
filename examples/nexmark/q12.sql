-- Windows of ten seconds; the original counts by the clock of the machine, this by event time.
SELECT bidder, count(*) AS bid_count, window.start AS starttime, window.end AS endtime
FROM STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS
GROUP BY bidder, window(dateTime, '10 seconds')
