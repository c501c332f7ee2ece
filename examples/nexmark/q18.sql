-- (update mode) The last bid of each bidder on each auction: a maximum, as there is no ranking over a stream.
SELECT auction, bidder, max_by(struct(price, channel, url, dateTime), dateTime) AS last_bid
FROM STREAM bid
GROUP BY auction, bidder
