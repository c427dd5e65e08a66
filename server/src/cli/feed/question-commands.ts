import { setTimeout as delay } from 'node:timers/promises';
import {
  type ExplainedMatch,
  type FitAnswer,
  type ProductRelation,
  RelataError,
  type Task,
  UnreachableError,
} from '@relata/client';
import { signOf } from '../../kernel/comparison-sign.ts';
import { type ConnectionFlags, chooseProject, connect, UsageError } from './connection.ts';
import { print, writeTable } from './terminal.ts';

/** `relata related ID`: shows the related products of every relation with the reasons. */
export async function related(identifier: string, flags: ConnectionFlags & { readonly limit: string }) {
  const connection = connect(flags);
  const limit = Number(flags.limit);
  const projectId = await chooseProject(connection);
  const pendingAnswer = connection.relata.products.relationsOf(projectId, identifier, { limit });
  const relations = await pendingAnswer.then((answer) => answer.relations).catch(absentAt404);
  if (relations === undefined) {
    console.error(`not in the catalog: ${identifier}`);
    return 1;
  }
  if (flags.json) {
    print({ identifier, relations });
    return 0;
  }
  const rows = relations.flatMap(listResults);
  if (rows.length === 0) console.log(`${identifier} has no related products`);
  else console.log(writeTable([['RELATION', '#', 'PRODUCT', 'NAME', 'WHY'], ...rows]));
  return 0;
}

function absentAt404(error: unknown): undefined {
  if (!(error instanceof RelataError) || error.status !== 404) throw error;
}

type Side = NonNullable<ProductRelation['asSource']>;
type Result = Side['results'][number];

function listResults({ name, asSource, asTarget }: ProductRelation): string[][] {
  const list = (side: Side | null | undefined, label: string) =>
    [...Map.groupBy(side?.results ?? [], ({ groupId }) => groupId).values()].map((variants, index) => {
      const [{ identifier, name: product, explain }] = variants as [Result];
      const more =
        variants.length > 1 ? ` +${variants.length - 1} ${variants.length > 2 ? 'variants' : 'variant'}` : '';
      return [label, String(index + 1), identifier, `${product}${more}`, describeReason(explain)];
    });
  return [...list(asSource, name), ...list(asTarget, `${name} (reverse)`)];
}

/** @returns the match as the reason, or, without a match, the conditions of the target side */
function describeReason({ match, target, listed }: Side['results'][number]['explain']): string {
  if (listed) return `listed by ${listed.by} at position ${listed.position}`;
  const matched = match.map(describeMatch);
  const conditions = target.conditions.map(({ values }) => values.join(', ')).filter((text) => text !== '');
  return (matched.length > 0 ? matched : conditions).join('; ');
}

type ExplainedElement = Side['results'][number]['explain']['match'][number];

function describeMatch({ any, together, ...match }: ExplainedElement): string {
  const inner = any ?? together;
  if (inner !== undefined) {
    // Shows the parts that decide: those with the same outcome as the whole.
    const decisive = inner.filter(({ holds }) => holds === match.holds);
    return decisive.map(describeMatch).join(any && match.holds ? ' or ' : ' and ');
  }
  const { source, sourceValues, operator, target, targetValues, ...computed } = match as ExplainedMatch;
  const { targetTerm, sourceTerm } = computed;
  const describeSide = (name: string, values: readonly string[], { times, plus }: Term = {}) => {
    const factor = times === undefined ? '' : `${times} × `;
    return `${factor}${name} ${values.join(', ') || '?'}${plus === undefined ? '' : ` + ${plus}`}`;
  };
  const [left, right] = [
    describeSide(target, targetValues, targetTerm),
    describeSide(source, sourceValues, sourceTerm),
  ];
  const isSame = describeSide('', targetValues, targetTerm) === describeSide('', sourceValues, sourceTerm);
  // Shows a value that is the same on both sides once.
  if (operator === 'equals' && isSame) return left;
  const { verdict } = match as Partial<Judged>;
  const outcome = match.holds ? 'fits' : 'does_not_fit';
  return `${left} ${signOf(operator, verdict === 'unknown' ? verdict : outcome)} ${right}`;
}
type Term = ExplainedMatch['targetTerm'];

/** The exit code if no rule is violated, but a value is missing or no rule applies. */
const UNDECIDED = 4;
const FIT_CODES = { fits: 0, does_not_fit: 1, unknown: UNDECIDED, no_rule: UNDECIDED } as const;

