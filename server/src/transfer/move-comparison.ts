import { hash } from 'node:crypto';
import type { Counters, UnitSize } from './move-driver.ts';
import type { MoveEnd } from './move-end.ts';
import { describeUnit, MoveMeter, measureEnd, type Report, type SourceContent } from './move-meter.ts';
import { packRow } from './move-tables.ts';

interface ComparedEnds {
  readonly source: MoveEnd;
  readonly target: MoveEnd;
  /** @throws Error if a process now serves PostgreSQL */
  refuseServed(): Promise<void>;
}

/**
 * Reads both stores again in full. Compares the counts and hashes of each table of each catalog, the bodies, and the
 * next numbers.
 * @returns a sentence for each difference
 */
export async function compareAll(
  ends: ComparedEnds,
  content: SourceContent,
  onProgress: Report,
): Promise<string[]> {
  const { source, target } = ends;
  const surplus = new Map((await measureEnd(target, onProgress)).map((unit) => [describeUnit(unit), unit]));
  const meter = new MoveMeter('comparing', content, onProgress);
  const differences: string[] = [];
  for (const unit of content.units) {
    const name = describeUnit(unit);
    surplus.delete(name);
    const [expected, present] = [await digest(source, unit, meter), await digest(target, unit, meter)];
    if (expected.rows !== present.rows)
      differences.push(`${name}: ${expected.rows} rows in ${source.name}, ${present.rows} in ${target.name}`);
    else if (expected.sum !== present.sum) differences.push(`${name}: the ${present.rows} rows differ`);
  }
  for (const [name, { rows }] of surplus)
    differences.push(`${name}: ${rows} rows in ${target.name} that ${source.name} does not have`);
  differences.push(...compareCounters(await source.readCounters(), await target.readCounters()));
  differences.push(...(await comparePayloads(ends, content, meter)));
  // A process may have started on PostgreSQL after the first check; nothing prevents it.
  await ends.refuseServed();
  return differences;
}

/**
 * Hashes rows as the sum of the SHA-256 of each row. The hash does not depend on the order of rows, because collations
 * and engines may sort differently. Text and bytes of the same content have the same hash.
 */
async function digest(end: MoveEnd, unit: UnitSize, meter: MoveMeter) {
  const sum = new BigUint64Array(4);
  let rows = 0;
  for (let page = await end.read(unit, undefined); page; page = await end.read(unit, page.end)) {
    for (const row of page.rows) {
      const lanes = hash('sha256', packRow(row, unit.table.columns), 'buffer');
      // The typed array wraps around by itself.
      for (const lane of sum.keys()) sum[lane] = (sum[lane] ?? 0n) + lanes.readBigUInt64BE(lane * 8);
    }
    rows += page.rows.length;
    meter.addRows(unit, page.rows.length);
  }
  return { rows, sum: sum.join() };
}

function compareCounters(source: Counters, target: Counters): string[] {
  return [...new Set([...source.keys(), ...target.keys()])].flatMap((table) => {
    const [expected, present] = [source.get(table) ?? 0, target.get(table) ?? 0];
    return expected === present ? [] : [`${table}: the last assigned number is ${expected}, not ${present}`];
  });
}

async function comparePayloads(
  { source, target }: ComparedEnds,
  { payloads }: SourceContent,
  meter: MoveMeter,
) {
  const differences: string[] = [];
  const surplus = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of payloads) {
    const { name, projectId, bytes } = payload;
    const isThere = surplus.delete(name);
    const digestOf = async (end: MoveEnd) => hash('sha256', await end.readPayload(payload));
    if (!isThere || (await digestOf(source)) !== (await digestOf(target)))
      differences.push(`project ${projectId}, the body ${name} of an open task is missing or differs`);
    meter.addBody(2 * bytes);
  }
  for (const name of surplus) differences.push(`the body ${name} is in ${target.name} only`);
  return differences;
}
