// runs: deep (not on postgres: a protocol over calls that interface-fit.test.ts tests on both stores)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatalog, shareService } from '../support/shared-service.ts';

/**
 * Shoppers' questions by names or identifiers. The expected answers are computed by brute force, not by the service
 * (§15).
 */
const service = shareService();

const QUESTIONS = 200;
const CALLS = 2;
const TOKENS = 4_000;
/** The vendors' rule of thumb for English: four bytes per token. */
const countTokens = (text: string) => Buffer.byteLength(text) / 4;

interface Part {
  readonly identifier: string;
  readonly name: string;
  readonly kind: 'frame' | 'tyre' | 'chain' | 'pump';
  /** Rim or seat diameter, width or maximum, speeds; undefined: unknown to the shop. */
  readonly diameter?: number;
  readonly width?: number;
  readonly speeds?: number;
}

const from = <Item>(items: readonly Item[], index: number) => items[index % items.length] as Item;

/** Every seventh part lacks its width, and every ninth its speeds. */
const parts: readonly Part[] = Array.from({ length: 240 }, (_, index) => {
  const kind = from(['frame', 'tyre', 'chain', 'pump'] as const, index);
  const modelNumber = Math.floor(index / 4);
  return {
    identifier: `P-${1000 + index}`,
    kind,
    name: `${kind} model ${modelNumber} of the year`,
    ...(kind !== 'pump' && kind !== 'chain' && { diameter: from([559, 584, 622], modelNumber) }),
    ...(modelNumber % 7 > 0 &&
      (kind === 'frame' || kind === 'tyre') && { width: 30 + ((modelNumber * 7) % 31) }),
    ...(modelNumber % 9 > 0 &&
      (kind === 'frame' || kind === 'chain') && { speeds: from([9, 10, 11, 12], modelNumber) }),
  };
});

type Verdict = 'fits' | 'does_not_fit' | 'unknown' | 'no_rule';

/** The lowest of the known values: false, unknown, true. */
function judge(...matches: readonly (boolean | undefined)[]): Verdict {
  if (matches.includes(false)) return 'does_not_fit';
  return matches.includes(undefined) ? 'unknown' : 'fits';
}

const compare = (a: number | undefined, b: number | undefined, holds: (a: number, b: number) => boolean) =>
  a === undefined || b === undefined ? undefined : holds(a, b);

function truth(a: Part, b: Part): Verdict {
  const frame = [a, b].find(({ kind }) => kind === 'frame');
  const other = a === frame ? b : a;
  if (frame === undefined || other.kind === 'frame' || other.kind === 'pump') return 'no_rule';
  if (other.kind === 'chain') return judge(compare(other.speeds, frame.speeds, (left, two) => left === two));
  return judge(
    compare(other.diameter, frame.diameter, (left, two) => left === two),
    compare(other.width, frame.width, (left, two) => left <= two),
  );
}

const upload = ({ identifier, name, kind, diameter, width, speeds }: Part) => ({
  identifier,
  name,
  categories: [{ path: [kind] }],
  attributes: [
    ...(diameter ? [{ key: 'Diameter', value: `${diameter} mm` }] : []),
    ...(width ? [{ key: kind === 'frame' ? 'Widest tyre' : 'Width', value: `${width} mm` }] : []),
    ...(speeds ? [{ key: 'Speeds', value: `${speeds}` }] : []),
  ],
});

const between = (target: Part['kind'], ...match: readonly [string, string, string][]) => ({
  tag: target,
  constraint: true,
  source: { category: ['frame'] },
  target: { category: [target] },
  match: match.map(([target, operator, two]) => ({ target, operator, source: two })),
});

interface Asked {
  readonly verdict: Verdict;
  readonly calls: number;
  readonly tokens: number;
}

/** An agent that gets two names, asks the question and reads the verdict. */
function openAgent(key: string) {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  };
  return async (a: string, b: string): Promise<Asked> => {
    const params = { name: 'check_fit', arguments: { items: [{ identifier: a }, { identifier: b }] } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const response = await fetch(`${service().address}/mcp`, { method: 'POST', headers, body });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { result } = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
    assert.ok(!result.isError, text);
    return { verdict: result.structuredContent.verdict, calls: 1, tokens: countTokens(text) };
  };
}

/** @returns a key of a project with the parts and the rules */
async function openShop(): Promise<string> {
  const project = await createCatalog(service());
  const root = `/management/projects/${project.projectId}`;
  await project.load(...parts.map(upload));
  for (const relation of [
    between('tyre', ['Diameter', 'equals', 'Diameter'], ['Width', 'lessOrEqual', 'Widest tyre']),
    between('chain', ['Speeds', 'equals', 'Speeds']),
  ]) {
    const { status } = await service().call('POST', `${root}/relations`, {
      body: { name: relation.tag, ...relation },
    });
    assert.equal(status, 201);
  }
  for (const task of await project.tasks()) if (task.finishTime === null) await service().ended(task.id);
  const scope = { type: 'project', id: project.projectId };
  const { body: made } = await service().call('POST', '/management/api-keys', {
    body: { name: 'Agent', scope, access: 'read' },
  });

  return made.key;
}

test('an agent answers each of 200 questions whether A fits B correctly, with at most two calls and 4,000 tokens (§15)', async () => {
  const ask = openAgent(await openShop());
  const verdictCounts = new Map<Verdict, number>();
  for (let index = 0; index < QUESTIONS; index += 1) {
    // A frame with a tyre, a chain or a pump. Every tenth question has two parts of any kind.
    const b = from(parts, index % 10 === 9 ? index * 29 : 4 * (index * 7 + 3) + 1 + (index % 3));
    const a = from(parts, 12 * index);
    const name = index % 2 === 0 ? 'identifier' : 'name';
    const { verdict, calls, tokens } = await ask(a[name], b[name]);
    assert.equal(verdict, truth(a, b), `${a.name} with ${b.name}`);
    assert.ok(calls <= CALLS && tokens < TOKENS, `${calls} calls, ${tokens} tokens`);
    verdictCounts.set(verdict, (verdictCounts.get(verdict) ?? 0) + 1);
  }
  for (const verdict of ['fits', 'does_not_fit', 'unknown', 'no_rule'] as const)
    assert.ok((verdictCounts.get(verdict) ?? 0) >= 10, JSON.stringify([...verdictCounts]));
});
