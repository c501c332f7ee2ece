-- Bounded side input: a stream joined with a table.
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM STREAM bid AS b JOIN side_input AS s ON b.auction % 10000 = s.key
