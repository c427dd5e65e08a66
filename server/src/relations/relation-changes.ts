import type { ChosenProject } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type Recognisable, recognise } from '../kernel/recognise.ts';
import { refuseOtherState } from '../storage/storage.ts';
import type { RelationBuilds } from './memberships/memberships.ts';
import {
  isIndexed,
  markOfRelation,
  type Relation,
  type RelationDefinition,
  type RemovedRelation,
  ruleOf,
} from './relation-definitions/relation-definitions.ts';
import type { RelationStore } from './relation-threads/relation-threads.ts';

/** Changes definitions, and builds the index that a changed rule needs. */
export class RelationChanges {
  private readonly store: RelationStore;
  private readonly builds: RelationBuilds;
  private readonly clock: Clock;

  constructor(parts: { store: RelationStore; builds: RelationBuilds; clock: Clock }) {
    this.store = parts.store;
    this.builds = parts.builds;
    this.clock = parts.clock;
  }

  /** @throws not_found */
  async get(projectId: number, id: number): Promise<Relation> {
    const relation = await this.store.find(projectId, id);
    if (relation === undefined) throw new ServiceError('not_found');
    return relation;
  }

  /** @throws not_found, changed_meanwhile */
  async save(
    project: ChosenProject,
    definition: RelationDefinition,
    { id, expected }: Partial<RemovedRelation> = {},
  ): Promise<Relation> {
    const { store, builds, clock } = this;
    const present = id === undefined ? undefined : await this.getExpected(project.id, { id, expected });
    const keep = () => store.saveRelation(project.id, { id, expected, definition, now: clock.now() });
    if (present !== undefined) refuseOtherKind(present.definition, definition);
    const saved = await (isBuilt(present, definition) ? keep() : builds.changeAndBuild(project, keep));
    if (saved === undefined) throw new ServiceError('not_found');
    return saved;
  }

  /**
   * Checks the expected state early, to save a task that would build nothing. The store checks it again in
   * its transaction.
   */
  private async getExpected(projectId: number, { id, expected }: RemovedRelation): Promise<Relation> {
    const relation = await this.get(projectId, id);
    refuseOtherState(expected, markOfRelation(relation));
    return relation;
  }

  /** @throws not_found, changed_meanwhile */
  async remove(projectId: number, removed: RemovedRelation): Promise<void> {
    if (!(await this.store.deleteRelation(projectId, { ...removed, now: this.clock.now() })))
      throw new ServiceError('not_found');
    void this.builds.dropOld(projectId);
  }

  /**
   * Replaces the whole list: deletes every relation that the list does not have.
   * @returns the relations after the import
   * @throws request_invalid for an id that two entries have
   */
  async importAll(project: ChosenProject, sent: readonly SentRelation[]): Promise<readonly Relation[]> {
    refuseRepeatedIds(sent);
    const present = await this.store.list(project.id);
    const { matched, missing } = recognise(
      sent.map(identityOf),
      present.map((relation) => ({ ...identityOf(relation), relationId: relation.id })),
    );
    for (const [index, { definition }] of sent.entries())
      await this.save(project, definition, { id: matched[index]?.relationId });
    for (const { relationId: id } of missing)
      await this.store.deleteRelation(project.id, { id, now: this.clock.now() });
    void this.builds.dropOld(project.id);
    return this.store.list(project.id);
  }
}

/** Whether a definition needs no new index. A list of links is complete from the beginning. */
const isBuilt = (present: Relation | undefined, definition: RelationDefinition) =>
  !isIndexed(definition) ||
  (present?.state === 'ready' &&
    JSON.stringify(ruleOf(present.definition)) === JSON.stringify(ruleOf(definition)));

const kindOf = ({ kind = 'rule' }: RelationDefinition) => kind;

/** Refuses a change of the kind, because it would lose the links or leave the rule without a meaning. */
function refuseOtherKind(present: RelationDefinition, definition: RelationDefinition): void {
  if (kindOf(present) === kindOf(definition)) return;
  const detail = '/kind cannot change: delete the relation and create one of the other kind';
  throw new ServiceError('request_invalid', detail);
}

export interface SentRelation {
  readonly id: number | undefined;
  readonly definition: RelationDefinition;
}

/**
 * Includes the kind, because a kind cannot change: the same id or name with another kind means another
 * relation.
 */
function identityOf({ id, definition }: SentRelation): Recognisable {
  const kind = kindOf(definition);
  const name = JSON.stringify([kind, definition.name, definition.tag]);
  return { id: id === undefined ? undefined : `${kind} ${id}`, name };
}

/** @throws request_invalid with the entries that repeat an id */
function refuseRepeatedIds(sent: readonly SentRelation[]): void {
  const details = sent.flatMap(({ id }, index) => {
    const first = sent.findIndex((entry) => entry.id === id);
    if (id === undefined || first === index) return [];
    return [`/relations/${index} has the id ${id}, which /relations/${first} already has`];
  });
  if (details.length > 0) throw new ServiceError('request_invalid', { details: details.slice(0, 100) });
}
