import { hash } from 'node:crypto';
import type { Counters, MovedPayload, MoveEnd, Unit, UnitSize } from './move-ends.ts';
import { describeUnit, type MoveMeter } from './move-meter.ts';
import { type MovedRow, RowDigest } from './move-rows.ts';

export interface Compared {
  readonly units: readonly UnitSize[];
  /** What the target has, counted. */
  readonly targetUnits: readonly UnitSize[];
  readonly payloads: readonly MovedPayload[];
}

/**
 * Reads both stores again, whole, and compares counts and hashes of each table of each catalog, the bodies, and the
 * numbers that come next. @returns what differs, a sentence each
 */
export async function compareEnds(
  { source, target }: { source: MoveEnd; target: MoveEnd },
  { units, targetUnits, payloads }: Compared,
  meter: MoveMeter,
): Promise<string[]> {
  const differences: string[] = [];
  const surplus = new Map(targetUnits.map((unit) => [describeUnit(unit), unit]));
  for (const unit of units) {
    surplus.delete(describeUnit(unit));
    const [wanted, found] = [await digest(source, unit, meter), await digest(target, unit, meter)];
    if (wanted.rows !== found.rows) {
      differences.push(
        `${describeUnit(unit)}: ${wanted.rows} rows in ${source.name}, ${found.rows} in ${target.name}`,
      );
    } else if (`${wanted}` !== `${found}`) {
      differences.push(`${describeUnit(unit)}: the ${found.rows} rows differ`);
    }
  }
  for (const [name, { rows }] of surplus)
    differences.push(`${name}: ${rows} rows in ${target.name} that ${source.name} does not have`);
  differences.push(...compareCounters(await source.readCounters(), await target.readCounters()));
  differences.push(...(await comparePayloads({ source, target }, payloads, meter)));
  return differences;
}

async function digest(end: MoveEnd, unit: UnitSize, meter: MoveMeter): Promise<RowDigest> {
  const rows = new RowDigest(unit.table);
  let place: MovedRow | undefined;
  for (;;) {
    const page = await end.read(unit as Unit, place);
    if (page === undefined) return rows;
    for (const row of page.rows) rows.add(row);
    meter.addRows(unit, page.rows.length);
    place = page.end;
  }
}

function compareCounters(source: Counters, target: Counters): string[] {
  const tables = [...new Set([...source.keys(), ...target.keys()])];
  return tables.flatMap((table) => {
    const [wanted, found] = [source.get(table) ?? 0, target.get(table) ?? 0];
    return wanted === found ? [] : [`${table}: the last number given is ${wanted}, not ${found}`];
  });
}

async function comparePayloads(
  { source, target }: { source: MoveEnd; target: MoveEnd },
  payloads: readonly MovedPayload[],
  meter: MoveMeter,
): Promise<string[]> {
  const differences: string[] = [];
  const surplus = new Set((await target.listPayloads()).map(({ name }) => name));
  for (const payload of payloads) {
    const { name, projectId, bytes } = payload;
    const isThere = surplus.delete(name);
    const isSame = isThere && (await hashPayload(source, payload)) === (await hashPayload(target, payload));
    if (!isSame)
      differences.push(`project ${projectId}, the body ${name} of an open task is missing or differs`);
    meter.addBody(2 * bytes);
  }
  for (const name of surplus) differences.push(`the body ${name} is in ${target.name} only`);
  return differences;
}

async function hashPayload(end: MoveEnd, payload: MovedPayload): Promise<string> {
  return hash('sha256', await end.readPayload(payload));
}
