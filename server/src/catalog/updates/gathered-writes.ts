import { randomUUID } from 'node:crypto';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { PartRequest, Task } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { IngestSource } from '../ingest/ingest.ts';
import type { FullUpdates } from './full-update.ts';
import type { ProductDeletes } from './product-deletes.ts';
import type { ProductUpdates } from './product-updates.ts';

export type WriteMode = 'full' | 'incremental' | 'partial' | 'delete';

interface AcceptRequest {
  /** Applies if it is stricter than the limit of the project. */
  readonly maxDeletePercent: number;
  /** Runs in the transaction that accepts the tasks. */
  readonly note: (tx: ControlTransaction) => Promise<void>;
}

/** The writes that a long task gathers, batch by batch. Nothing takes effect before `accept`. */
export interface GatheredWrites {
  /**
   * Adds a batch: a body of products, or in mode delete a JSON list of identifiers.
   * @returns when another batch can be added @throws every refusal of a body; then the batch is not stored
   */
  add(body: RawBody): Promise<void>;
  /** @returns the tasks that write; they are accepted together as parts of the task */
  accept(request: AcceptRequest): Promise<readonly Task[]>;
  discard(): Promise<void>;
}

interface GatheringParts {
  readonly catalog: CatalogParts;
  readonly fullUpdates: Pick<FullUpdates, 'sessions' | 'batches' | 'commit'>;
  readonly updates: ProductUpdates;
  readonly deletes: ProductDeletes;
}

/** Opens the writes of a task, and discards the full update of an earlier run of the same task. */
export async function gatherWrites(
  { catalog: { tasks, ingest, payloads }, fullUpdates, updates, deletes }: GatheringParts,
  task: Task,
  mode: WriteMode,
): Promise<GatheredWrites> {
  const { projectId } = task;
  /** The pipeline of the task, with its name as stored in the task. */
  const author = { type: 'pipeline' as const, id: null, name: task.name };
  const acceptOne = (part: PartRequest, { note }: AcceptRequest) => tasks.parts.accept(task, [part], note);
  const limitsOf = ({ maxDeletePercent }: AcceptRequest) => ({ maxDeletePercent, author });
  if (mode === 'full') {
    const { sessions, batches, commit } = fullUpdates;
    const id = await sessions.openFor(task);
    return {
      add: (body) => batches.addFor(task, id, body),
      accept: (request) => acceptOne(commit.asPart(id, limitsOf(request)), request),
      discard: () => sessions.discardOf(task, id),
    };
  }
  const names: string[] = [];
  const discard = async () => {
    for (const name of names) await payloads.remove(projectId, name);
  };
  // Gathers all identifiers for one deletion, which the delete guard checks and a restore undoes as a whole.
  if (mode === 'delete')
    return {
      async add({ bytes }) {
        const name = `${randomUUID()}.identifiers`;
        names.push(name);
        await payloads.write(projectId, name, bytes);
      },
      accept: (request) => acceptOne(deletes.asPart(names, limitsOf(request)), request),
      discard,
    };
  const form = mode === 'partial' ? 'patches' : 'products';
  const sources: IngestSource[] = [];
  return {
    async add(body) {
      const { source } = await ingest.accept({ projectId, body, form });
      sources.push(source);
      names.push(source.payloadName);
    },
    accept({ note }) {
      const requests = sources.map((source) => updates.asPart(source));
      return tasks.parts.accept(task, requests, note);
    },
    discard,
  };
}
