-- (update mode) Statistics of a day; distinct numbers are approximate, which state can be kept for.
SELECT date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
  count_if(price < 10000) AS rank1_bids,
  count_if(price >= 10000 AND price < 1000000) AS rank2_bids,
  count_if(price >= 1000000) AS rank3_bids,
  approx_count_distinct(bidder) AS total_bidders,
  approx_count_distinct(bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
  approx_count_distinct(auction) AS total_auctions
FROM STREAM bid
GROUP BY date_format(dateTime, 'yyyy-MM-dd')
