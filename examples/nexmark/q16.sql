-- (update mode) Statistics of a channel and day.
SELECT channel, date_format(dateTime, 'yyyy-MM-dd') AS day,
  max(date_format(dateTime, 'HH:mm')) AS minute, count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  approx_count_distinct(bidder) AS total_bidders,
  approx_count_distinct(auction) AS total_auctions
FROM STREAM bid
GROUP BY channel, date_format(dateTime, 'yyyy-MM-dd')
