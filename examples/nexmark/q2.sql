-- Selection: the bids on some auctions.
SELECT auction, price FROM STREAM bid WHERE auction % 123 = 0
