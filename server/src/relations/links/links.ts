/**
 * The door of links: listed relations, as lines of a source and its targets, read, stored in pieces and put in place by tasks.
 */
export * from './link-lines.ts';
export * from './link-tasks.ts';
export { createTableTasks } from './table-tasks.ts';
