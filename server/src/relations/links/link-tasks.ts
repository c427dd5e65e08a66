import { randomUUID } from 'node:crypto';
import type { ChangeOrder, DeleteLimit } from '../../catalog/catalog.ts';
import { type GatheredWrites, isGuarded, refuseDeletes } from '../../catalog/updates/updates.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type Base, type ControlTransaction, mayBeStored } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import { isListed, type Relation } from '../relation-definitions/relation-definitions.ts';
import type { LinkLine } from './link-lines.ts';

/**
 * Puts lists of links in place by tasks, in the order of the project's tasks. Source: docs/interface §12.8.
 */

/** `change` replaces only the targets of the sources that the list names. */
export type LinkMode = 'replace' | 'change';

/** A list of links in the form in which it arrives. */
export interface SentLinks extends RawBody {
  readonly relationId: number;
  readonly maxMib: number;
  /** Whether to count the pairs that already exist. */
  readonly isCounted: boolean;
}

export interface AcceptedLinks {
  /** The pieces of the list in order; each is a JSON list of lines. */
  readonly payloadNames: readonly string[];
  /**
   * The number of pairs in the relation; 0 if not counted. `unchanged` is the number of these pairs that
   * the list contains.
   */
  readonly present: number;
  readonly unchanged: number;
}

export interface StagedPiece {
  /** The build of the staged list. */
  readonly build: number;
  /** A JSON list of lines; the writing thread parses it. */
  readonly list: Uint8Array;
}

export interface LinkOrder extends ChangeOrder, DeleteLimit {
  readonly relationId: number;
  readonly mode: LinkMode;
  readonly staged: number;
}

export interface ListSize {
  readonly sources: number;
  readonly pairs: number;
}

export type LinkResult =
  | ({ readonly kind: 'done' } & ListSize & Record<'created' | 'deleted' | 'unchanged', number>)
  | { readonly kind: 'guarded'; readonly present: number; readonly deleted: number }
  /** The relation no longer exists. */
  | { readonly kind: 'missing' };

export interface LinkPage {
  readonly relationId: number;
  /** If set, reads only the line of this source. */
  readonly source: string | undefined;
  /** The number of the last line of the previous page. */
  readonly after: number;
  readonly limit: number;
}

export interface ReadLine extends LinkLine {
  readonly line: number;
}

/** The store of lists. `relation-store/link-store.ts` describes what each method does. */
interface LinkStore {
  find(projectId: number, id: number): Promise<Relation | undefined>;
  acceptLinks(projectId: number, sent: SentLinks): Promise<AcceptedLinks>;
  beginLinks(projectId: number, relationId: number): Promise<number | undefined>;
  stageLinks(projectId: number, piece: StagedPiece): Promise<string>;
  applyLinks(projectId: number, order: LinkOrder): Promise<LinkResult>;
  freeLinks(projectId: number, build: number): Promise<void>;
  readLinks(projectId: number, page: LinkPage): Promise<readonly ReadLine[] | undefined>;
}

export interface LinkTaskParts extends Pick<Base, 'clock' | 'payloads'> {
  readonly store: LinkStore;
  readonly tasks: Tasks;
  readonly maxMib: number;
  getSettings(projectId: number): Promise<{ readonly maxDeletePercent: number }>;
  /** Removes staged lists that no task uses. */
  dropOld(projectId: number): Promise<void>;
}

/** How many lines an export reads in one step. */
const EXPORTED_LINES = 500;

interface LinkPayload {
  readonly relationId: number;
  readonly mode: LinkMode;
  /** The pieces of the list in order. */
  readonly payloadNames: readonly string[];
  readonly allowDeletes?: number;
  /** The limit of a pipeline. It applies if it is stricter than the limit of the project. */
  readonly maxDeletePercent?: number;
}

export interface AcceptedList {
  readonly relationId: number;
  readonly mode: LinkMode;
  readonly body: RawBody;
  readonly allowDeletes: number | undefined;
  readonly record: (tx: ControlTransaction, task: Task) => Promise<void>;
}

/** Gathers lists of lines for a long task. The lists are stored until the task that writes them has ended. */
export function gatherPieces(payloads: Payloads, projectId: number, kind: 'links' | 'table') {
  const payloadNames: string[] = [];
  return {
    payloadNames,
    async add({ bytes }: RawBody) {
      const name = `${kind}-${randomUUID()}`;
      payloadNames.push(name);
      await payloads.write(projectId, name, bytes);
    },
    discard: () => removeAll(payloads, projectId, payloadNames),
  };
}

type Payloads = Base['payloads'];

export async function removeAll(payloads: Payloads, projectId: number, names: readonly string[]) {
  for (const name of names) await payloads.remove(projectId, name);
}

const PAIRS = { plural: 'pairs', update: 'list of links', call: 'links' };

/** The links of relations: accepts lists, puts them in place and exports them. */
export class RelationLinks {
  private readonly parts: LinkTaskParts;
  private readonly task: TaskDefinition<LinkPayload> = {
    kind: 'relations.links',
    name: 'relation links',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: true,
    run: (payload, run) => this.run(payload, run),
    ended: ({ payloadNames }, { projectId }) => removeAll(this.parts.payloads, projectId, payloadNames),
  };

