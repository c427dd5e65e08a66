-- Why a full update gave an attribute its type; null where a person did.
alter table attribute add column reason text;
-- 'automatic': the next full update judges the values anew.
alter table attribute add column typing text;
