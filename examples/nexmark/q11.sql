-- User sessions: the bids of a person without a pause of ten seconds.
SELECT bidder, count(*) AS bid_count, session_window.start AS starttime,
  session_window.end AS endtime
FROM STREAM bid WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS
GROUP BY bidder, session_window(dateTime, '10 seconds')
