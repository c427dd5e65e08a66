import type { ChosenProject } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ExpectedStates } from '../storage/storage.ts';
import type { createTableTasks } from './links/links.ts';
import type { RelationBuilds } from './memberships/memberships.ts';
import {
  markOfTable,
  type Relation,
  ruleOf,
  type SentTable,
  type StoredTable,
} from './relation-definitions/relation-definitions.ts';
import type { SavedTable } from './relation-store/relation-store.ts';
import type { RelationStore } from './relation-threads/relation-threads.ts';
import { listTables } from './rules/rules.ts';

const MIB = 1024 * 1024;
/** The size limit of all tables of an export together, which equals the limit of one table. */
const EXPORTED_MAX_MIB = 32;

interface TableParts {
  readonly store: RelationStore;
  readonly builds: RelationBuilds;
  readonly clock: Clock;
  /** Gathers the table that a run of a pipeline reads, and replaces the stored one by it. */
  readonly gather: ReturnType<typeof createTableTasks>;
}

/** The value tables of a project, which rules name. */
export class ValueTables {
  private readonly store: RelationStore;
  private readonly builds: RelationBuilds;
  private readonly clock: Clock;
  readonly gather: TableParts['gather'];

  constructor({ store, builds, clock, gather }: TableParts) {
    this.store = store;
    this.builds = builds;
    this.clock = clock;
    this.gather = gather;
  }

  /** @returns a page of tables by name, beginning after `after` */
  list(projectId: number, after: string, limit: number) {
    return this.store.listTables(projectId, after, limit);
  }

  /** @throws not_found */
  async get(projectId: number, name: string): Promise<StoredTable> {
    const table = await this.store.findTable(projectId, name);
    if (table === undefined) throw new ServiceError('not_found');
    return table;
  }

  /**
   * Saves a table and builds the relations that use it again.
   * @throws not_found, table_exists, changed_meanwhile
   */
  async save(project: ChosenProject, saved: Omit<SavedTable, 'now' | 'isFollowed'>): Promise<StoredTable> {
    const keep = (isFollowed: boolean) =>
      this.store.saveTable(project.id, { ...saved, isFollowed, now: this.clock.now() });
    const { isUsed, table } = await keep(false);
    const stored = isUsed ? (await this.builds.changeAndBuild(project, () => keep(true))).table : table;
    if (stored === undefined) throw new ServiceError('not_found');
    return stored;
  }

  /** @returns only the tables that the relations name @throws answer_too_large */
  async listUsed(projectId: number, users: readonly Relation[]): Promise<StoredTable[]> {
    const names = new Set(users.flatMap(({ definition }) => listTables(ruleOf(definition))));
    const characters = await this.store.measureTables(projectId, [...names]);
    if (characters > EXPORTED_MAX_MIB * MIB) {
      const size = Math.ceil(characters / MIB);
      throw new ServiceError('answer_too_large', {
        values: [EXPORTED_MAX_MIB],
        details: [
          `the ${names.size} tables of the relations have ${size} MiB: read them one by one from /tables`,
        ],
      });
    }
    // Reads one table after another, because parallel reads would take every connection of the process.
    const tables = await Array.fromAsync(names, (name) => this.store.findTable(projectId, name));
    return tables.filter((table) => table !== undefined);
  }

  /** Creates the table, or replaces the table of that name if it differs. */
  async put(project: ChosenProject, table: SentTable): Promise<void> {
    const present = await this.store.findTable(project.id, table.name);
    if (present !== undefined && markOfTable(present) === markOfTable(table)) return;
    await this.save(project, { table, isNew: present === undefined });
  }

  /** @throws not_found, table_in_use, changed_meanwhile */
  async remove(projectId: number, removed: { name: string; expected?: ExpectedStates }): Promise<void> {
    if (!(await this.store.deleteTable(projectId, removed))) throw new ServiceError('not_found');
  }
}
