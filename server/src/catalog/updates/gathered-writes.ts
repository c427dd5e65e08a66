import { randomUUID } from 'node:crypto';
import type { RawBody } from '../../http/http.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { IngestSource } from '../ingest/ingest.ts';
import type { CatalogParts } from '../parts.ts';
import type { FullUpdates } from './full-update.ts';
import type { ProductUpdates } from './product-updates.ts';

export type WriteMode = 'full' | 'incremental' | 'partial' | 'delete';

export interface AcceptRequest {
  /** Holds where it is stricter than the project's. */
  readonly maxDeletePercent: number;
  /** Written in the transaction that accepts. */
  readonly note: (tx: ControlTransaction) => Promise<void>;
}

/** What a long task is about to write, gathered batch by batch. Nothing takes effect before `accept`. */
export interface GatheredWrites {
  /**
   * Takes one batch: a body of products, or in mode delete a JSON list of identifiers.
   * @returns when there is room for one more @throws every refusal of a body; then the batch is not kept
   */
  add(body: RawBody): Promise<void>;
  /** @returns the tasks that write, accepted all at once as parts of the task */
  accept(request: AcceptRequest): Promise<readonly Task[]>;
  /** Discards the gathered writes. */
  discard(): Promise<void>;
}

export interface GatheringParts {
  readonly catalog: CatalogParts;
  readonly fullUpdates: FullUpdates;
  readonly updates: ProductUpdates;
}

/** The pipeline, by the name that it had. */
const authorOf = ({ name }: Task) => ({ type: 'pipeline' as const, id: null, name });

/** Opens what a task gathers; what an earlier run of the same task gathered in a full update is discarded. */
export async function gatherWrites(
  parts: GatheringParts,
  task: Task,
  mode: WriteMode,
): Promise<GatheredWrites> {
  if (mode === 'full') return gatherFullUpdate(parts, task);
  return mode === 'delete' ? gatherDeletes(parts, task) : gatherUpdates(parts, task, mode);
}

async function gatherFullUpdate(
  { catalog, fullUpdates }: GatheringParts,
  task: Task,
): Promise<GatheredWrites> {
  const id = await fullUpdates.openFor(task);
  return {
    add: (body) => fullUpdates.addFor(task, id, body),
    accept: ({ maxDeletePercent, note }) =>
      catalog.tasks.parts.accept(
        task,
        [fullUpdates.commitAsPart(id, { maxDeletePercent, author: authorOf(task) })],
        note,
      ),
    discard: () => fullUpdates.discardOf(task, id),
  };
}

function gatherUpdates(
  { catalog, updates }: GatheringParts,
  task: Task,
  mode: 'incremental' | 'partial',
): GatheredWrites {
  const { projectId } = task;
  const sources: IngestSource[] = [];
  return {
    async add(body) {
      const form = mode === 'partial' ? 'patches' : 'products';
      const { source } = await catalog.ingest.accept(projectId, body, { form });
      sources.push(source);
    },
    accept: ({ note }) => catalog.tasks.parts.accept(task, sources.map(updates.updateAsPart), note),
    async discard() {
      for (const { payloadName } of sources) await catalog.payloads.remove(projectId, payloadName);
    },
  };
}

/** All in one deletion, so that it is guarded and restored as one. */
function gatherDeletes({ catalog, updates }: GatheringParts, task: Task): GatheredWrites {
  const { projectId } = task;
  const names: string[] = [];
  return {
    async add({ bytes }) {
      const name = `${randomUUID()}.identifiers`;
      names.push(name);
      await catalog.payloads.write(projectId, name, bytes);
    },
    accept: ({ maxDeletePercent, note }) =>
      catalog.tasks.parts.accept(
        task,
        [updates.deleteAsPart(names, { maxDeletePercent, author: authorOf(task) })],
        note,
      ),
    async discard() {
      for (const name of names) await catalog.payloads.remove(projectId, name);
    },
  };
}
