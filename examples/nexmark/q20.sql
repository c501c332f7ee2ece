-- Bids with their auctions, of one category.
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_time, a.itemName,
  a.initialBid, a.reserve, a.dateTime AS auction_time, a.expires, a.seller, a.category
FROM STREAM bid AS b JOIN STREAM auction AS a ON b.auction = a.id
WHERE a.category = 10
