import ts from 'typescript';
import { readMigrations } from '../../../src/storage/migrations/migrations.ts';
import { DISTRIBUTED } from '../../../src/storage/postgres/distribution.ts';

/**
 * Finds SQL in a source that a distributed database refuses or sends to every worker, without such a database. It reads
 * SQL literals as written and judges a statement by its parts: a part that names a catalog table must also name the
 * project. Source: docs.citusdata.com, "SQL Support and Workarounds", and the answers of 13.2.2.
 */
export interface RefusedSql {
  readonly line: number;
  readonly rule: string;
  readonly text: string;
}

const distributed = new Set<string>(DISTRIBUTED);
/** Tables on the coordinator: those of the embedded store's control database, and two that it lacks. */
export const coordinated: ReadonlySet<string | undefined> = new Set([
  ...readMigrations('control').flatMap(({ sql }) =>
    [...sql.matchAll(/^create table (\w+)/gm)].map(([, name]) => name),
  ),
  ...['service', 'rate_window'],
]);

/** A table in a statement, with its alias. */
const NAMED =
  /\b(from|join|update|into|copy)\s+(\w+)(?:\s+(?:as\s+)?(?!where\b|set\b|on\b|order\b|cross\b|join\b|left\b|limit\b|values\b|select\b|union\b|group\b|for\b)(\w+))?/g;
