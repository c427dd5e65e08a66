-- The paths of the categories in the index, which only has their keys, so that they can be listed.
create table category_path (
  path_key integer primary key,
  path text not null -- catalog/category-path.ts: sorts as the lists of names do
);
create index category_path_by_path on category_path (path);

-- An index without paths is made anew when somebody asks again.
update category_walk set last_document = -1, walked = 0;
