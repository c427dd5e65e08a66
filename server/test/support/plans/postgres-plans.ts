import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DISTRIBUTED } from '../../../src/storage/postgres/distribution.ts';
import { query } from '../postgres/postgres-server.ts';
import { SELECTIVE, SMALL } from './small-tables.ts';

/**
 * Reads the plans that PostgreSQL ran from its log, so they include plans that a connection reuses. It refuses a plan
 * that reads a list or a table again for each row of another one.
 */

/** Settings of a server that logs every plan. */
export const LOG_PLANS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_format': 'json',
  'auto_explain.log_parameter_max_length': '0',
  // With the arguments of functions.
  'auto_explain.log_verbose': 'on',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_rotation_size: '0',
};

/** The fields of a node that are judged, as PostgreSQL names them. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Function Name'?: string;
  readonly 'Function Call'?: string;
  readonly Alias?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
  readonly 'Subplan Name'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

export interface LoggedPlan {
  readonly 'Query Text': string;
  readonly Plan: PlanNode;
}

/** @returns the plans that the server logged, in order, beginning at `from` */
export async function readPlans(url: string, from = 0): Promise<LoggedPlan[]> {
  const [logFile] = await query<{ folder: string; file: string }>(
    url,
    "select current_setting('data_directory') as folder, pg_current_logfile('jsonlog') as file",
  );
  const lines = (await readFile(join(logFile?.folder ?? '', logFile?.file ?? ''), 'utf8'))
    .split('\n')
    .slice(0, -1);
  const plans = lines.flatMap((line): LoggedPlan[] => {
    const { message } = JSON.parse(line) as { message: string };
    const offset = /^duration: \S+ ms {2}plan:\n/.exec(message)?.[0].length;
    return offset === undefined ? [] : [JSON.parse(message.slice(offset))];
  });
  return plans.slice(from);
}

/**
 * @returns the loops of a plan that grow with the square of a catalog, such as `Function Scan of unnest > Seq Scan of
 * product`
 */
export function judgePlan({ Plan }: LoggedPlan): string[] {
  const refused: string[] = [];
  walk(Plan, { sources: [], aliases: new Set() }, refused);
  return refused;
}

/** The rows for which a part of a plan runs, once for each. */
interface Around {
  readonly sources: readonly string[];
  /** The names of the innermost rows. A function of these rows reads each list once. */
  readonly aliases: ReadonlySet<string>;
}

const NONE: Around = { sources: [], aliases: new Set() };

function walk(node: PlanNode, around: Around, refused: string[]): void {
  const source = sourceOf(node);
  if (source !== undefined && around.sources.length > 0 && !isFunctionOf(node, around))
    refused.push([...around.sources, source].join(' > '));
  const { Plans: children = [], 'Node Type': type } = node;
  const [outer] = type === 'Nested Loop' ? children.filter((child) => relationOf(child) === 'Outer') : [];
  for (const child of children) walk(child, aroundChild(node, child, { around, outer }), refused);
}

const relationOf = (child: PlanNode) => child['Parent Relationship'];

/** @returns the rows for which a child runs, once for each. `outer`: the first side of a nested loop */
function aroundChild(
  node: PlanNode,
  child: PlanNode,
  { around, outer }: { around: Around; outer: PlanNode | undefined },
): Around {
  const relation = relationOf(child);
  if (relation === 'InitPlan' || isHashed(node, child)) return NONE;
  if (relation === 'SubPlan') return within(around, node);
  return relation === 'Inner' && outer !== undefined ? within(around, outer) : around;
}

const within = ({ sources }: Around, outer: PlanNode): Around => ({
  sources: [...sources, ...listSources(outer)],
  aliases: listLast(outer),
});

const isFunctionOf = ({ 'Function Call': call = '' }: PlanNode, { aliases }: Around) =>
  [...call.matchAll(/\b(\w+)\.\w+/g)].some(([, alias = '']) => aliases.has(alias));

/** PostgreSQL runs a hashed subplan once. */
const isHashed = (node: PlanNode, { 'Subplan Name': name }: PlanNode) =>
  name !== undefined && JSON.stringify({ ...node, Plans: [] }).includes(`hashed ${name}`);

const isOfNode = (child: PlanNode) => !/^(?:InitPlan|SubPlan)$/.test(relationOf(child) ?? '');

/** The source of a node's rows, if there are many. */
const listSources = (node: PlanNode): string[] => [
  ...[sourceOf(node) ?? []].flat(),
  ...(node.Plans ?? []).filter(isOfNode).flatMap(listSources),
];

/** @returns the names of the part of a node that is read last */
function listLast(node: PlanNode): Set<string> {
  const last = (node.Plans ?? []).filter(isOfNode).at(-1);
  return new Set([
    ...(node.Alias === undefined ? [] : [node.Alias]),
    ...(last === undefined ? [] : listLast(last)),
  ]);
}

const SCANS = /Scan$/;
const catalogTables = new Set<string>(DISTRIBUTED);

/** @returns undefined unless a node reads many rows, which are all rows or those of a project */
function sourceOf(node: PlanNode): string | undefined {
  const { 'Node Type': type, 'Relation Name': table, 'Function Name': called } = node;
  if (called !== undefined) return `${type} of ${called}`;
  if (!SCANS.test(type) || table === undefined || !catalogTables.has(table) || table in SMALL)
    return undefined;
  const condition = node['Index Cond'] ?? node['Recheck Cond'] ?? '';
  const columns = [...condition.matchAll(/(\w+)\)?(?:::\w+)? (?:=|@@|@>|&&) /g)].map(
    ([, column = '']) => column,
  );
  return columns.some((column) => SELECTIVE.has(column)) ? undefined : `${type} of ${table}`;
}