/** `relata fit ID…`: shows for each pair whether the products fit together. @returns the exit code of the verdict */
export async function fit(identifiers: readonly string[], flags: ConnectionFlags): Promise<number> {
  const { relata, projectId } = connect(flags);
  const items = identifiers.map((identifier) => ({ identifier }));
  const answer = await relata.relations.fit({ items }, { projectId });
  if (flags.json) print(answer);
  else {
    const { pairs, totals, unknownIdentifiers, withoutRule, verdict } = answer;
    const lines = [
      ...pairs.map((pair) => [pair.source, pair.target, pair.verdict, describePair(pair)]),
      ...totals.map((total) => [
        total.source,
        total.total.parts.map(({ identifier }) => identifier).join(' + '),
        total.verdict,
        describePair({ ...total, match: [toMatch(total)] }),
      ]),
      ...withoutRule.map(([source = '', target = '']) => [source, target, 'no_rule', '']),
      ...unknownIdentifiers.map((identifier) => [identifier, '', 'unknown', 'not in the catalog']),
    ];
    if (lines.length > 0) console.log(writeTable(lines));
    console.log(verdict);
  }
  return FIT_CODES[answer.verdict];
}

type Judged = FitAnswer['pairs'][number];

/** Describes a total as a match of its sum with the limit. */
const toMatch = ({ operator, verdict, total, limit }: FitAnswer['totals'][number]) => ({
  operator,
  verdict,
  holds: verdict === 'fits',
  targetTerm: total,
  sourceTerm: limit,
  target: `sum of ${total.attribute}`,
  targetValues: [total.sum],
  source: limit.attribute,
  sourceValues: limit.values,
});

/** Describes a pair by the matches of its verdict, or by the missing values if the verdict is unknown. */
function describePair(pair: Pick<Judged, 'relation' | 'match' | 'verdict' | 'missing'>): string {
  const { relation, match, verdict, missing } = pair;
  const decisive = match.filter((element) => element.verdict === verdict).map(describeMatch);
  const lacking = missing.map(({ identifier, attribute }) => `${identifier} has no ${attribute}`);
  return [relation.name, (verdict === 'unknown' ? lacking : decisive).join('; ')].filter(Boolean).join(': ');
}

const POLL_MS = 1_000;

/**
 * `relata tasks`: shows the latest tasks, or with `follow` each change of their states until the command is stopped.
 */
export async function tasks(flags: ConnectionFlags & { readonly follow?: boolean; readonly limit: string }) {
  const { relata, projectId } = connect(flags);
  const query = { ...(projectId !== undefined && { projectId }), limit: Number(flags.limit) };
  const list = async () => (await relata.tasks.list(query)).tasks;
  const show = flags.json ? (task: Task) => JSON.stringify(task) : describeTask;
  if (flags.follow) return follow(list, show);
  const latestTasks = await list();
  console.log(flags.json ? JSON.stringify(latestTasks, null, 2) : latestTasks.map(show).join('\n'));
  return 0;
}

async function follow(list: () => Promise<Task[]>, show: (task: Task) => string): Promise<never> {
  for (const shownStates = new Map<string, string>(); ; await delay(POLL_MS)) {
    const news = (await list()).filter((task) => shownStates.get(task.id) !== stateOf(task));
    for (const task of news.toReversed()) {
      shownStates.set(task.id, stateOf(task));
      console.log(show(task));
    }
  }
}

const stateOf = ({ taskStatus, progress }: Task) => `${taskStatus} ${Math.floor(progress)}`;

function describeTask({ id, taskStatus, progress, name, requestTime, error }: Task): string {
  const requestedAt = new Date(requestTime).toISOString().replace('T', ' ').slice(0, 19);
  const state = taskStatus === 'RUNNING' ? `${taskStatus} ${Math.floor(progress)} %` : taskStatus;
  return [requestedAt, id, state.padEnd(13), name || 'upload', error?.message ?? ''].join('  ').trimEnd();
}

const HINT =
  '  Check the key and the project: --key, RELATA_API_KEY or relata login; --project or RELATA_PROJECT.';

/** @returns the exit code and the lines for an error of one of these commands */
export function describeFailure(error: Error): { code: number; lines: string[] } {
  if (error instanceof UsageError) return { code: 2, lines: [error.message] };
  if (error instanceof UnreachableError)
    return { code: 3, lines: [`${error.message}: ${reasonOf(error.cause)}`] };
  if (!(error instanceof RelataError)) return { code: 1, lines: [error.message] };
  const bad = error.validation.flatMap(({ product, errors }) =>
    errors.map((text) => `  ${product?.identifier ?? 'the body'}: ${text}`),
  );
  const details = error.details.map((text) => `  ${text}`);
  const hints = [401, 403].includes(error.status) ? [HINT] : [];
  return { code: 1, lines: [error.message, ...details, ...bad, ...hints] };
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
