/** Tables of both engines whose number of rows does not grow with the number of products. */
export const SMALL: Readonly<Record<string, string>> = {
  staged_batch: 'a row for each batch of the open full updates',
  undo_log: 'as many as commits can be undone',
  undo_created: 'a row for each batch of these commits',
  catalog: 'a row for each project',
  relation: 'as many as people define',
  relation_build: 'one or two for each relation',
  search_progress: 'a row for each project',
  full_update: 'the open ones, and the last one of each origin',
  arriving_batch: 'batches that are being received',
  task_open: 'an index of the tasks that have not ended',
  webhook_endpoint: 'as many as people define',
};

/** Columns in which few rows of any table have the same value. */
export const SELECTIVE: ReadonlySet<string> = new Set([
  ...['id', 'identifier', 'document_id', 'product_id', 'match_key', 'path', 'name', 'lexeme', 'word'],
  ...['number', 'source', 'target', 'line', 'group_identifier', 'message_number'],
]);