  constructor(parts: LinkTaskParts) {
    this.parts = parts;
    parts.tasks.define([this.task]);
  }

  /** @throws not_found, links_of_rule */
  async find(projectId: number, id: number): Promise<Relation> {
    const relation = await this.parts.store.find(projectId, id);
    if (relation === undefined) throw new ServiceError('not_found');
    if (isListed(relation.definition)) return relation;
    throw new ServiceError('links_of_rule', { values: [id] });
  }

  /**
   * Accepts a list for a relation, which a task puts in place. Stores nothing if it throws.
   * @throws not_found, links_of_rule, every refusal of a list, delete_guard, deletes_not_exact
   */
  async accept(project: ChosenProject, { relationId, mode, body, allowDeletes, record }: AcceptedList) {
    const { tasks, store, maxMib, getSettings } = this.parts;
    await this.find(project.id, relationId);
    const { maxDeletePercent } = await getSettings(project.id);
    const limits = { maxDeletePercent, allowDeletes };
    const isCounted = mode === 'replace' && (allowDeletes !== undefined || maxDeletePercent < 100);
    const sent = { relationId, ...body, maxMib, isCounted };
    const { payloadNames, present, unchanged } = await store.acceptLinks(project.id, sent);
    try {
      const deleted = present - unchanged;
      if (isCounted && isGuarded(limits, present, deleted))
        throw refuseDeletes({ present, deleted, things: PAIRS }, limits);
      const payload = { relationId, mode, payloadNames, ...(allowDeletes !== undefined && { allowDeletes }) };
      return await tasks.accept(this.task, { project, payload, alongside: record });
    } catch (error) {
      if (!mayBeStored(error)) await removeAll(this.parts.payloads, project.id, payloadNames);
      throw error;
    }
  }

  /**
   * @returns the writes of a list that a long task, such as a run of a pipeline, will put in place: JSON
   * lists of lines
   * @throws not_found, links_of_rule
   */
  async gather(task: Task, relationId: number): Promise<GatheredWrites> {
    const { payloads, tasks } = this.parts;
    await this.find(task.projectId, relationId);
    const { payloadNames, ...pieces } = gatherPieces(payloads, task.projectId, 'links');
    return {
      ...pieces,
      accept: ({ maxDeletePercent, note }) => {
        const payload: LinkPayload = { relationId, mode: 'replace', payloadNames, maxDeletePercent };
        return tasks.parts.accept(task, [{ definition: this.task, payload }], note);
      },
    };
  }

  /** @returns lines in order, page by page @throws not_found if the relation is deleted in the meantime */
  async *read(projectId: number, list: Pick<LinkPage, 'relationId' | 'source'>) {
    for (let after = 0; ; ) {
      const page = await this.parts.store.readLinks(projectId, { ...list, after, limit: EXPORTED_LINES });
      if (page === undefined) throw new ServiceError('not_found');
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last.line;
    }
  }

  private async run(payload: LinkPayload, run: TaskRun): Promise<void> {
    const { store, clock, getSettings, dropOld } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    const { relationId, mode, allowDeletes, maxDeletePercent: own = 100 } = payload;
    const staged = await store.beginLinks(projectId, relationId);
    if (staged === undefined) throw refuseUnknown(relationId);
    try {
      await this.stage(payload, run, staged);
      const { maxDeletePercent } = await getSettings(projectId);
      const limits = { maxDeletePercent: Math.min(maxDeletePercent, own), allowDeletes };
      const order = { taskNumber, at: clock.now(), relationId, mode, staged, ...limits };
      const result = await run.takeEffect(() => store.applyLinks(projectId, order));
      if (result.kind === 'missing') throw refuseUnknown(relationId);
      const limitOf = own < maxDeletePercent ? 'pipeline' : 'project';
      if (result.kind === 'guarded') throw refuseDeletes({ ...result, things: PAIRS }, limits, limitOf);
      await logResult(run, result);
    } finally {
      await store.freeLinks(projectId, staged);
      void dropOld(projectId);
    }
  }

  private async stage({ payloadNames }: LinkPayload, run: TaskRun, build: number): Promise<void> {
    const { store, payloads } = this.parts;
    const { projectId } = run.task;
    for (const [index, name] of payloadNames.entries()) {
      run.signal.throwIfAborted();
      const list = await payloads.read(projectId, name);
      const report = await store.stageLinks(projectId, { build, list });
      for (const line of report.split('\n')) if (line !== '') run.report(line);
      await run.progress((80 * (index + 1)) / payloadNames.length);
    }
  }
}

const refuseUnknown = (relationId: number) =>
  new ServiceError('not_found', `relation ${relationId} does not exist or has no links`);

async function logResult(run: TaskRun, result: Extract<LinkResult, { kind: 'done' }>): Promise<void> {
  const { sources, pairs, created, deleted, unchanged } = result;
  await run.log(
    `created ${created}, deleted ${deleted}, unchanged ${unchanged} pairs: now ${pairs} of ${sources} sources`,
  );
  run.count({ created, deleted, unchanged, pairs, sources });
}
