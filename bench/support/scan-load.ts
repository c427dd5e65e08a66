/**
 * The cost of checking a body of products and listing its names, by the scan and by the validator, round after round.
 */
import { type CheckedBody, openBody, validateBody } from '../../server/src/catalog/ingest/checked-body.ts';
import { answerParent } from './child-process.ts';

export interface ScanLoad {
  /** The bodies of one catalog, by their written form. */
  readonly forms: Readonly<Record<string, readonly Uint8Array[]>>;
  readonly validated: string;
  readonly rounds: number;
}

/** µs of processor time per product in each round: of the scan by form, and of the validator. */
export interface ScanTimes {
  readonly scan: Readonly<Record<string, number[]>>;
  readonly validator: number[];
}

const WARM_UP_ROUNDS = 3;
const MAX_MIB = 128;

answerParent<ScanLoad>(({ forms, validated, rounds }) => {
  const scan: Record<string, number[]> = Object.fromEntries(Object.keys(forms).map((form) => [form, []]));
  const validator: number[] = [];
  const turns = Object.entries(forms).map(([form, bodies]) => ({
    bodies,
    check: openBody,
    times: scan[form],
  }));
  turns.push({ bodies: forms[validated] ?? [], check: validateBody, times: validator });
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    for (const { bodies, check, times } of turns) {
      const time = measure(bodies, check);
      if (round >= 0) times?.push(time);
    }
    // The garbage of one is collected during the next, so each runs first in turn.
    turns.push(...turns.splice(0, 1));
  }
  return { scan, validator } satisfies ScanTimes;
});

function measure(bodies: readonly Uint8Array[], check: typeof openBody): number {
  const start = readCpu();
  let products = 0;
  for (const bytes of bodies) {
    const body: CheckedBody = check({ bytes, encoding: 'identity', maxMib: MAX_MIB }, 'products');
    body.observeUnknown(new Map());
    body.listPaths();
    products += body.sent;
  }
  return (readCpu() - start) / products;
}

function readCpu(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