/** Whether the file is worth parsing. */
const MENTIONS = new RegExp(
  `(?:\\b(?:from|join|update|into|copy|table)\\s|From|Into|Table|Join)\\W*(?:${DISTRIBUTED.join('|')})\\b|force_generic_plan|set_config`,
);
const VOLATILE = /\b(?:clock_timestamp|now|random|gen_random_uuid|nextval)\(/;
const CHANGES = /^\s*(?:update|delete from|insert into)\b/;

export function findRefused(path: string, source: string): RefusedSql[] {
  if (!MENTIONS.test(source)) return [];
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const conditions = listConditions(file);
  const refusals: RefusedSql[] = [];
  const visit = (node: ts.Node): void => {
    // Files have their own statements.
    if (ts.isPropertyAssignment(node) && node.name.getText(file) === 'sqlite') return;
    const { rules, text } = judgeNode(node, file, conditions);
    const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
    refusals.push(...rules.map((rule) => ({ line, rule, text })));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return refusals;
}

function judgeNode(node: ts.Node, file: ts.SourceFile, conditions: ReadonlyMap<string, string>) {
  if (ts.isTemplateLiteral(node) || ts.isStringLiteral(node)) {
    const text = writeLiteral(node, file, conditions);
    return { text, rules: judge(text) };
  }
  const table = ts.isCallExpression(node) ? findBuilderTable(node, file) : undefined;
  const isOfCatalog = table !== undefined && distributed.has(table);
  return {
    text: table ?? '',
    rules: isOfCatalog ? [`${table} is read or written by the builder of the service's own tables`] : [],
  };
}

/** The text as it is in the statement. `own('p')` is a condition on the project. */
function writeLiteral(
  node: ts.TemplateLiteral | ts.StringLiteral,
  file: ts.SourceFile,
  conditions: ReadonlyMap<string, string>,
): string {
  if (!ts.isTemplateExpression(node)) return node.getText(file).slice(1, -1);
  const holes = node.templateSpans.map(({ expression, literal }) => {
    const hole = expression.getText(file);
    const named = conditions.get(/^\w+/.exec(hole)?.[0] ?? '') ?? '';
    // A nested literal is judged separately.
    return `${hole === 'PROJECT' ? '$1' : `$0 ${readConditions(hole)}${named}`}${literal.text}`;
  });
  return node.head.text + holes.join('');
}

/** @returns the conditions of a text on the project of rows */
const readConditions = (text: string): string =>
  [...text.matchAll(/\bown\((?:'(\w+)')?\)|\b(?:(\w+)\.)?project_id (?:=|in\b)/g)]
    .map(([, own, alias]) => ` ${own ?? alias ?? ''}${(own ?? alias) ? '.' : ''}project_id = `)
    .join('');

/** @returns the conditions in each constant and function of a file, by name. Statements with that name include them. */
function listConditions(file: ts.SourceFile): Map<string, string> {
  const declared: (readonly [string, string])[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) && node.name !== undefined)
      declared.push([node.name.getText(file), node.getText(file)]);
    ts.forEachChild(node, visit);
  };
  visit(file);
  const conditions = new Map<string, string>();
  if (!/\bown\(|project_id/.test(file.text)) return conditions;
  // Declarations inherit the conditions of other declarations.
  for (let before = -1; before < conditions.size; ) {
    before = conditions.size;
    for (const [name, text] of declared) {
      if (conditions.has(name)) continue;
      const taken = [...text.matchAll(/(?:\$\{|[?:=] )(\w+)/g)].map(
        ([, other = '']) => conditions.get(other) ?? '',
      );
      const ownConditions = readConditions(text) + taken.join('');
      if (ownConditions !== '') conditions.set(name, ownConditions);
    }
  }
  return conditions;
}

/** A statement, with the tables that it names. */
interface Statement {
  readonly text: string;
  readonly rows: readonly NamedTable[];
  readonly other: NamedTable | undefined;
}

interface NamedTable {
  readonly word: string;
  readonly table: string;
  readonly alias: string | undefined;
}

/** Patterns that are refused in any text. */
const OF_TEXTS: readonly (readonly [string, (text: string) => boolean])[] = [
  [
    'a plan without values cannot choose the worker',
    (text) => text.includes('force_generic_plan') && !text.includes('citus.version'),
  ],
  ['workers get settings only by `set local`', (text) => text.includes("set_config('enable_")],
];

/** Patterns that are refused in statements on rows of catalogs. `table` is one of those tables. */
const OF_STATEMENTS: readonly ((statement: Statement, table: string) => string | false | undefined)[] = [
  ({ other }, table) => other && `${table} is joined with ${other.table}, whose rows lie on the coordinator`,
  ({ text }, table) => /\bskip locked\b/.test(text) && `rows of ${table} are locked with skip locked`,
  ({ text }, table) =>
    CHANGES.test(text) &&
    !/\bvalues\s*\(/.test(text) &&
    VOLATILE.test(text) &&
    `${table} is changed by a function whose value differs from call to call`,
  ({ text }, table) =>
    /\bvalues\s*\((?:[^()]|\([^()]*\))*\(\s*select\b/.test(text) && `a query is among the values of ${table}`,
  ({ text }, table) =>
    /\b(?:lock table|truncate|declare|listen)\b/.test(text) && `${table} is locked or emptied as a whole`,
];

function judge(text: string): string[] {
  const named = [...text.matchAll(NAMED)].map(([, word = '', table = '', alias]) => ({ word, table, alias }));
  const rows = named.filter(({ table }) => distributed.has(table));
  const rules = OF_TEXTS.flatMap(([rule, has]) => (has(text) ? rule : []));
  const [row] = rows;
  if (row === undefined) return rules;
  const statement = { text, rows, other: named.find(({ table }) => coordinated.has(table)) };
  return [
    ...rules,
    ...rows.flatMap((row) =>
      isOfProject(text, row) ? [] : `${row.table} is named without a condition on its project_id`,
    ),
    ...OF_STATEMENTS.map((rule) => rule(statement, row.table)).filter((rule) => typeof rule === 'string'),
  ];
}

function isOfProject(text: string, { word, alias }: NamedTable): boolean {
  if (word === 'into' || word === 'copy') return /\(\s*project_id\b/.test(text) || text.includes('$0');
  const names = `(?<![\\w.])(?:${alias ?? '\\w+'}\\.)?`;
  return new RegExp(`${names}project_id (?:=|in\\b)|= ${names}project_id\\b`).test(text);
}

const BUILDERS = /\.(?:selectFrom|insertInto|updateTable|deleteFrom|innerJoin|leftJoin)$/;

/** @returns the table of a Kysely call */
function findBuilderTable(node: ts.CallExpression, file: ts.SourceFile): string | undefined {
  const [first] = node.arguments;
  if (!BUILDERS.test(node.expression.getText(file)) || first === undefined || !ts.isStringLiteral(first))
    return undefined;
  return first.text.split(' ')[0];
}

/** Finds the same in the `create table` statements of migrations, unless a later migration drops the table. */
export function findRefusedTables(migrations: string): string[] {
  const tables = [...migrations.matchAll(/^create table (\w+) \(\n(.*?)^\)/gms)].map(
    ([, name = '', body = '']) => ({ name, body }),
  );
  const isDropped = (name: string) => new RegExp(`^drop table ${name};`, 'm').test(migrations);
  const unlisted = tables.filter(
    ({ name }) => !distributed.has(name) && !coordinated.has(name) && !isDropped(name),
  );
  const spread = tables.filter(({ name }) => distributed.has(name));
  const alone = spread.filter(({ body }) => /\b(?:identity|serial|references)\b/.test(body));
  const keyed = spread.filter(
    ({ body }) => !/primary key \(project_id\b|project_id bigint primary key/.test(body),
  );
  const unique = [...migrations.matchAll(/^create unique index \w+ on (\w+) \((\w+)/gm)].filter(
    ([, name = '', column]) => distributed.has(name) && column !== 'project_id',
  );
  return [
    ...unlisted.map(({ name }) => `${name} is in no list of distribution.ts`),
    ...alone.map(({ name }) => `${name} counts by itself or refers to a table`),
    ...keyed.map(({ name }) => `the key of ${name} does not begin with project_id`),
    ...unique.map(([, name]) => `${name} has a unique index that does not begin with project_id`),
  ];
}
