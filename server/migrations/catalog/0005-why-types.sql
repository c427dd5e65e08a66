-- Why a full update gave an attribute its type; null if a person did.
alter table attribute add column reason text;
-- With 'automatic', the next full update judges the values again.
alter table attribute add column typing text;
