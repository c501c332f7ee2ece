-- Local item suggestion: who sells in three states. The join remembers both streams for good.
SELECT p.name, p.city, p.state, a.id
FROM STREAM auction AS a JOIN STREAM person AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
