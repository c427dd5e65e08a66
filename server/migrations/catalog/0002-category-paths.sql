-- The paths of the categories, because the index only has their keys and cannot list them.
create table category_path (
  path_key integer primary key,
  path text not null -- catalog/category-path.ts: sorts as the lists of names do
);
create index category_path_by_path on category_path (path);

-- The next request builds an index without paths again.
update category_walk set last_document = -1, walked = 0;
